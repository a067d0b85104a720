"""Fairlead decides who gets each message, says why, and gives the same decisions live and on Spark.

Everything is loaded when it is first used: importing this package costs next to nothing. A name
whose extra is not installed raises EnvironmentProblem.
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
    from fairlead.balance.journal import EventRow, JournalRow
    from fairlead.balance.own import OwnChoice, OwnElimination
    from fairlead.compiled.table import route
    from fairlead.config.clusters import load_clusters
    from fairlead.errors import Reject
    from fairlead.order.agenda import Agenda
    from fairlead.order.outlook import Outlook, Standing
    from fairlead.order.queue import Work
    from fairlead.pipeline.deliver import deliver
    from fairlead.pipeline.dispatch import dispatch, rejected
    from fairlead.pipeline.spark.session import spark_session
    from fairlead.pipeline.streaming.deliver_stream import deliver_stream
    from fairlead.pipeline.streaming.follow import Following, follow
    from fairlead.pipeline.streaming.running import RunningStream
    from fairlead.pool.counts import DestinationCounts, PoolCounts
    from fairlead.pool.log import PoolRow
    from fairlead.pool.pool import Pool
    from fairlead.pool.request import PoolDecision
    from fairlead.runs.changes import load_changes
    from fairlead.runs.store_delivery import DeliveredRun
    from fairlead.store.admin.dead_letters import Dead
    from fairlead.store.admin.dialogs import (
        DialogEnd,
        EndWaits,
        ListedService,
        OpenDialog,
        UnreadMessage,
    )
    from fairlead.store.admin.queues import Metrics
    from fairlead.store.admin.switching import SwitchedOff
    from fairlead.store.admin.waiting import Later, Promotion
    from fairlead.store.aio.handles import (
        AsyncConversation,
        AsyncMessage,
        AsyncTransaction,
        AsyncWork,
    )
    from fairlead.store.aio.store import AsyncStore
    from fairlead.store.clusters.decision import StoreDecision
    from fairlead.store.clusters.deliveries import Delivery
    from fairlead.store.clusters.subscription import Subscription
    from fairlead.store.conversation import Conversation
    from fairlead.store.journal.events import Event
    from fairlead.store.journal.pages import EventPage
    from fairlead.store.leasing import StoreWork
    from fairlead.store.message import Message
    from fairlead.store.queues.explain_order import ComparedGroup, OrderExplanation
    from fairlead.store.queues.limiting import LimitState
    from fairlead.store.schedules.ticking import ScheduleState
    from fairlead.store.store import Store
    from fairlead.store.transaction import Transaction
    from fairlead.store.workers.priority_service import PriorityService
    from fairlead.store.workers.service import Service

_PLACES = {
    "Agenda": "fairlead.order.agenda",
    "AsyncConversation": "fairlead.store.aio.handles",
    "AsyncMessage": "fairlead.store.aio.handles",
    "AsyncStore": "fairlead.store.aio.store",
    "AsyncTransaction": "fairlead.store.aio.handles",
    "AsyncWork": "fairlead.store.aio.handles",
    "Balancer": "fairlead.balance.balancer",
    "Change": "fairlead.balance.change",
    "Cluster": "fairlead.balance.cluster",
    "Conversation": "fairlead.store.conversation",
    "Dead": "fairlead.store.admin.dead_letters",
    "Decision": "fairlead.balance.decision",
    "DialogEnd": "fairlead.store.admin.dialogs",
    "Drop": "fairlead.balance.elimination",
    "EndWaits": "fairlead.store.admin.dialogs",
    "Event": "fairlead.store.journal.events",
    "Explanation": "fairlead.balance.explanation",
    "EventPage": "fairlead.store.journal.pages",
    "EventRow": "fairlead.balance.journal",
    "DeliveredRun": "fairlead.runs.store_delivery",
    "Following": "fairlead.pipeline.streaming.follow",
    "RunningStream": "fairlead.pipeline.streaming.running",
    "JournalRow": "fairlead.balance.journal",
    "Later": "fairlead.store.admin.waiting",
    "LimitState": "fairlead.store.queues.limiting",
    "ListedService": "fairlead.store.admin.dialogs",
    "Message": "fairlead.store.message",
    "Metrics": "fairlead.store.admin.queues",
    "OpenDialog": "fairlead.store.admin.dialogs",
    "OrderExplanation": "fairlead.store.queues.explain_order",
    "Outlook": "fairlead.order.outlook",
    "OwnChoice": "fairlead.balance.own",
    "OwnElimination": "fairlead.balance.own",
    "ComparedGroup": "fairlead.store.queues.explain_order",
    "Delivery": "fairlead.store.clusters.deliveries",
    "DestinationCounts": "fairlead.pool.counts",
    "Pool": "fairlead.pool.pool",
    "PoolCounts": "fairlead.pool.counts",
    "PoolDecision": "fairlead.pool.request",
    "PoolRow": "fairlead.pool.log",
    "PriorityService": "fairlead.store.workers.priority_service",
    "Promotion": "fairlead.store.admin.waiting",
    "Reject": "fairlead.errors",
    "ScheduleState": "fairlead.store.schedules.ticking",
    "Service": "fairlead.store.workers.service",
    "Standing": "fairlead.order.outlook",
    "Step": "fairlead.balance.elimination",
    "Store": "fairlead.store.store",
    "StoreDecision": "fairlead.store.clusters.choosing",
    "StoreWork": "fairlead.store.leasing",
    "Subscription": "fairlead.store.clusters.subscription",
    "SwitchedOff": "fairlead.store.admin.switching",
    "Transaction": "fairlead.store.transaction",
    "UnreadMessage": "fairlead.store.admin.dialogs",
    "Work": "fairlead.order.queue",
    "deliver": "fairlead.pipeline.deliver",
    "deliver_stream": "fairlead.pipeline.streaming.deliver_stream",
    "dispatch": "fairlead.pipeline.dispatch",
    "drop_where": "fairlead.balance.elimination",
    "follow": "fairlead.pipeline.streaming.follow",
    "keep_highest": "fairlead.balance.elimination",
    "load_changes": "fairlead.runs.changes",
    "load_clusters": "fairlead.config.clusters",
    "rejected": "fairlead.pipeline.dispatch",
    "route": "fairlead.compiled.table",
    "spark_session": "fairlead.pipeline.spark.session",
}
_EXTRAS = {
    "Following": "spark",
    "RunningStream": "spark",
    "deliver": "spark",
    "deliver_stream": "spark",
    "dispatch": "spark",
    "follow": "spark",
    "rejected": "spark",
    "route": "tables",
    "spark_session": "spark",
}

__all__ = [
    "Agenda",
    "AsyncConversation",
    "AsyncMessage",
    "AsyncStore",
    "AsyncTransaction",
    "AsyncWork",
    "Balancer",
    "Change",
    "Cluster",
    "ComparedGroup",
    "Conversation",
    "Dead",
    "Decision",
    "DeliveredRun",
    "Delivery",
    "DestinationCounts",
    "DialogEnd",
    "Drop",
    "EndWaits",
    "Event",
    "EventPage",
    "EventRow",
    "Explanation",
    "Following",
    "JournalRow",
    "Later",
    "LimitState",
    "ListedService",
    "Message",
    "Metrics",
    "OpenDialog",
    "OrderExplanation",
    "Outlook",
    "OwnChoice",
    "OwnElimination",
    "Pool",
    "PoolCounts",
    "PoolDecision",
    "PoolRow",
    "PriorityService",
    "Promotion",
    "Reject",
    "RunningStream",
    "ScheduleState",
    "Service",
    "Standing",
    "Step",
    "Store",
    "StoreDecision",
    "StoreWork",
    "Subscription",
    "SwitchedOff",
    "Transaction",
    "UnreadMessage",
    "Work",
    "deliver",
    "deliver_stream",
    "dispatch",
    "drop_where",
    "follow",
    "keep_highest",
    "load_changes",
    "load_clusters",
    "rejected",
    "route",
    "spark_session",
]


def __getattr__(name: str) -> object:
    if name in _EXTRAS:
        from fairlead.extras import need

        need(_EXTRAS[name], f"fairlead.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'fairlead' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
