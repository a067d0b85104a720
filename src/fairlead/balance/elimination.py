"""Eliminations: named steps that each keep a part of the candidates.

They look only at the message's routing attributes and at the candidates' attributes, so their
result holds until the cluster changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from fairlead.balance.procedure import NONE

C = TypeVar("C")
"""A policy's candidate."""
K = TypeVar("K")
"""What a policy has read from a message."""

NOT_APPLICABLE = None


class Drop(NamedTuple):
    """Somebody who was dropped by an elimination."""

    candidate: str
    """The name of whom an elimination dropped."""
    because: str
    """The value that dropped it, in words."""


class Step(NamedTuple):
    """One step of a decision: an elimination, or what came before or after them."""

    name: str
    """As in files and on pages; `candidates` is what there was at first."""
    dropped: tuple[Drop, ...]
    """Whom it dropped, and why."""
    kept: int
    """How many were left after it."""


class Preselected(NamedTuple):
    """A candidate chosen at once, before the eliminations are through."""

    member: int
    step: str
    because: str


@dataclass(frozen=True, slots=True)
class Eligible:
    """What the eliminations leave of a class of messages, for one version of the cluster."""

    outcome: str
    """`routed` where somebody is left."""
    members: tuple[int, ...] = ()
    """For the rule to choose among, ascending."""
    preselected: int = NONE
    """Chosen at once, past the rule."""
    recipients: tuple[int, ...] = ()
    """Who gets the message as well, whoever is chosen; the chosen one may be among them."""


@dataclass(frozen=True, slots=True)
class Elimination(Generic[K, C]):
    """A step that keeps some candidates; its name is the same in every engine and page."""

    name: str
    about: str
    keep: Callable[[K, Sequence[C]], list[C]]
    because: Callable[[K, C, Sequence[C]], str]
    """Why a candidate was dropped, given those that were kept."""


def drop_where(
    name: str, about: str, dropped: Callable[[K, C], bool], because: Callable[[K, C], str]
) -> Elimination[K, C]:
    """An elimination that drops each candidate for which `dropped` holds.

    `dropped` and `because` (the value that dropped it, in words) get what was read of the message
    and one candidate; `about` says in a line what is dropped.
    """
    return Elimination(
        name,
        about,
        lambda key, candidates: [c for c in candidates if not dropped(key, c)],
        lambda key, c, _kept: because(key, c),
    )


def keep_highest(
    name: str,
    about: str,
    value: Callable[[C], int | None],
    *,
    when: Callable[[K], bool] = lambda _key: True,
    apart: Callable[[C], object] = lambda _c: None,
    describe: Callable[[int], str] = str,
) -> Elimination[K, C]:
    """An elimination that keeps the candidates with the highest value, or without one (None).

    `about` says in a line what is kept. `when`: it does nothing for messages where this does not
    hold. `apart`: candidates are compared only with those that have the same value of this.
    `describe`: a value in words.
    """

    def best_of(candidates: Sequence[C]) -> dict[object, int]:
        best: dict[object, int] = {}
        for c in candidates:
            number = value(c)
            if number is not None:
                best[apart(c)] = max(number, best.get(apart(c), number))
        return best

    def keep(key: K, candidates: Sequence[C]) -> list[C]:
        if not when(key):
            return list(candidates)
        best = best_of(candidates)
        return [c for c in candidates if value(c) is None or value(c) == best[apart(c)]]

    def because(_key: K, c: C, kept: Sequence[C]) -> str:
        number = value(c)
        return f"{describe(number or 0)}, another has {describe(best_of(kept)[apart(c)])}"

    return Elimination(name, about, keep, because)
