"""Narrow columns of messages, piece by piece, for replays of them under several plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from fairlead.balance.rules.keyed import NO_KEY as WITHOUT
from fairlead.compiled.bindings import NO_KEY, Bindings
from fairlead.compiled.classes import homes, keyed_by
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.replay.batch import Attempts, Batch, Traits
from fairlead.replay.numbers import Pairs, TextNumbers
from fairlead.replay.replays import Replays

CODE: Final = "code"
TIME: Final = "time"
SERVICE: Final = "service"
KEY_OF: Final = "key of "
"""Followed by an attribute: the number of its value."""


class Lane(NamedTuple):
    """One scenario, and what its plan makes of the messages' codes."""

    scenario: int
    plan: ClassifiedPlan
    codes: Int32s
    """By the code that a message has in the traffic: its class in the plan."""


class Piece(NamedTuple):
    """Messages that come together, as columns; names are numbers that hold for all pieces."""

    rows: pa.RecordBatch
    messages: Int64s
    """Their numbers, in the order of all."""
    codes: Int32s
    times: Int64s
    services: Int64s
    priorities: Int64s | None
    costs: Int64s | None
    rollbacks: Int64s | None
    groups: Int64s | None
    tenants: Int64s | None
    openers: Int64s | None


class ScenarioRuns:
    """Several replays of the same messages, which go through all of them piece by piece."""

    def __init__(self, lanes: Sequence[Lane], traits: Traits) -> None:
        """At the beginning."""
        self.lanes = [(lane, Replays(lane.plan, traits)) for lane in lanes]
        self._groups = TextNumbers(empty=False)
        self._tenants = TextNumbers(empty=True)
        self._openers = TextNumbers(empty=True)
        self._bonds = [(Pairs(), Pairs()) for _ in lanes]
        self._next = 0

    @property
    def tenants(self) -> list[str]:
        """Their names, by number."""
        return list(self._tenants) or [""]

    def read(self, piece: pa.RecordBatch) -> Piece:
        """Number what a piece says; pieces are read in order, each once."""
        n = piece.num_rows
        names = piece.schema.names

        def numbers(name: str) -> Int64s | None:
            return np.asarray(piece.column(name)) if name in names else None

        messages = np.arange(self._next, self._next + n)
        self._next += n
        return Piece(
            piece,
            messages,
            np.asarray(piece.column(CODE)),
            np.asarray(piece.column(TIME)),
            np.asarray(piece.column(SERVICE)),
            numbers("priority"),
            numbers("cost"),
            numbers("rollbacks"),
            self._groups.of(piece.column("group")) if "group" in names else None,
            self._tenants.of(piece.column("tenant")) if "tenant" in names else None,
            self._openers.of(piece.column("producer")) if "producer" in names else None,
        )

    def feed(self, piece: Piece) -> Iterator[tuple[int, Attempts]]:
        """Let a piece arrive; gives what is over by then, with the number of the scenario."""
        names_of_tenants = self.tenants
        for (lane, replays), bonds in zip(self.lanes, self._bonds, strict=True):
            codes: Int32s = lane.codes[piece.codes]
            batch = Batch(
                codes,
                piece.times,
                piece.services,
                piece.messages,
                piece.messages,
                _keys(piece.rows, lane.plan, codes),
                piece.groups,
                piece.priorities,
                piece.tenants,
                piece.costs,
                piece.rollbacks,
                _bindings(piece.rows, lane.plan, codes, piece.groups, piece.openers, bonds),
            )
            replays.feed(batch, len(self._groups), names_of_tenants)
            yield lane.scenario, replays.done()

    def finish(self) -> Iterator[tuple[int, Attempts]]:
        """No more pieces come: gives the rest, and what still waits."""
        for lane, replays in self.lanes:
            replays.finish()
            yield lane.scenario, Attempts.together([replays.done(), replays.left()])

    def oldest(self) -> int:
        """The number of the first message that is not over in all scenarios, or of the next one."""
        number = self._next
        for _, replays in self.lanes:
            left = replays.left().message
            number = min(number, int(left.min(initial=number)))
        return number


def _keys(piece: pa.RecordBatch, plan: ClassifiedPlan, codes: Int32s) -> Int64s:
    keys = np.full(len(codes), WITHOUT, np.int64)
    for name in dict.fromkeys(plan.keyed.values()):
        mine = keyed_by(name, plan, codes)
        keys[mine] = np.asarray(piece.column(KEY_OF + name))[mine]
    return keys


def _bindings(
    piece: pa.RecordBatch,
    plan: ClassifiedPlan,
    codes: Int32s,
    groups: Int64s | None,
    openers: Int64s | None,
    bonds: tuple[Pairs, Pairs],
) -> Bindings | None:
    """By what each message may be bound; its opener's numbers are even, its group's odd."""
    if not plan.binds:
        return None
    n = len(codes)
    home = np.array(homes(plan), np.int64)[codes]
    by_opener = 2 * bonds[0].of(home, np.zeros(n, np.int64) if openers is None else openers)
    by_opener = np.where(home == NO_KEY, NO_KEY, by_opener)
    by_group = np.full(n, NO_KEY) if groups is None else bonds[1].of(home, groups)
    by_group = np.where((home == NO_KEY) | (by_group == NO_KEY), NO_KEY, 2 * by_group + 1)
    bind_codes = np.zeros(n, np.int8)
    if "bind" in piece.schema.names and "bind" in plan.relevant_attributes:
        coded = piece.column("bind").dictionary_encode()
        kinds = [Bindings.code(word or "") for word in coded.dictionary.to_pylist()]
        bind_codes = np.array(kinds, np.int8)[np.asarray(coded.indices)]
    size = 2 * max(len(bonds[0]), len(bonds[1])) + 2
    return Bindings(
        bind_codes, by_opener, by_group, np.zeros(size, np.int64), np.zeros(n, np.bool_)
    )
