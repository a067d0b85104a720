"""Choose by a key: the same key, the same member, for as long as that one can be chosen.

Weighted rendezvous hashing (highest random weight). Key and member together give a number u
between 0 and 1; the lowest -log2(u)/weight is chosen. When a member goes, nobody else's score
changes, so only its keys move.

`draw` and `choose` are written once, in the part of Python that Numba compiles. All
is integer arithmetic, so every machine draws the same. Numbers have 62 bits and are multiplied by
halves: compiled code may take it that a product of 64-bit integers never overflows.

A member is an index in name order, and lists of members are in that order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from fairlead.balance.rules.integers import INT64_END, Indexes, Ints
from fairlead.balance.rules.keyed import KeyedRule
from fairlead.balance.rules.rule import Otherwise, Plain, Weighing

BITS = 62
HALF = 31
ALL, LOW = (1 << BITS) - 1, (1 << HALF) - 1
MIX_1, MIX_2 = 0x3F58476D1CE4E5B9, 0x14D049BB133111EB
"""The multipliers of SplitMix64, their lowest 62 bits."""
WIDTH = 38
"""u is a whole number of 2^-38."""
FINE = 30
"""Bits of u, after its highest bit and the 8 that find a step of the table."""
STEPS = 256
UNIT = 32
"""A draw counts 2^-32."""
MAX_DRAW = WIDTH << UNIT
"""The highest draw, that of u = 2^-38."""
SCORE, NAME = "score", "name"  # what decides


class State(NamedTuple):
    """What the rule looks at."""

    weight: Ints
    number: Ints
    """What stands for each member's name: 62 bits."""
    log2: Ints
    """log2(1 + k/256) for k = 0 to 256, in steps of 2^-32, rounded down."""


def times(a: int, b: int) -> int:
    """The lowest 62 bits of a product."""
    middle = (a >> HALF) * (b & LOW) + (a & LOW) * (b >> HALF)
    return (((middle & LOW) << HALF) + (a & LOW) * (b & LOW)) & ALL


def draw(s: State, i: int, key: int) -> int:
    """-log2(u) for this member and key, in steps of 2^-32."""
    z = s.number[i] ^ int(key)  # where nothing is compiled a key of an array would overflow
    z = times(z ^ (z >> 30), MIX_1)
    z = times(z ^ (z >> 27), MIX_2)
    z = z ^ (z >> 31)
    u = (z >> (BITS - WIDTH)) + 1
    down = 0
    while u >> (WIDTH - down) == 0:
        down += 1
    u = u << down
    k = (u >> FINE) - STEPS
    low, high = s.log2[k], s.log2[k + 1]
    rest = u & ((1 << FINE) - 1)
    return (down << UNIT) - low - (((high - low) * rest) >> FINE)


def choose(s: State, members: Indexes, start: int, stop: int, key: int) -> int:
    """Choose among members[start:stop], at least one: the lowest draw for its weight."""
    best = members[start]
    least = draw(s, best, key)
    for k in range(start + 1, stop):
        i = members[k]
        drawn = draw(s, i, key)
        if drawn * s.weight[best] < least * s.weight[i]:
            best, least = i, drawn
    return best


COMPILED = (times, draw, choose)


# What follows runs between choices, in plain Python, in every engine.


@cache
def logarithms() -> tuple[int, ...]:
    """log2(1 + k/256) for k = 0 to 256, in steps of 2^-32, rounded down."""
    return tuple(_log2(STEPS + k) for k in range(STEPS + 1))


def _log2(a: int, precise: int = 128) -> int:
    """log2(a/256), 1 <= a/256 <= 2, in steps of 2^-32, rounded down: squaring gives bit by bit."""
    whole = 1 << precise
    x = a * whole // STEPS
    logarithm, x = (1, x >> 1) if x >= 2 * whole else (0, x)
    for _ in range(UNIT):
        x = x * x >> precise
        logarithm *= 2
        if x >= 2 * whole:
            logarithm += 1
            x >>= 1
    return logarithm


def name_number(name: str) -> int:
    """What stands for a destination's name: 62 bits of its SHA-256."""
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") & ALL


class Rendezvous(KeyedRule):
    """The lowest draw/weight of a key; ties to the first by name."""

    name = "rendezvous"
    module = sys.modules[__name__]
    whole = ("log2",)

    def __init__(self, names: Sequence[str], weights: list[int]) -> None:
        """`names` in name order; each weight is at least 1 for a member that is chosen among."""
        self.state = State(list(weights), [name_number(name) for name in names], list(logarithms()))

    def choose_for(self, members: Sequence[int], key: int) -> int:
        return choose(self.state, members, 0, len(members), key)

    def fits_int64(self, choices: int) -> bool:
        return MAX_DRAW * int(max(self.state.weight)) < INT64_END

    def dump(self) -> Plain:
        """Only the weights: the rest follows from the names."""
        return {"weight": [int(weight) for weight in self.state.weight]}

    def load(self, plain: Plain) -> None:
        self.state = self.state._replace(weight=list(plain["weight"]))

    def compare(self, members: Sequence[int]) -> Weighing:
        s = self.state
        drawn = self.draws(members)
        score = {i: Fraction(drawn[i], s.weight[i]) for i in members}
        order = sorted(members, key=lambda i: (score[i], i))
        if len(order) < 2:
            return Weighing(order)
        first, second = order[:2]
        decided = SCORE if score[first] < score[second] else NAME
        otherwise = self._otherwise(first, second, drawn)
        return Weighing(order, decided=decided, otherwise=otherwise)

    def draws(self, members: Sequence[int]) -> dict[int, int]:
        """Each member's draw for the key."""
        return {i: draw(self.state, i, self.key) for i in members}

    def _otherwise(self, first: int, second: int, drawn: dict[int, int]) -> Otherwise:
        """With which weight the second would have come before the first."""
        if drawn[first]:
            enough, rest = divmod(drawn[second] * self.state.weight[first], drawn[first])
            enough += bool(rest) or first < second
            if enough < INT64_END:
                return Otherwise("weight", enough)
        return Otherwise()
