"""A policy: what is fixed of it, the same for every cluster under it and at every moment.

A policy is an ordered list of eliminations, then one choice rule. What changes with a cluster is
its state (`state.py`); what becomes of messages when somebody fails (`failures.py`) and what is
said of it in words (`words/`) each has a home of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from fairlead.balance.elimination import Elimination
from fairlead.balance.failures import FailureModel
from fairlead.balance.objects import FileTable, Name, Object, Order, StoreOptions
from fairlead.balance.words.cluster_state import Description


class ClusterTables(FileTable, frozen=True, kw_only=True):
    """What every cluster file has."""

    policy: str | dict[str, Any]
    """A name, or a table that composes one."""
    name: Name | UnsetType = UNSET
    order: Order = Order()
    store: StoreOptions = StoreOptions()


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """One policy. Immutable; `state.start` makes the state of a cluster under it."""

    name: str
    about: str
    """One line for `fairlead policies`."""
    choose_when: str = ""
    choose_when_not: str = ""
    tables: type[ClusterTables]
    """What a cluster file of this policy holds."""
    kinds: Mapping[str, type[Object]]
    """Kind of object (as in `kind:name@owner`) → its table."""
    also_called: Mapping[str, str] = field(default_factory=dict)
    """Other words for a kind, as the file's tables have them."""
    can_fail: tuple[str, ...] = ()
    """The kinds of object that can fail; none named: all."""
    reads: tuple[str, ...] = ()
    """Routing attributes that decide who is a candidate."""
    streams: tuple[str, ...] = ()
    """Attributes that, with the cluster, name the stream in which `sequence` counts."""
    partition_by: tuple[str, ...] = ()
    """Attributes of `reads` for each value of which the rule has a state of its own."""
    eliminations: tuple[Elimination[Any, Any], ...] = ()
    """The steps in order, where they are always the same."""
    counts: bool = True
    """Whether there are counts that a reset could set to 0."""
    fans_out: bool = False
    """Whether a message can go to several destinations."""
    waits: bool = False
    """Replay: whether a message for which nobody is left waits until somebody is."""
    state: type[Any]
    """The kind of `ClusterState` that a cluster under it has."""
    failures: type[FailureModel[Any]] = FailureModel
    description: type[Description[Any]] = Description
