"""Policies that are put together from named eliminations and a choice rule, here or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import msgspec

from fairlead.balance.change import ResolvedChange
from fairlead.balance.elimination import Elimination, keep_highest
from fairlead.balance.message import AttributeValues
from fairlead.balance.objects import FileTable, Ref, hint
from fairlead.balance.own import CHOICES as OWN_CHOICES
from fairlead.balance.own import ELIMINATIONS, OwnElimination, brought, careful, load
from fairlead.balance.policies.choices import (
    CHOICES,
    PRIORITY,
    WEIGHT,
    ByReadyRing,
    Choice,
    News,
    choice_called,
)
from fairlead.balance.policies.destinations import (
    ABSENT,
    DISABLED,
    DOWN,
    DRAINING,
    KIND,
    WEIGHT_ZERO,
    Affinity,
    Destination,
    ListTables,
)
from fairlead.balance.policies.returning import ReturningDescription, ReturningState
from fairlead.balance.policies.slow_start import FAILBACK, extended
from fairlead.balance.policy import Policy
from fairlead.errors import ConfigError

WORSE_PRIORITY: Final[Elimination[None, Any]] = keep_highest(
    "worse-priority",
    "only the best priority that is left is kept (1 is the best)",
    lambda c: -c.priority,
    describe=lambda priority: f"priority {-priority}",
)
STEPS: Final[Mapping[str, OwnElimination]] = {
    piece.elimination.name: piece
    for piece in (
        OwnElimination(DISABLED, {"enabled": (bool, True)}),
        OwnElimination(DOWN, {"state": (Literal["up", "down"], "up")}),
        OwnElimination(DRAINING, {"draining": (bool, False)}),
        OwnElimination(WEIGHT_ZERO, WEIGHT),
        OwnElimination(WORSE_PRIORITY, PRIORITY, compares=True),
    )
}
"""Eliminations that a policy can be composed of; packages may bring more.

Destinations that are not present are always dropped first.
"""
COMPOSED: Final = "composed"
"""What a policy is called that a file puts together."""


class Composition(FileTable, frozen=True, kw_only=True):
    """`policy` as a table: eliminations in order, then a choice rule."""

    eliminate: list[str]
    choose: str


def elimination_called(name: str) -> OwnElimination:
    """The elimination of this name, ours or a package's. Raises ConfigError."""
    piece = STEPS.get(name) or load(ELIMINATIONS, name, OwnElimination)
    if piece is None:
        known = [*STEPS, *brought(ELIMINATIONS)]
        raise ConfigError(
            f"policy.eliminate: found {name!r}, allowed: {', '.join(known)}{hint(name, known)}",
            ["policy", "eliminate"],
        )
    return piece if name in STEPS else careful(name, piece)


def check(eliminate: Sequence[str], choose: str) -> tuple[list[OwnElimination], Choice]:
    """The parts of a composition; one that cannot work is refused. Raises ConfigError."""
    pieces: dict[str, OwnElimination] = {}
    for name in eliminate:
        piece = elimination_called(name)
        if name in pieces:
            raise ConfigError(
                f"policy.eliminate: found {name!r} twice, allowed: once", ["policy", "eliminate"]
            )
        late = [before for before, earlier_piece in pieces.items() if earlier_piece.compares]
        if late and not piece.compares:
            raise ConfigError(
                f"policy.eliminate: found {name!r} after {late[0]!r}, which keeps the best of "
                f"those that are left: if {name!r} then drops them all, no worse one is asked; "
                f"allowed: {late[0]!r} last",
                ["policy", "eliminate"],
            )
        pieces[name] = piece
    choice = choice_called(choose)
    if choice is None:
        known = [*CHOICES, *brought(OWN_CHOICES)]
        raise ConfigError(
            f"policy.choose: found {choose!r}, allowed: {', '.join(known)}{hint(choose, known)}",
            ["policy", "choose"],
        )
    _check_together(pieces, choice)
    return list(pieces.values()), choice


