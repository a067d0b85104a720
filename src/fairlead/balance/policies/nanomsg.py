"""nanomsg's prioritised load balancing: in turn among the ready peers of the best priority.

Source: "Prioritised Load Balancing with nanomsg", and for the order inside a ring nanomsg's own
behaviour: every sending releases the peer, which comes back at the tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from fairlead.balance.elimination import Elimination, drop_where
from fairlead.balance.message import NO_DESTINATION
from fairlead.balance.objects import Capacity, Object, Ref, Table, Worker
from fairlead.balance.policy import Effect, Policy, Raw, Tables
from fairlead.balance.rules import ready_ring
from fairlead.balance.rules.ready_ring import ReadyRing
from fairlead.errors import ConfigError


class Peer(Worker, frozen=True, kw_only=True):
    """An endpoint that messages can be sent to."""

    address: str = ""
    priority: Annotated[int, Meta(ge=1, le=16)] = 8
    state: Literal["up", "down"] = "up"
    capacity: Capacity = 0


class NanomsgOptions(Table, frozen=True, kw_only=True):
    """There are none."""


class NanomsgTables(Tables, frozen=True, kw_only=True):
    """A cluster file with `policy = "nanomsg"`."""

    options: NanomsgOptions = NanomsgOptions()
    destination: list[Peer] = []


def connected(peer: Peer) -> bool:
    """Whether a peer is there."""
    return peer.present and peer.state == "up"


ELIMINATIONS: tuple[Elimination[None, Peer], ...] = (
    drop_where(
        "absent",
        "peers that have left are dropped",
        lambda _, c: not c.present,
        lambda _, c: "present is false",
    ),
    drop_where(
        "not-connected",
        "peers that are down are dropped",
        lambda _, c: c.state != "up",
        lambda _, c: f"state is {c.state}",
    ),
)


class Nanomsg(Policy[NanomsgTables, None, Peer]):
    """The head of the best ring that has a ready peer."""

    name = "nanomsg"
    about = "priorities 1 to 16: in turn among the ready peers of the best priority"
    choose_when = "one site is preferred and another takes over only when nobody there is ready"
    choose_when_not = "peers of one priority should get unequal shares"
    tables = NanomsgTables
    counts = False
    kinds: ClassVar = {"destination": Peer}

    def __init__(self, tables: NanomsgTables) -> None:
        """The peers that are up stand in their rings in the order of the file."""
        super().__init__(tables)
        if not self.objects:
            raise ConfigError("destination: found none, allowed: at least one [[destination]]")
        self._refs = list(self.objects)
        self._index = {ref: i for i, ref in enumerate(self._refs)}
        self.members = tuple(ref.name for ref in self._refs)
        peers = [self.objects[ref] for ref in self._refs]
        self.rule = ReadyRing(
            [peer.priority for peer in peers],
            [peer.capacity for peer in peers],
            [peer.speed_in_thousandths for peer in peers],
        )
        for i, peer in enumerate(peers):
            if connected(peer):
                ready_ring.connect(self.rule.state, i)

    def listing(self, tables: NanomsgTables) -> Iterable[tuple[Ref, Object]]:
        return ((Ref("destination", each.name), each) for each in tables.destination)

    def key(self, raw: Raw) -> None:
        return None

    def candidates(self, key: None) -> tuple[list[Peer], str]:
        return list(self.objects.values()), NO_DESTINATION

    def eliminations(self) -> Sequence[Elimination[None, Peer]]:
        return ELIMINATIONS

    def member(self, candidate: Peer) -> int:
        return self._index[Ref("destination", candidate.name)]

    def address(self, member: int) -> str | None:
        address: str = self.objects[self._refs[member]].address
        return address or None

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        i = self._index[ref]
        state = self.rule.state
        if after.capacity != before.capacity:
            ready_ring.limit(state, i, after.capacity)
        state.speed[i] = after.speed_in_thousandths
        if connected(after) and not connected(before):
            ready_ring.connect(state, i)
        elif connected(before) and not connected(after):
            ready_ring.disconnect(state, i)

    def failed(self, ref: Ref) -> None:
        """The peer is down, and what it held will never be completed."""
        before = self.objects[ref]
        after = msgspec.structs.replace(before, state="down")
        self.objects[ref] = after
        self.changed(ref, before, after)
        self.rule.forgotten(self._index[ref])

    def timed(self, effects: Iterable[Effect]) -> bool:
        limits = (peer.capacity for peer in self.objects.values())
        return any(limits) or any(e.attribute == "capacity" and e.value for e in effects)

    def refusal(self, attribute: str) -> str | None:
        if attribute == "priority":
            return "an endpoint keeps the priority it was added with"
        return None

    def effective(self) -> list[str]:
        rule = (
            "choose ready-ring: the best priority that has a ready peer; there the one that has "
            "been ready longest, which then goes to the tail"
        )
        return [
            *(f"{e.name}: {e.about}" for e in ELIMINATIONS),
            rule,
            "a peer with a capacity is busy while it holds that many messages",
        ]
