"""Fairlead decides who gets each message, says why, and gives the same decisions live and on Spark.

Everything is loaded when it is first used: importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.balance.balancer import Balancer
    from fairlead.balance.change import Change
    from fairlead.balance.cluster import Cluster
    from fairlead.balance.decision import Decision
    from fairlead.balance.elimination import Drop, Step, drop_where, keep_highest
    from fairlead.balance.explanation import Explanation
    from fairlead.balance.journal import JournalRow
    from fairlead.balance.own import OwnChoice, OwnElimination
    from fairlead.compiled.table import route
    from fairlead.config.clusters import load_clusters
    from fairlead.errors import Reject
    from fairlead.order.agenda import Agenda
    from fairlead.order.outlook import Outlook, Standing
    from fairlead.order.queue import Work
    from fairlead.pipeline.dispatch import dispatch, rejected
    from fairlead.pipeline.intake.changes import load_changes
    from fairlead.pipeline.spark.session import spark_session
    from fairlead.store.clusters.choosing import StoreDecision
    from fairlead.store.letters import Message
    from fairlead.store.store import Store
    from fairlead.store.transaction import Transaction

_PLACES = {
    "Agenda": "fairlead.order.agenda",
    "Balancer": "fairlead.balance.balancer",
    "Change": "fairlead.balance.change",
    "Cluster": "fairlead.balance.cluster",
    "Decision": "fairlead.balance.decision",
    "Drop": "fairlead.balance.elimination",
    "Explanation": "fairlead.balance.explanation",
    "JournalRow": "fairlead.balance.journal",
    "Message": "fairlead.store.letters",
    "Outlook": "fairlead.order.outlook",
    "OwnChoice": "fairlead.balance.own",
    "OwnElimination": "fairlead.balance.own",
    "Reject": "fairlead.errors",
    "Standing": "fairlead.order.outlook",
    "Step": "fairlead.balance.elimination",
    "Store": "fairlead.store.store",
    "StoreDecision": "fairlead.store.clusters.choosing",
    "Transaction": "fairlead.store.transaction",
    "Work": "fairlead.order.queue",
    "dispatch": "fairlead.pipeline.dispatch",
    "drop_where": "fairlead.balance.elimination",
    "keep_highest": "fairlead.balance.elimination",
    "load_changes": "fairlead.pipeline.intake.changes",
    "load_clusters": "fairlead.config.clusters",
    "rejected": "fairlead.pipeline.dispatch",
    "route": "fairlead.compiled.table",
    "spark_session": "fairlead.pipeline.spark.session",
}

__all__ = [
    "Agenda",
    "Balancer",
    "Change",
    "Cluster",
    "Decision",
    "Drop",
    "Explanation",
    "JournalRow",
    "Message",
    "Outlook",
    "OwnChoice",
    "OwnElimination",
    "Reject",
    "Standing",
    "Step",
    "Store",
    "StoreDecision",
    "Transaction",
    "Work",
    "dispatch",
    "drop_where",
    "keep_highest",
    "load_changes",
    "load_clusters",
    "rejected",
    "route",
    "spark_session",
]


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'fairlead' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
