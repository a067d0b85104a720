"""What policies have in common whose clusters are a plain list of `[[destination]]` tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fairlead.balance.change import STATE
from fairlead.balance.elimination import Elimination, drop_where
from fairlead.balance.health import HealthOptions
from fairlead.balance.message import NO_DESTINATION, ON_GROUP, AttributeValues, Message, text
from fairlead.balance.objects import Object, Ref, WorkerObject
from fairlead.balance.outside import Forwarding, check_no_secret
from fairlead.balance.policy import ClusterTables, Policy
from fairlead.balance.state import ClusterState
from fairlead.balance.words.cluster_state import Description
from fairlead.errors import ConfigError

KIND = "destination"
AFFINE: Final = (
    "affinity: a message goes where its group went, as long as that destination is eligible or "
    "draining; only the first of a group is chosen for, and counted"
)

ABSENT: Elimination[None, Any] = drop_where(
    "absent",
    "destinations that have left, or have not joined yet, are dropped",
    lambda _, c: not c.present,
    lambda _, c: "present is false",
)
DISABLED: Elimination[None, Any] = drop_where(
    "disabled",
    "destinations that are not enabled are dropped",
    lambda _, c: not c.enabled,
    lambda _, c: "enabled is false",
)
DOWN: Elimination[None, Any] = drop_where(
    "down",
    "destinations that are down are dropped",
    lambda _, c: c.state != "up",
    lambda _, c: f"state is {c.state}",
)
WEIGHT_ZERO: Elimination[None, Any] = drop_where(
    "weight-zero",
    "destinations of weight 0 are dropped",
    lambda _, c: c.weight == 0,
    lambda _, c: "weight is 0",
)


DRAINING: Elimination[Any, Any] = drop_where(
    "draining",
    "nothing new starts on destinations that are draining; groups that are theirs stay",
    lambda _, c: c.draining,
    lambda _, c: "draining is true",
)


Affinity = Literal["none", "group"]
"""`group`: a message goes where its group went, as long as that destination is eligible."""


class Destination(WorkerObject, frozen=True, kw_only=True):
    """Something that messages can be sent to."""

    address: str = ""
    queue: str = ""
    """The queue of a store that holds what is published to it; "" is one of its name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_no_secret(self.address)


class ListTables(ClusterTables, frozen=True, kw_only=True):
    """A cluster file that lists its destinations; policies narrow the table of one."""

    forward: Forwarding | UnsetType = UNSET
    health: HealthOptions | UnsetType = UNSET
    destination: list[Any] = []


T = TypeVar("T", bound=ListTables)


