"""What was decided on a socket, and what changed, as tables that can be dispatched and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.balance.change import ResolvedChange
from fairlead.balance.decision import Decision
from fairlead.balance.journal import JournalRow
from fairlead.balance.message import Message
from fairlead.balance.times import seconds

ATTEMPT, SERVICE_TIME = "attempt", "service_time"


class JournalStretch(NamedTuple):
    """A stretch of a journal: rows of plain data, in the order of time."""

    messages: list[dict[str, Any]]
    """The rows of every journal, with `service_time`: how long the peer was busy with it."""
    changes: list[dict[str, Any]]
    """With the columns of a file of changes."""


class _Open(NamedTuple):
    decision: Decision
    id: str
    attempt: int
    time: int
    message: Message

    @property
    def position(self) -> int:
        """Among all: the policies that sockets have count all messages of a cluster together."""
        return self.decision.sequence or 0


class Journal:
    """Keeps what happens until somebody takes it. All times are whole microseconds.

    No two events have one time, so a table is in the order in which things happened.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self._open: dict[int, _Open] = {}
        """Messages that are not completed; by identity, as equal decisions are not the same."""
        self._done: list[tuple[_Open, int]] = []
        self._changes: list[dict[str, Any]] = []

    def chosen(
        self, decision: Decision, message: Message, time: int, first: str = "", attempt: int = 1
    ) -> None:
        """A peer was chosen for a message; see `Ring.choose`."""
        name = f"{first}.{attempt}" if first else str(decision.sequence)
        self._open[id(decision)] = _Open(decision, name, attempt, time, message)

    def completed(self, decision: Decision, time: int) -> None:
        """The peer is done with it."""
        entry = self._open.pop(id(decision), None)
        if entry is not None:  # else its peer had failed by then
            self._done.append((entry, time))

    def changed(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """These changes were made, as one step."""
        for ref, attribute, value in changes:
            target = str(ref) if ref else "*"
            row = {"target": target, "attribute": attribute, "value": value}
            self._changes.append({"time": seconds(time), **row})

    def lost(self, name: str, time: int) -> None:
        """A peer has failed; what it held ends here."""
        for entry in [entry for entry in self._open.values() if entry.decision.destination == name]:
            self.completed(entry.decision, time)

    def take(self, time: int | None = None) -> JournalStretch:
        """What has happened since the last time; messages when they are completed.

        `time`: the end; whatever is not completed ends later.
        """
        if time is not None:
            for entry in list(self._open.values()):
                self.completed(entry.decision, time)
        done, self._done = self._done, []
        changes, self._changes = self._changes, []
        done.sort(key=lambda each: each[0].position)
        return JournalStretch([_row(entry, until) for entry, until in done], changes)


def _row(found: _Open, until: int) -> dict[str, Any]:
    (row,) = JournalRow.of(
        found.decision, found.position, found.message, found.id, seconds(found.time)
    )
    return {**row.to_dict(), ATTEMPT: found.attempt, SERVICE_TIME: seconds(until - found.time)}
