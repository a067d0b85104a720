"""A replay in which anything may overtake: groups, priorities, failures; event by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from fairlead.balance.message import AttributeValues
from fairlead.balance.objects import MAX_CHARGE, Ref, common_multiple
from fairlead.compiled.bindings import Bindings
from fairlead.compiled.engine import engine, plain
from fairlead.errors import FairleadError, MessageError
from fairlead.replay import events
from fairlead.replay.arrays import Cells, Columns
from fairlead.replay.batch import Attempts, Batch
from fairlead.replay.layout import NEVER, NONE, arrival, header, job, queue, reader
from fairlead.replay.memory import LEAST_ROWS
from fairlead.replay.run import Run, Setting
from fairlead.replay.words import CODED_WORDS, RELEASED_CODE, ROLLED_BACK_CODE

AT_ONCE: Final = 4_096
"""Messages, before what is over is fetched."""
COLUMNS: Final = np.array(job.REPORTED, np.int64)


class EventRun(Run):
    """A cluster's traffic, event by event."""

    def __init__(self, setting: Setting, *, remembers: bool, interpreted: bool = False) -> None:
        """`remembers`: groups may be raised by themselves.

        `interpreted`: by the kernel's source as it stands, not compiled.
        """
        self._given = setting.classes
        self._code_of: dict[AttributeValues, int] = {}
        """By what is read of a message: its place among the classes."""
        for code, values in enumerate(setting.classes):
            self._code_of.setdefault(values, code)
        self._sent_as: Cells = np.zeros(0, np.int64)
        """By the code that a message comes with: its class, when it is sent now."""
        rule = setting.cluster.rule
        as_it_stands = plain(events, rule)
        super().__init__(
            setting, as_it_stands if interpreted else engine(events, rule), as_it_stands
        )
        self.memory.cells[header.REMEMBERS] = remembers
        self._spare = LEAST_ROWS
        self._spent = 0
        self._tenants: Sequence[str] = ()
        self._whose = np.empty(0, np.int64)
        """By group: the tenant of its first message, or NONE."""
        self._waited = 0
        """Microseconds, by the rows that are over."""

    def know(self, tenants: Sequence[str], groups: int, bonds: int) -> None:
        """What the next messages can name: tenants, and so many `groups` and `bonds`."""
        weights = self.order.weights
        unit = common_multiple(weights)
        memory = self.memory
        known = len(self._tenants)
        if len(tenants) > known:
            start = memory.at_least(header.SHARE_OF, len(tenants), 0)
            shares = [unit // weights.get(name, 1) for name in tenants[known:]]
            memory.cells[start + known : start + len(tenants)] = shares
            self._tenants = list(tenants)
        more = max(0, groups - len(self._whose))
        self._whose = np.concatenate([self._whose, np.full(more, NONE, np.int64)])
        memory.at_least(header.TENANT_OF, len(tenants), NONE)
        memory.at_least(header.GROUP_OF, groups, NONE)
        memory.at_least(header.BOUND, bonds, NONE)

    def arrive(self, batch: Batch) -> None:
        self._check_tenants(batch)
        self._check_charges(batch)
        for low in range(0, len(batch.times), AT_ONCE):
            cells = self._cells(batch.at(slice(low, low + AT_ONCE)))
            start, stop = 0, cells.shape[1]
            while start < stop:
                start = self.ask("feed", cells.ravel(), cells.shape[1], start, stop)
                self._fetch()
                if start < stop:
                    self._make_room()

    def _cells(self, batch: Batch) -> Columns:
        cells = np.empty((arrival.SIZE, len(batch.times)), np.int64)
        cells[arrival.TIME] = batch.times
        cells[job.MESSAGE] = batch.messages
        cells[job.CLASS] = self._sent_as[batch.codes]
        cells[job.SERVICE] = batch.services
        cells[job.KEY] = batch.keys
        cells[job.SEQUENCE] = batch.sequences
        for column, values, missing in (
            (job.GROUP, batch.groups, NONE),
            (job.PRIORITY, batch.priorities, NONE),
            (job.TENANT, batch.tenants, 0),
            (job.COST, batch.costs, 1),
            (job.ROLLBACKS, batch.rollbacks, 0),
        ):
            cells[column] = missing if values is None else values
        cells[job.BIND] = NONE
        if batch.bindings is not None:
            self._bind(cells, batch.bindings)
        return cells

    def _bind(self, cells: Columns, bindings: Bindings) -> None:
        """By what each message is bound, as the cluster is now."""
        cluster = self.cluster
        if cluster.rebinds:
            cells[job.BIND] = bindings.by_group
        elif cluster.binds:
            kinds = [
                Bindings.code(cluster.bind_default(cluster.key(values))) for values in self.classes
            ]
            cells[job.BIND] = bindings.keys(np.array([*kinds, 0], np.int8)[cells[job.CLASS]])

    def _check_tenants(self, batch: Batch) -> None:
        """A group belongs to one tenant, as in a live agenda; here it lives as long as the run."""
        if batch.groups is None or batch.tenants is None:
            return
        places = np.flatnonzero(batch.groups != NONE)
        groups, tenants = batch.groups[places], batch.tenants[places]
        unknown = np.flatnonzero(self._whose[groups] == NONE)[::-1]  # the first is written last
        self._whose[groups[unknown]] = tenants[unknown]
        wrong = np.flatnonzero(self._whose[groups] != tenants)
        if len(wrong):
            first = int(wrong[0])
            raise MessageError(
                f"messages: row {batch.messages[places[first]]} in order, tenant: found "
                f"{self._tenants[tenants[first]]!r}, allowed: "
                f"{self._tenants[self._whose[groups[first]]]!r}, whose its group is"
            )

    def _check_charges(self, batch: Batch) -> None:
        """What tenants are charged must stay within 64 bits."""
        unit = common_multiple(self.order.weights)
        costs = len(batch.times) if batch.costs is None else int(batch.costs.sum())
        self._spent += costs * unit
        if self._spent >= MAX_CHARGE:
            raise MessageError(
                f"messages: cost: found {self._spent // unit} in all, allowed: less than "
                f"{MAX_CHARGE // unit} with these weights of tenants"
            )

    def reach(self, time: int) -> None:
        while not self.ask("pass_to", time):
            self._make_room()
        self._fetch()

    def _make_room(self) -> None:
        """More room; twice as much each time, as the kernel may ask for more than is usual."""
        self._spare *= 2
        self.memory.room(self._spare, self._spare)

    def _fetch(self) -> None:
        """Fetch what is over, so that its rows are used again."""
        cells = self.memory.cells
        columns = np.empty((len(job.REPORTED), int(cells[header.ENDED_COUNT])), np.int64)
        self._waited += int(self.kernel.fetch(cells, columns.ravel(), columns.shape[1]))
        self.collect(Attempts(*columns))

    def finish(self) -> None:
        super().finish()
        self._check_waits()

    def _check_waits(self) -> None:
        """Little's law: what the rows say of waits is what waited over time, as the clock saw it.

        Raises FairleadError, which is a fault of ours.
        """
        m = self.memory.cells
        now = int(m[header.NOW])
        seen = sum(
            int(m[q + queue.AREA] + m[q + queue.WAITING] * (now - m[q + queue.COUNTED]))
            for q in (*self.memory.queues, int(m[header.UNASSIGNED]))
        )
        reported = self._waited + int(self.left().waits(until=now).sum())
        if seen != reported:
            raise FairleadError(
                f"replay: the rows report {reported} microseconds of waiting, "
                f"the clock saw {seen}; this is a fault of Fairlead's"
            )

    def left(self) -> Attempts:
        every = np.concatenate([self.memory.rows(chunk) for chunk in self.memory.jobs])
        return Attempts(*np.ascontiguousarray(every[every[:, job.OUTCOME] == NONE].T[COLUMNS]))

    # changes

    def _described(self) -> Cells:
        """First of all, as what messages are sent now: no later change touches that."""
        as_sent = []
        for values in map(self.cluster.failures.published, self._given):
            if values not in self._code_of:
                self._code_of[values] = len(self.classes)
                self.classes.append(values)
            as_sent.append(self._code_of[values])
        self._sent_as = np.array([*as_sent, arrival.CONTROL], np.int64)
        return super()._described()

    def after_step(self) -> None:
        """Take away what those held who have failed; end it, or route it anew."""
        cluster = self.cluster
        failed = [(k, ref) for k, ref in enumerate(self.owners) if ref in cluster.failed_now]
        for k, ref in failed:
            if cluster.failures.retains_after_failure(ref):
                self._break_off(self.memory.queues[k], ref)
        gone = [(k, ref) for k, ref in failed if not cluster.failures.retains_after_failure(ref)]
        held = [(k, ref, *row) for k, ref in gone for row in self._emptied(k)]
        again: set[tuple[int, int]] = set()
        for k, ref, j, raised in held:
            end = self._end(ref, j)
            if end != RELEASED_CODE:
                self.kernel.end(self.memory.cells, j, end)
                continue
            self.memory.room(LEAST_ROWS, LEAST_ROWS)
            cells = self.memory.cells
            group = (k, int(cells[j + job.GROUP]))
            if raised != NONE and (group[1] == NONE or group not in again):
                cells[j + job.PRIORITY] = raised  # the first of a raised group keeps the priority
                again.add(group)
            self.ask("route_anew", j, end)

    def _end(self, ref: Ref, j: int) -> int:
        """How the attempt of a job ends that one held who has failed."""
        cells = self.memory.cells
        values = self.classes[cells[j + job.CLASS]]
        shared = bool(cells[j + job.SHARED])
        return CODED_WORDS.index(self.cluster.failures.after_failure(ref, values, shared=shared))

    def _break_off(self, q: int, ref: Ref) -> None:
        """Who has failed and is remembered keeps what it held, or a part of it."""
        memory, kernel = self.memory, self.kernel
        r = int(memory.cells[q + queue.FIRST_READER])
        while memory.cells[r + reader.QUEUE] == q:
            if memory.cells[r + reader.GROUP] != NONE:
                self.ask("end_reader", r)
            r += reader.SIZE
        for j in self._waiting(q):
            end = self._end(ref, j)
            if end != ROLLED_BACK_CODE:
                kernel.withdraw(memory.cells, j)
                kernel.end(memory.cells, j, end)
            elif memory.cells[j + job.START] != NEVER:
                memory.room(LEAST_ROWS, LEAST_ROWS)
                kernel.again(memory.cells, j, end)

    def _waiting(self, q: int) -> list[int]:
        """The jobs that are at a queue."""
        jobs: list[int] = []
        for chunk in self.memory.jobs:
            rows = self.memory.rows(chunk)
            here = np.flatnonzero((rows[:, job.QUEUE] == q) & (rows[:, job.OUTCOME] == NONE))
            jobs += (chunk.start + job.SIZE * here).tolist()
        return jobs

    def _emptied(self, place: int) -> list[tuple[int, int]]:
        """The jobs that a queue held, as they arrived, and what the group of each is raised to."""
        memory = self.memory
        pairs = np.empty((2, sum(chunk.rows for chunk in memory.jobs)), np.int64)
        n = self.kernel.empty(memory.cells, memory.queues[place], pairs)
        jobs: list[tuple[int, int]] = list(zip(*pairs[:, :n].tolist(), strict=True))
        return sorted(jobs, key=lambda row: int(memory.cells[row[0] + job.NUMBER]))

    def fit_out(self) -> None:
        super().fit_out()
        m = self.memory.cells
        for q in self.memory.queues:
            first = m[q + queue.FIRST_READER]
            stop = first + reader.SIZE * m[q + queue.READERS]
            m[q + queue.IDLE] = (m[first + reader.GROUP : stop : reader.SIZE] == NONE).sum()
            self.kernel.touch(m, q)