class DestinationState(ClusterState[T, Any, Any]):
    """A policy over a list of destinations; no attribute of a message decides who is a candidate.

    The rule's members are the destinations in the order that `ordered` gives.
    """

    joining = (KIND,)

    def __init__(self, policy: Policy, tables: T) -> None:
        """Every policy sets its rule after this."""
        super().__init__(policy, tables)
        if not self.objects:
            raise ConfigError(f"{KIND}: found none, allowed: at least one [[{KIND}]]")
        self.refs = self.ordered(list(self.objects))
        self.index = {ref: i for i, ref in enumerate(self.refs)}
        self.members = tuple(ref.name for ref in self.refs)
        options = getattr(tables, "options", None)
        self.binds = self.rebinds = getattr(options, "affinity", "none") == "group"
        self._check_affinity()
        self._check_health(tables)
        self._holding: tuple[int, frozenset[int]] | None = None

    def _check_affinity(self) -> None:
        where = 'options.affinity: found "group", but '
        reads = self.policy.reads
        if self.rebinds and reads:
            raise ConfigError(
                f"{where}an elimination reads the message's {reads[0]}, so a destination "
                "could be eligible for a part of a group only; allowed: without that elimination",
                ["options", "affinity"],
            )
        if self.rebinds and self.timed(()):
            raise ConfigError(
                f"{where}completions decide who is busy (a capacity), and a group would go to one "
                "that is; allowed: without a capacity",
                ["options", "affinity"],
            )

    def _check_health(self, tables: T) -> None:
        if tables.health is not UNSET and STATE not in self.policy.kinds[KIND].__struct_fields__:
            raise ConfigError(
                f"health: found it with the policy {self.policy.name}, whose destinations have no "
                "state, allowed: with a policy that drops those that are down",
                ["health"],
            )

    def ordered(self, refs: list[Ref]) -> list[Ref]:
        """The order of the rule's members: that of the file, unless a policy says otherwise."""
        return refs

    @property
    def listed(self) -> list[Any]:
        """The destinations as they are now, in the order of the rule's members."""
        return [self.objects[ref] for ref in self.refs]

    def listing(self, tables: T) -> Iterable[tuple[Ref, Object]]:
        return ((Ref(KIND, destination.name), destination) for destination in tables.destination)

    def key(self, values: AttributeValues) -> Any:  # noqa: ANN401 - what the policy makes of it
        return None

    def candidates(self, key: object) -> tuple[list[Any], str]:
        return list(self.objects.values()), NO_DESTINATION

    def member(self, candidate: Any) -> int:  # noqa: ANN401 - a table of the policy's own
        return self.index[Ref(KIND, candidate.name)]

    def object_of(self, member: int) -> Ref:
        return self.refs[member]

    def member_called(self, destination: str, values: AttributeValues) -> int:
        member = self.index.get(Ref(KIND, destination))
        if member is None:
            raise ValueError(destination)
        return member

    def address(self, member: int) -> str | None:
        address: str = self.objects[self.refs[member]].address
        return address or None

    def queue(self, member: int) -> str | None:
        queue: str = self.objects[self.refs[member]].queue
        return queue or None

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a table of the policy's own
        """Whether a destination gets through the steps, if it were alone."""
        return all(step.keep(None, [value]) for step in self.policy.eliminations)

    def relevant_attributes(self) -> set[str]:
        attributes = super().relevant_attributes()
        return attributes - {"bind", "producer"} if self.rebinds else attributes

    def binding(self, values: AttributeValues, message: Message) -> AttributeValues | None:
        group = text(message, "group")
        return (ON_GROUP, group) if self.rebinds and group else None

    def bind_default(self, key: object) -> str:
        return ON_GROUP if self.rebinds else ""

    def holding(self, values: AttributeValues) -> frozenset[int]:
        """Who is eligible, and who would be if it were not draining."""
        if self._holding is None or self._holding[0] != self.version:
            every, _ = self.candidates(self.key(values))
            draining = [candidate for candidate in every if getattr(candidate, "draining", False)]
            staying = {
                self.member(candidate)
                for candidate in draining
                if self.would_pass(candidate, every)
            }
            self._holding = (self.version, frozenset(staying.union(self.eligible(values).members)))
        return self._holding[1]

    def would_pass(self, value: Any, every: Sequence[Any]) -> bool:  # noqa: ANN401
        """Whether a destination that drains would be left if it alone did not."""
        twin = msgspec.structs.replace(value, draining=False)
        if not self.passes(twin):
            return False
        left: Sequence[Any] = [twin if other is value else other for other in every]
        for step in self.eliminations():
            left = step.keep(None, left)
        return any(other is twin for other in left)

    def refusal(self, attribute: str) -> str | None:
        if self.rebinds and attribute == "capacity":
            return 'with affinity = "group" no destination can be busy'
        return None

    def failed(self, ref: Ref) -> None:
        """The destination is down, and what it held will never be completed."""
        before = self.objects[ref]
        if STATE in before.__struct_fields__:
            after = self.objects[ref] = msgspec.structs.replace(before, state="down")
            self.changed(ref, before, after)
        self.rule.forgotten(self.index[ref])

    @abstractmethod
    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        """Let the rule know."""


D = TypeVar("D", bound=DestinationState[Any])


class DestinationDescription(Description[D]):
    """A list of destinations in words."""

    def eliminations(self) -> list[str]:
        """The eliminations, a line each."""
        return [
            f"{elimination.name}: {elimination.about}" for elimination in self.state.eliminations()
        ]

    def affine(self) -> list[str]:
        """What becomes of groups."""
        return [AFFINE] if self.state.rebinds else []
