"""What goes into a replay, and what comes out of it: columns of int64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fairlead.compiled.bindings import Bindings
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.words import NOBODY_CODE, ROUTED_CODE


class Traits(NamedTuple):
    """What any message of a replay has, now or later."""

    groups: bool = True
    priorities: bool = True
    tenants: bool = True
    rollbacks: bool = True
    raises: bool = True
    """Some are no work, and only raise their group."""


class Batch(NamedTuple):
    """Messages in order, one entry each; times in microseconds, never falling."""

    codes: Int32s
    """Of their classes, as the plan has them."""
    times: Int64s
    services: Int64s
    """Microseconds, at the nominal speed."""
    messages: Int64s
    """Running numbers, by which they are reported."""
    sequences: Int64s
    """The place of each in its stream, NONE for one that is in none."""
    keys: Int64s
    """Numbers of keys, where a rule chooses by them."""
    groups: Int64s | None = None
    """Numbers of groups, NONE for a message that is a group of its own. None: all are."""
    priorities: Int64s | None = None
    """NONE where none is said."""
    tenants: Int64s | None = None
    """Numbers of tenants. None: all are of the first."""
    costs: Int64s | None = None
    """None: 1."""
    rollbacks: Int64s | None = None
    """How many attempts of it fail. None: 0."""
    bindings: Bindings | None = None

    def at(self, places: Any) -> Batch:  # noqa: ANN401 - a slice or an array of places
        """The same of some of the messages."""
        columns: dict[str, Any] = self._asdict()
        bindings = columns.pop("bindings")
        some: dict[str, Any] = {
            name: None if column is None else column[places] for name, column in columns.items()
        }
        return Batch(**some, bindings=None if bindings is None else bindings.at(places))


class Attempts(NamedTuple):
    """What became of messages: an entry for each attempt. Times in microseconds.

    The columns are called as those of a job: see `layout/job.py`.
    """

    message: Int64s
    sequence: Int64s
    outcome: Int64s
    """Places in WORDS; NONE: it still waits, or is worked on."""
    label: Int64s
    """Codes of destinations at their addresses; NONE: there is none."""
    attempt: Int64s
    reader: Int64s
    """From 1; NONE: it has not started."""
    since: Int64s
    """When it began to wait."""
    start: Int64s
    finish: Int64s

    def waits(self, until: int = NEVER) -> Int64s:
        """How long each waited, until it was started or taken away, in microseconds.

        `until`: the time, for those that still wait.
        """
        ends = np.where(self.start != NEVER, self.start, self.finish)
        return np.where(ends != NEVER, ends, until) - self.since

    def ended(self) -> Int64s:
        """The outcomes, also of those that still wait or are worked on: by who was chosen."""
        still = np.where(self.label == NONE, NOBODY_CODE, ROUTED_CODE)
        return np.where(self.outcome == NONE, still, self.outcome)

    @classmethod
    def together(cls, parts: Iterable[Attempts]) -> Attempts:
        """Several, one after another."""
        every = [part for part in parts if len(part.message)]
        if not every:
            return cls(*(np.empty(0, np.int64) for _ in cls._fields))
        if len(every) == 1:
            return every[0]
        return cls(*(np.concatenate(columns) for columns in zip(*every, strict=True)))
