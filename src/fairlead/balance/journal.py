"""The journal row: one format for every decision, wherever it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from fairlead.balance.change import ALL_CLUSTERS, ResolvedChange
from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.balance.times import seconds
from fairlead.errors import ConfigError, MessageError
from fairlead.rows import CHANGE, CHANGED, COMPLETED, JOURNAL, OWN

SAME: Final = ("id", "cluster")
"""Columns of a journal that say what the message says, wherever it says anything."""


class JournalRow(msgspec.Struct, frozen=True, gc=False):
    """One decision, for one of its message's destinations.

    It has the columns of every journal (see `to_dict`), and what is derived of them when it is
    read, and costs nothing before: `step` and `runner_up`.
    """

    position: int
    """The message's place among all messages of this journal, from 0."""
    time: float | None
    """The message's, in seconds (of a timestamp: since 1970); None where not given."""
    id: str
    """The message's, "" where not given."""
    destination: str | None
    """None unless `outcome` is `routed`."""
    address: str | None
    """The destination's, if the cluster's file gives one."""
    decision: Decision
    """The whole decision, which can explain itself."""
    message: Message
    """All that the message said, as it said it."""

    @classmethod
    def of(
        cls,
        decision: Decision,
        position: int,
        message: Message,
        message_id: str = "",
        time: float | None = None,
    ) -> list[JournalRow]:
        """The rows of a decision, one for each destination of the message, by name.

        `message` is kept as it is: give a copy of what will be changed. `time` in seconds.
        """
        copies: Iterable[tuple[str | None, str | None]] = decision.copies or ((None, None),)
        return [
            cls(position, time, message_id, name, address, decision, message)
            for name, address in copies
        ]

    @property
    def cluster(self) -> str:
        """Its name, "" where the message names none and there are several."""
        return self.decision.cluster

    @property
    def version(self) -> int:
        """How many steps of changes the cluster had seen."""
        frame = self.decision.frame
        return frame.version if frame else 0

    @property
    def stream(self) -> str:
        """The cluster, and the queue or subject where the policy has one, `/` between them."""
        return self.decision.stream

    @property
    def sequence(self) -> int | None:
        """Place in the stream, from 0; None for a control message."""
        return self.decision.sequence

    @property
    def outcome(self) -> str:
        """As the decision's."""
        return self.decision.outcome

    @property
    def attempt(self) -> int:
        """Always 1: nothing is sent again."""
        return 1

    @property
    def step(self) -> str:
        """Derived: the step that decided."""
        return self.decision.explain().deciding_step

    @property
    def runner_up(self) -> str | None:
        """Derived: who would have been next, if anybody."""
        return self.decision.explain().runner_up

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written: what the message said, then the columns of every journal.

        As JSON lines or Parquet, such rows can be dispatched, replayed, compared and explained.
        """
        columns = {name: value for name, value in self.message.items() if name not in JOURNAL}
        return {**columns, **{name: getattr(self, name) for name in JOURNAL}}


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """What happened between two decisions: a change, what followed of itself, or a completion."""

    position: int
    """The place of the next message: how many there were before."""
    time: float | None
    """When a step of changes was made, in seconds; a completion has none."""
    cluster: str
    version: int
    """How many steps of changes the cluster had seen, this one among them."""
    outcome: str
    """`changed` or `completed`."""
    stream: str = ""
    destination: str | None = None
    """Who has completed a message: the one of this `stream` and `sequence`."""
    sequence: int | None = None
    target: str | None = None
    """What was changed; None where a step followed of itself from earlier ones."""
    attribute: str | None = None
    value: str | None = None
    """What the attribute has become, as text: a file of rows has one type for each column."""

    @property
    def id(self) -> str:
        """Always "": it is no message."""
        return ""

    @property
    def address(self) -> None:
        """Always None."""

    @property
    def attempt(self) -> None:
        """Always None."""

    @property
    def step(self) -> str:
        """Always "": nothing was decided."""
        return ""

    @property
    def runner_up(self) -> None:
        """Always None."""

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written: the columns of every journal, and those of a change."""
        return {name: getattr(self, name) for name in (*JOURNAL, *CHANGE)}

    @classmethod
    def of_step(
        cls, position: int, cluster: str, version: int, changes: Sequence[ResolvedChange], time: int
    ) -> list[EventRow]:
        """The rows of a step of changes, which was made at this time (microseconds)."""
        every = changes or [ResolvedChange(None, "", None)]
        return [
            cls(
                position,
                seconds(time),
                cluster,
                version,
                CHANGED,
                target=(str(change.ref) if change.ref else ALL_CLUSTERS) if changes else None,
                attribute=change.attribute if changes else None,
                value=_text(change.value),
            )
            for change in every
        ]

    @classmethod
    def of_completion(cls, position: int, decision: Decision, destination: str) -> EventRow:
        """The row of a message that a destination has finished."""
        version = decision.frame.version if decision.frame else 0
        return cls(
            position,
            None,
            decision.cluster,
            version,
            COMPLETED,
            decision.stream,
            destination,
            decision.sequence,
        )


def _text(value: object) -> str | None:
    """A value of a change, as files of changes say it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return ";".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def check_names(columns: Iterable[str], read: Iterable[str]) -> None:
    """Refuse what the journal's own columns would hide. Raises MessageError, ConfigError.

    `columns`: those that the messages have; `read`: what the policies read of messages.
    """
    check_read(read)
    for name in columns:
        if name.lower() in JOURNAL and name not in OWN:
            raise MessageError(f"messages: column {name!r} is what a journal adds; rename it")


def check_read(names: Iterable[str]) -> None:
    """Refuse a policy that reads of messages what a journal calls like a column of its own.

    `names`: of what the policies read. Raises ConfigError.
    """
    for name in sorted(names):
        if name in JOURNAL and name not in SAME:
            raise ConfigError(
                f"journal: a policy reads {name!r} of messages, which every journal has as a "
                "column of its own, allowed: any other name"
            )
