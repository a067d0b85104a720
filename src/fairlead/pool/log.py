"""What is kept of a pool's decisions: rows of the one journal, which replay and explain read.

A message's rows are written when it is over, one for each attempt, so that each is complete; they
say in `decided` where they belong among all that was decided and that happened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from fairlead.balance.change import ResolvedChange
from fairlead.balance.journal import EventRow
from fairlead.balance.message import (
    CONTROL,
    NO_DESTINATION,
    ROLLED_BACK,
    ROUTED,
    SET_PRIORITY,
    Message,
)
from fairlead.balance.rules.due import MILLI, work
from fairlead.balance.times import seconds
from fairlead.pool.job import NOBODY, OVER, Attempt, Job
from fairlead.rows import ATTEMPT, CHANGE, COMPLETED, DECIDED, JOURNAL

LOG: Final = logging.getLogger("fairlead.pool")
SERVICE_TIME: Final = "service_time"
ROLLBACKS: Final = "rollbacks"
WRITTEN: Final = (
    *JOURNAL,
    *(name for name in ATTEMPT if name not in JOURNAL),
    DECIDED,
    *CHANGE,
)


class PoolRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row of a pool's journal: an attempt of a message, a change, or a completion.

    It has the columns of every journal, those of a replay's attempts and those of changes; the
    attributes of a message stand in `message`. Times are in seconds since 1970.
    """

    position: int
    """The message's place among all; of what happened between, that of the next message."""
    time: float | None
    id: str = ""
    cluster: str
    version: int
    stream: str = ""
    destination: str | None = None
    address: str | None = None
    outcome: str
    sequence: int | None = None
    attempt: int | None = None
    reader: int | None = None
    start: float | None = None
    finish: float | None = None
    wait: float | None = None
    decided: int | None = None
    """The row's place among all that was decided and that happened, from 0."""
    target: str | None = None
    attribute: str | None = None
    value: str | None = None
    message: Message = {}
    """What the message said, and its `service_time` (seconds) and `rollbacks` for a replay."""

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written: what the message said, then the columns of every journal."""
        columns = {name: value for name, value in self.message.items() if name not in WRITTEN}
        return {**columns, **{name: getattr(self, name) for name in WRITTEN}}


class PoolLog:
    """Numbers what happens, and makes rows of it. Times are whole microseconds."""

    def __init__(self, write: Callable[[PoolRow], object]) -> None:
        """`write` is called with each row when it is complete; if it fails, that is logged once."""
        self._given = write
        self._failed = False
        self._position = 0
        self._count = 0
        self._open: dict[int, Job] = {}
        """By position: the messages that are not over."""

    def _write(self, row: PoolRow) -> None:
        """Whatever the user's function raises: blocks go on, and readers are given back."""
        try:
            self._given(row)
        except Exception:
            if not self._failed:
                LOG.exception("the journal of a pool fails; what it misses is not written again")
            self._failed = True

    def number(self) -> int:
        """The place of what is decided, or happens, now."""
        self._count += 1
        return self._count - 1

    def arrived(self, job: Job, stream: tuple[str, ...], now: int) -> None:
        """A message has come; `stream`: its cluster, and what names its stream there."""
        job.position = self._position
        self._position += 1
        job.time, job.stream, job.past = now, stream, []
        self._open[job.position] = job

    def attempted(self, job: Job, outcome: str, now: int) -> None:
        """An attempt of a job is over, and so is the job, if it is."""
        if job.past is not None:
            job.past.append(_attempt(job, outcome, now))
        if job.phase == OVER:
            del self._open[job.position]
            for row in rows_of(job):
                self._write(row)

    def completed(self, cluster: str, version: int, job: Job) -> None:
        """A destination has finished a message, or the message will never come to it."""
        self._write(
            PoolRow(
                position=self._position,
                time=None,
                cluster=cluster,
                version=version,
                outcome=COMPLETED,
                stream=name_of(job.stream),
                destination=job.destination,
                sequence=job.sequence,
                decided=self.number(),
            )
        )

    def changed(
        self, cluster: str, version: int, changes: Sequence[ResolvedChange], now: int
    ) -> None:
        """A step of changes was made."""
        number = self.number()
        for event in EventRow.of_step(self._position, cluster, version, changes, now):
            self._write(
                PoolRow(
                    position=event.position,
                    time=event.time,
                    cluster=cluster,
                    version=version,
                    outcome=event.outcome,
                    target=event.target,
                    attribute=event.attribute,
                    value=event.value,
                    decided=number,
                )
            )

    def raised(self, cluster: str, version: int, message: Message, now: int) -> None:
        """A group was raised."""
        self._write(
            PoolRow(
                position=self._position,
                time=seconds(now),
                id=str(self._position),
                cluster=cluster,
                version=version,
                outcome=CONTROL,
                attempt=1,
                decided=self.number(),
                message={**message, "type": SET_PRIORITY, SERVICE_TIME: 0},
            )
        )
        self._position += 1

    def still_open(self) -> list[PoolRow]:
        """The rows of the messages that are not over, as they stand."""
        return [row for job in self._open.values() for row in rows_of(job)]


def _attempt(job: Job, outcome: str, finish: int | None) -> Attempt:
    return Attempt(
        job.decided,
        job.version,
        job.destination,
        job.address,
        outcome,
        NOBODY if job.start is None else job.reader,
        job.since,
        job.start,
        finish,
        job.speed,
    )


def rows_of(job: Job) -> list[PoolRow]:
    """The rows of a message, one for each attempt."""
    past = list(job.past or [])
    message = dict(job.message)
    if job.phase == OVER:
        message[SERVICE_TIME] = seconds(served(past[-1]))
    else:
        past.append(_attempt(job, NO_DESTINATION if job.destination is None else ROUTED, None))
    failed = sum(1 for attempt in past if attempt.outcome == ROLLED_BACK)
    if failed:
        message[ROLLBACKS] = failed
    return [_row(job, message, n, attempt) for n, attempt in enumerate(past, 1)]


def served(attempt: Attempt) -> int:
    """How long an attempt would have taken at the nominal speed; 0 where it was not started."""
    if attempt.start is None or attempt.finish is None:
        return 0
    took, speed = attempt.finish - attempt.start, attempt.speed
    about = took * speed // MILLI
    return min((about, about + 1), key=lambda service: abs(work(service, speed) - took))


def _row(job: Job, message: Message, number: int, attempt: Attempt) -> PoolRow:
    until = attempt.finish if attempt.start is None else attempt.start
    return PoolRow(
        position=job.position,
        time=seconds(job.time),
        id=job.name,
        cluster=job.stream[0],
        version=attempt.version,
        stream=name_of(job.stream),
        destination=attempt.destination,
        address=attempt.address,
        outcome=attempt.outcome,
        sequence=job.sequence,
        attempt=number,
        reader=attempt.reader or None,
        start=None if attempt.start is None else seconds(attempt.start),
        finish=None if attempt.finish is None else seconds(attempt.finish),
        wait=None if until is None else seconds(until - attempt.since),
        decided=attempt.decided,
        message=message,
    )


def name_of(stream: Sequence[str]) -> str:
    """A stream's name: the cluster, and the queue or subject where the policy has one."""
    return "/".join(part for part in stream if part)
