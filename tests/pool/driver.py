"""Recorded messages through a pool's core, by a clock that only goes to where something happens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from typing import Any

from tests.engines import Row, changes_of, cluster_of, in_order, micros
from tests.replay.engines import Attempt

from fairlead.balance.changes import resolve
from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.rules.due import work
from fairlead.pool.events import PoolEvents
from fairlead.pool.job import OVER, WORKING, Job

SAID = {"id", "time", "service_time", "priority", "tenant", "cost", "rollbacks"}
FOREVER = 1 << 62


@dataclass
class Driver:
    """A core, the completions to come, and what has become of each message."""

    core: PoolEvents
    now: int = 0
    due: list[tuple[int, int, Job, int]] = field(default_factory=list)
    """When, what was begun first, the job and its attempt."""
    begun: int = 0
    services: dict[int, int] = field(default_factory=dict)
    failing: dict[int, int] = field(default_factory=dict)
    rows: list[Attempt] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    done_in_hold: dict[tuple[str, str], int] = field(default_factory=dict)
    """By destination and group: how many jobs the reader that has it has done."""
    been: set[tuple[str, str]] = field(default_factory=set)
    raises: bool = False
    """Whether any message only raises its group."""
    differs: bool = False
    """Whether something came where a pool does not do as a replay: it cannot undo what is done."""

    def run(self, messages: Sequence[Row], steps: Sequence[tuple[int, list[Any]]]) -> None:
        """Everything, until nothing more happens. In order, times never falling."""
        self.raises = any(message.get("type") == SET_PRIORITY for message in messages)
        coming = [(time, list(own)) for time, own in groupby(messages, lambda m: m["time"])]
        coming.reverse()
        steps = list(reversed(steps))
        while True:
            follow = self.core.due
            times = [
                coming[-1][0] if coming else FOREVER,
                steps[-1][0] if steps else FOREVER,
                self.due[0][0] if self.due else FOREVER,
                FOREVER if follow is None else follow,
            ]
            self.now = self.core.now = min(times)
            if self.now == FOREVER:
                break
            self.complete()
            if steps and steps[-1][0] == self.now:
                self.change(steps.pop()[1])
            elif follow == self.now:
                self.change([])
            self.core.assign()
            self.note()
            if coming and coming[-1][0] == self.now:
                for message in coming.pop()[1]:
                    self.arrive(message)
            self.look()

    def complete(self) -> None:
        while self.due and self.due[0][0] == self.now:
            _, _, job, attempt = heappop(self.due)
            if job.attempt != attempt or job.phase != WORKING:
                continue  # it was taken away
            if self.failing[id(job)]:
                self.failing[id(job)] -= 1
                self.undone(job, str(job.queue and job.queue.ref))
                self.tell(job, "rolled-back")
                self.core.retry(job)
            else:
                self.tell(job, "routed")
                key = (str(job.queue and job.queue.ref), job.group)
                self.core.complete(job)
                self.done_in_hold[key] = self.done_in_hold.get(key, 0) + 1
                if job.group and job.in_group is not None and not job.in_group.locked:
                    del self.done_in_hold[key]
            self.note()

    def undone(self, job: Job, where: str) -> None:
        """A reader gives a job back: a replay would also take back what he had done before it."""
        if job.group and self.done_in_hold.pop((where, job.group), 0):
            self.differs = True

    def change(self, step: list[Any]) -> None:
        before = {
            id(job): (job.attempt, dict(vars_of(job)))
            for queue in self.core.queues.values()
            for job in (*queue.busy.values(), *queue.items())
        }
        working = [
            (job, str(queue.ref))
            for queue in self.core.queues.values()
            for job in queue.busy.values()
        ]
        self.core.change(step)
        for job, where in working:
            if job.phase != WORKING:
                self.undone(job, where)
        for key, (attempt, was) in before.items():
            job = self.jobs[key]
            if job.attempt != attempt:
                self.tell(job, "released", was)
            elif job.phase == OVER:
                self.tell(job, job.outcome, was)
                self.core.ended.remove(job)
        self.note()

    def arrive(self, message: Row) -> None:
        group = message.get("group", "")
        if message.get("type") == SET_PRIORITY:
            for queue in self.core.queues.values():
                if (str(queue.ref), group) in self.been and group not in queue.groups and group:
                    self.differs = True  # a replay remembers every group
            if group:
                self.core.prioritise(group, message.get("priority"))
            self.rows.append(
                Attempt(str(message["id"]), 1, "", "control", None, None, None, None, None)
            )
            return
        said = {name: value for name, value in message.items() if name not in SAID}
        values = self.core.state.values_of(said)
        job = Job(
            {**said, "id": message["id"]},
            values,
            group,
            message.get("priority"),
            message.get("tenant", ""),
            message.get("cost", 1),
        )
        self.jobs[id(job)] = job
        self.services[id(job)] = micros(message["service_time"])
        self.failing[id(job)] = message.get("rollbacks", 0)
        self.core.arrive(job)
        self.note()

    def look(self) -> None:
        self.core.look()
        self.note()

    def note(self) -> None:
        """What the core has begun and ended."""
        for job in self.core.started:
            self.begun += 1
            took = work(self.services[id(job)], job.speed)
            heappush(self.due, (self.now + took, self.begun, job, job.attempt))
        self.core.started.clear()
        for job in self.core.ended:
            if job.outcome != "routed":
                self.tell(job, job.outcome)
        self.core.ended.clear()
        if self.raises:
            for queue in self.core.queues.values():
                self.been |= {(str(queue.ref), group) for group in queue.groups}

    def tell(self, job: Job, outcome: str, was: dict[str, Any] | None = None) -> None:
        was = vars_of(job) if was is None else was
        finish = self.now if was["destination"] else None
        start = was["start"]
        until = self.now if start is None else start
        self.rows.append(
            Attempt(
                str(job.message["id"]),
                was["attempt"],
                was["destination"] or "",
                outcome,
                job.sequence,
                was["reader"] if start is not None else None,
                start,
                finish,
                None if finish is None and start is None else until - was["since"],
            )
        )

    def leave_over(self) -> None:
        """What still waits when nothing more happens."""
        for job in self.core.outside.items():
            self.rows.append(left(job, "no-destination"))
        for queue in self.core.queues.values():
            for job in queue.items():
                self.rows.append(left(job, "routed"))


def left(job: Job, outcome: str) -> Attempt:
    name = job.destination or ""
    return Attempt(
        str(job.message["id"]), job.attempt, name, outcome, job.sequence, None, None, None, None
    )


def vars_of(job: Job) -> dict[str, Any]:
    names = ("attempt", "destination", "reader", "start", "since")
    return {name: getattr(job, name) for name in names}


def pool(cluster: Row, messages: list[Row], changes: list[Row]) -> tuple[list[Attempt], bool]:
    """What becomes of each message; and whether nothing came in which pools and replays differ."""
    driver = Driver(PoolEvents(cluster_of(cluster)))
    state = driver.core.state
    steps = [
        (time, resolved)
        for time, _, resolved in resolve({driver.core.name: state}, changes_of(changes))
    ]
    rows = [{**row, "time": micros(row["time"])} for row in in_order(messages)]
    driver.run(rows, steps)
    driver.leave_over()
    return sorted(driver.rows), not driver.differs
