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
    from fairlead.compiled.table import route
    from fairlead.config.clusters import load_clusters
    from fairlead.pipeline.dispatch import dispatch

_PLACES = {
    "Balancer": "fairlead.balance.balancer",
    "Change": "fairlead.balance.change",
    "Cluster": "fairlead.balance.cluster",
    "Decision": "fairlead.balance.decision",
    "dispatch": "fairlead.pipeline.dispatch",
    "load_clusters": "fairlead.config.clusters",
    "route": "fairlead.compiled.table",
}

__all__ = [
    "Balancer",
    "Change",
    "Cluster",
    "Decision",
    "dispatch",
    "load_clusters",
    "route",
]


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'fairlead' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