def _check_together(pieces: Mapping[str, OwnElimination], choice: Choice) -> None:
    if choice.divides and WEIGHT_ZERO.name not in pieces:
        raise ConfigError(
            f"policy.eliminate: {choice.name} divides by the weight, so weight 0 must be dropped; "
            f"found no {WEIGHT_ZERO.name!r}, allowed: with {WEIGHT_ZERO.name!r}",
            ["policy", "eliminate"],
        )
    if choice.by_priority and WORSE_PRIORITY.name in pieces:
        raise ConfigError(
            f"policy.eliminate: found {WORSE_PRIORITY.name!r}, which {choice.name} does itself, "
            "and with it a busy priority could not fall back on a worse one; "
            f"allowed: without {WORSE_PRIORITY.name!r}",
            ["policy", "eliminate"],
        )
    known: dict[str, tuple[str, tuple[Any, Any]]] = {}
    every = {name: piece.attributes for name, piece in pieces.items()}
    for name, attributes in (*every.items(), (choice.name, choice.attributes)):
        for key, declared in attributes.items():
            other, before = known.setdefault(key, (name, declared))
            if before != declared:
                raise ConfigError(
                    f"policy: {other!r} and {name!r} declare the key {key!r} of a destination "
                    "differently, allowed: the same type and default"
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class ComposedPolicy(Policy):
    """Eliminations by name, then a choice rule by name."""

    pieces: tuple[OwnElimination, ...]
    choice: Choice


class ComposedState(ReturningState[Any]):
    """A cluster under a policy that was put together."""

    policy: ComposedPolicy

    def __init__(
        self,
        policy: ComposedPolicy,
        tables: Any,  # noqa: ANN401 - made for this policy
    ) -> None:
        """Nobody has been chosen yet."""
        super().__init__(policy, tables)
        self.options = tables.options
        self.keyed_by = getattr(self.options, "key", "")
        self.reset()

    def ordered(self, refs: list[Ref]) -> list[Ref]:
        return sorted(refs, key=lambda ref: ref.name) if self.policy.choice.by_name else refs

    def key(self, values: AttributeValues) -> Mapping[str, str]:
        return dict(zip(self.policy.reads, values, strict=True))

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - a table of the policy's own
        """Whether no elimination drops it whatever the message and the others are."""
        alone = (p.elimination for p in self.policy.pieces if not p.compares and not p.reads)
        return value.present and all(step.keep({}, [value]) for step in alone)

    def recipients(self, key: Mapping[str, str], left: Sequence[Any]) -> tuple[int, ...]:
        return tuple(self.member(c) for c in left) if self.policy.choice.to_all else ()

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        i = self.index[ref]
        passed, passes = self.passes(before), self.passes(after)
        self.moved(ref, passed=passed, passes=passes)
        choice = self.policy.choice

        def differ(names: Iterable[str]) -> bool:
            return any(getattr(before, name, 1) != getattr(after, name, 1) for name in names)

        moved = any(p.compares and differ(p.attributes) for p in self.policy.pieces)
        names = ("present", "speed", *choice.attributes, *choice.heeds)
        if moved or passed != passes or differ(names):
            news = News(before, after, passed, passes, moved, lambda: self.peers(i), self.options)
            self.policy.choice.changed(self.rule, i, news)

    def paced(self, ref: Ref, pace: int) -> None:
        i = self.index[ref]
        self.policy.choice.paced(self.rule, i, pace, lambda: self.peers(i))

    def peers(self, i: int) -> list[int]:
        destination = self.listed[i]
        comparing = [p.elimination for p in self.policy.pieces if p.compares and not p.reads]
        return [
            j
            for j, peer in enumerate(self.listed)
            if j != i
            and self.passes(peer)
            and all(
                len(step.keep({}, [destination, peer])) == len((destination, peer))
                for step in comparing
            )
        ]

    def timed(self, effects: Iterable[ResolvedChange]) -> bool:
        if self.policy.choice.timed:
            return True
        limits = (getattr(destination, "capacity", 0) for destination in self.listed)
        return any(limits) or any(e.attribute == "capacity" and e.value for e in effects)

    def weights(self) -> dict[str, int]:
        if self.policy.reads:  # who is left depends on the message
            return {}
        left: Sequence[Any] = self.listed
        for step in self.policy.eliminations:
            left = step.keep({}, left)
        names = {destination.name for destination in left}
        return self.policy.choice.weights(
            self.listed, [destination.name in names for destination in self.listed]
        )

    def in_effect(self) -> dict[str, int]:
        return self.in_part(self.weights())

    def reset(self) -> None:
        passing = [self.passes(destination) for destination in self.listed]
        self.rule = self.policy.choice.rule(self.listed, passing, self.options)
        for ref, pace in self.paces.items():
            self.paced(ref, pace)


class ComposedDescription(ReturningDescription[ComposedState]):
    """Its parts, by the names that a file has for them."""

    def effective(self) -> list[str]:
        lines = self.eliminations()
        lines.append(f"choose {self.state.policy.choice.name}: {self.state.policy.choice.about}")
        newcomer = getattr(self.state.options, "newcomer", None)
        if newcomer == "level":
            lines.append("one that is added, comes back or is re-weighted starts level")
        elif newcomer == "catch-up":
            lines.append("one that is added or comes back gets everything until it has caught up")
        if key := self.state.keyed_by:
            lines.append(f"the key is the message's {key}; without one, its place in the stream")
        return [*lines, *self.returning(), *self.affine()]


@cache
def compose(
    name: str,
    eliminate: tuple[str, ...],
    choose: str,
    about: str = "put together in its file",
    choose_when: str = "",
    choose_when_not: str = "",
) -> ComposedPolicy:
    """The policy of these eliminations and this choice rule. Raises ConfigError."""
    pieces, choice = check(eliminate, choose)
    attributes: dict[str, tuple[Any, Any]] = {}
    for piece in pieces:
        attributes.update(piece.attributes)
    attributes.update(choice.attributes)
    destination: Any = msgspec.defstruct(
        "Destination",
        [(key, kind, default) for key, (kind, default) in attributes.items()],
        bases=(Destination,),
        frozen=True,
        kw_only=True,
    )
    has_state = any(piece.elimination is DOWN for piece in pieces)
    more: list[tuple[str, Any, Any]] = [FAILBACK] if has_state else []
    more += [("affinity", Affinity, "none")] if choice.affine else []
    options = extended(choice.options, tuple(more))
    fields: list[tuple[str, Any, Any]] = [
        ("options", options, options()),
        ("destination", list[destination], msgspec.field(default_factory=list)),
    ]
    tables: Any = msgspec.defstruct(
        "Tables", fields, bases=(ListTables,), frozen=True, kw_only=True
    )
    return ComposedPolicy(
        name=name,
        about=about,
        choose_when=choose_when,
        choose_when_not=choose_when_not,
        tables=tables,
        kinds={KIND: destination},
        pieces=tuple(pieces),
        eliminations=(ABSENT, *(piece.elimination for piece in pieces)),
        reads=tuple(dict.fromkeys(name for piece in pieces for name in piece.reads)),
        choice=choice,
        counts=choice.counts,
        fans_out=choice.to_all,
        waits=choice.waits,
        state=ComposedState,
        description=ComposedDescription,
    )


UP: Final = (DISABLED.name, DOWN.name)
STARTING: Final = (*UP, DRAINING.name)
PRESETS: Final = (
    compose(
        "round-robin",
        STARTING,
        "circular",
        about="in turn among those that are up",
        choose_when="all destinations are alike and all messages cost about the same",
        choose_when_not="they differ in strength (weighted), or some work takes much longer than "
        "other (fewest-pending)",
    ),
    compose(
        "weighted",
        (*STARTING, WEIGHT_ZERO.name),
        "least-served",
        about="shares by weight at every moment; a destination that comes back is not flooded",
        choose_when="destinations differ in strength and you know by how much",
        choose_when_not="how busy they are matters more than how strong (fewest-pending)",
    ),
    compose(
        "fewest-pending",
        (*STARTING, WEIGHT_ZERO.name),
        "fewest-pending",
        about="the one with the fewest messages not completed, for its weight",
        choose_when="messages take unequal times, and completions are known",
        choose_when_not="nothing says when a message is completed (round-robin)",
    ),
    compose(
        "hot-standby",
        STARTING,
        "first-by-name",
        about="the first by name gets everything; the next takes over when it is gone",
        choose_when="one must do all the work and another be ready",
        choose_when_not="the work should be shared",
    ),
    compose(
        "broadcast",
        UP,
        "everyone",
        about="everyone who is up gets every message",
        choose_when="every destination must see every message",
        choose_when_not="one of them is enough (round-robin), or some messages are for one only "
        "(smartsockets)",
    ),
    compose(
        "rendezvous",
        (*STARTING, WEIGHT_ZERO.name),
        "rendezvous",
        about="the same key, the same destination; when one goes, only its keys move",
        choose_when="what belongs together should meet again: caches, sessions, shards",
        choose_when_not="shares must hold at every moment (weighted), or one key outweighs others",
    ),
)


def nearest(policy: ComposedPolicy) -> str:
    """The preset that is most like a composition, and how they differ, in words."""
    known = {
        preset.name: ({step.name for step in preset.eliminations}, preset.choice.name)
        for preset in PRESETS
    }
    known["nanomsg"] = ({ABSENT.name, DOWN.name, DRAINING.name}, ByReadyRing.name)
    eliminations, choice = {step.name for step in policy.eliminations}, policy.choice.name
    name = min(
        known, key=lambda each: (known[each][1] != choice, len(known[each][0] ^ eliminations))
    )
    steps, chosen_by = known[name]
    differences = [f"also {step}" for step in sorted(eliminations - steps)]
    differences += [f"without {step}" for step in sorted(steps - eliminations)]
    if chosen_by != choice:
        differences.append(f"chooses {choice} instead of {chosen_by}")
    return f"nearest preset: {name}" + (
        f" ({', '.join(differences)})" if differences else ", the same"
    )
