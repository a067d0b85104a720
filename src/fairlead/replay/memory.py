"""All that the kernel keeps, in one array of int64: a few numbers, then rows of many kinds.

A row is known by where it begins: `m[j + START]` is the start of job `j`. Rows never move, so there
can be more of them at any time; one that is not in use stands in a list of free ones. (One array,
because every array that a compiled function is given costs much more than the function.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fairlead.replay.arrays import Cells, Rows
from fairlead.replay.heap import LINKS, NONE, PLACED

# A job: one message on its way to one destination, or one attempt of it that is over.
NEXT: Final = 0
"""The next row of whatever list a job, a group or a tenant stands in."""
MESSAGE: Final = 1
CLASS: Final = 2
GROUP: Final = 3
"""NONE: the message is a group of its own."""
BIND: Final = 4
"""What it is bound by, or NONE."""
KEY: Final = 5
"""What a keyed rule chooses by."""
PRIORITY: Final = 6
"""To which it raises its group, or NONE."""
TENANT: Final = 7
COST: Final = 8
SERVICE: Final = 9
"""Microseconds, at the nominal speed."""
ROLLBACKS: Final = 10
"""How many more attempts fail at their end."""
SEQUENCE: Final = 11
"""Its place in its stream, or NONE."""
ARRIVED: Final = 12
NUMBER: Final = 13
"""When it arrived where it waits, and the running number of that: its place in its group."""
SINCE: Final = 14
"""When it began to wait in this attempt."""
ATTEMPT: Final = 15
MEMBER: Final = 16
"""NONE: nobody has been chosen yet."""
SERVER: Final = 17
READER: Final = 18
"""From 1."""
START: Final = 19
FINISH: Final = 20
OUTCOME: Final = 21
LABEL: Final = 22
"""The code of the destination at its address."""
SHARED: Final = 23
"""1: others got the message as well, so nobody takes its place if its destination fails."""
HOME: Final = 24
"""The row of its group, where it waits or has been begun with."""
WATCH: Final = 25
"""Its watch, NONE, or TIMED_OUT."""
JOB: Final = 26
"""How many columns a job has."""
TIMED_OUT: Final = -2
"""It was not acknowledged in time."""
TOLD: Final = (MESSAGE, SEQUENCE, OUTCOME, LABEL, ATTEMPT, READER, SINCE, START, FINISH)
"""What is told of a job that is over, or of one that is left."""

# What comes in, a row for each message: its time, then the columns of a job from CLASS on.
TIME: Final = 0
CELLS: Final = SEQUENCE + 1
CONTROL: Final = -1
"""The class of a message that is no work and only raises its group."""

# A group at one server; the columns of the heap come first.
AT: Final = LINKS
"""Where it waits."""
NAME: Final = LINKS + 1
"""Its number, or NONE."""
OWNER: Final = LINKS + 2
"""The row of its tenant there."""
HEAD: Final = LINKS + 3
TAIL: Final = LINKS + 4
"""The first and the last job that waits."""
WORTH: Final = LINKS + 5
"""What they cost together."""
RAISED: Final = LINKS + 6
ENTERED: Final = LINKS + 7
ENTRY: Final = LINKS + 8
"""The entry: priority (NONE: there is none), when it was entered, its running number."""
LOCKED: Final = LINKS + 9
"""1 while a reader has it."""
GIVEN: Final = LINKS + 10
LATEST: Final = LINKS + 11
"""The first and the last job that the reader was given."""
SPENT: Final = LINKS + 12
"""What these cost together."""
WAS_RAISED: Final = LINKS + 13
WAS_ENTERED: Final = LINKS + 14
WAS_ENTRY: Final = LINKS + 15
"""The entry with which it was taken."""
WAS_TURN: Final = LINKS + 16
"""Its tenant's turn before it was taken."""
ALSO: Final = LINKS + 17
"""The next row of the same group elsewhere, or of the same tenant; in a free row the next one."""
NODE: Final = LINKS + 18

# A tenant at one server; AT, NAME and ALSO as above.
TAG: Final = LINKS + 2
TURN: Final = LINKS + 3
SHARE: Final = LINKS + 4
TOP: Final = LINKS + 5
"""The root of its groups."""
EPOCH: Final = LINKS + 6
"""What it was charged counts only as long as this is the server's."""
TENANT_NODE: Final = LINKS + 18

# A server: where messages wait together for readers. The last row is the door.
LINE: Final = 0
"""The root of its tenants."""
CLOCK: Final = 1
HELD: Final = 2
"""How many groups are with readers."""
AGE: Final = 3
"""Counts the times at which nothing waited and nobody worked."""
READERS: Final = 4
IDLE: Final = 5
"""How many of them have nothing to do."""
READER_ROW: Final = 6
"""The row of its first reader."""
SPEED: Final = 7
"""Thousandths of the nominal speed."""
TOUCHED: Final = 8
"""1: its readers are to look for work in this instant."""
WAITING: Final = 9
"""How many jobs wait."""
AREA: Final = 10
"""The sum of all times during which jobs waited, as seen by the clock."""
COUNTED: Final = 11
"""Until when."""
SERVER_ROW: Final = 12

# A reader.
WORKS_AT: Final = 0
HAS: Final = 1
"""The row of the group that it has, or NONE."""
DOES: Final = 2
"""The job that it works on."""
FREE_AT: Final = 1
"""Where nothing overtakes: until when it works."""
FREE_TURN: Final = 2
"""Where nothing overtakes: in which turn of that instant it looks for work."""
READER_CELLS: Final = 3

# A completion to come.
DUE_AT: Final = 0
DUE_ORDER: Final = 1
DUE_READER: Final = 2
DUE: Final = 3

# A watch: the time in which a copy is to be acknowledged.
WATCHED: Final = 0
"""The job."""
DEADLINE: Final = 1
EARLIER: Final = 2
LATER: Final = 3
"""Its neighbours in the list of all; in a free row LATER is the next one."""
RING: Final = 4
"""The next of those that one acknowledgement ends together."""
WATCH_CELLS: Final = 5

# What a message of a class can meet, as the cluster is now.
SET_START: Final = 0
SET_STOP: Final = 1
"""Among whom the rule chooses: a piece of the list of members; empty: nobody, or one is TAKEN."""
TAKEN: Final = 2
"""Who is chosen past the rule, or NONE."""
ENDS: Final = 3
"""How it ends where nobody is left."""
CROWD_START: Final = 4
CROWD_STOP: Final = 5
"""Who gets it as well: a piece of the same list."""
EXPECTS: Final = 6
"""Whose acknowledgement is waited for: NOBODY_S, ALL_OF_THEM, ONE_OF_THEM."""
CLASS_CELLS: Final = 7
NOBODY_S: Final = 0
ALL_OF_THEM: Final = 1
ONE_OF_THEM: Final = 2

# A member of the rule, as the cluster is now.
HOLDS: Final = 0
"""1 where what is bound to it may stay."""
WORKED_AT: Final = 1
"""Its server."""
TOLD_AS: Final = 2
"""The outcome of a message for which it is chosen."""
LABELLED: Final = 3
"""The code of its name and address."""
MEMBER_CELLS: Final = 4

# The numbers, which come first.
NOW: Final = 0
PHASE: Final = 1
NUMBERED: Final = 2
"""The latest running number."""
STARTED: Final = 3
"""How often a reader has begun with a job."""
FREE_JOB: Final = 4
JOBS_LEFT: Final = 5
FREE_NODE: Final = 6
NODES_LEFT: Final = 7
FREE_TENANT: Final = 8
TENANTS_LEFT: Final = 9
DONE: Final = 10
LAST_DONE: Final = 11
"""The first and the last job that is over and has not been fetched."""
DONE_COUNT: Final = 12
DUE_COUNT: Final = 13
TOUCHED_COUNT: Final = 14
STEP: Final = 15
"""Microseconds of waiting that are worth one step of priority; 0: none are."""
FIFO: Final = 16
"""1: priorities change nothing."""
DEFAULT: Final = 17
"""What a group is raised to where no priority is said."""
REMEMBERS: Final = 18
"""1: groups can be raised by themselves, so what has been there is not forgotten."""
WAITS: Final = 19
"""1: a message for which nobody is left waits."""
DOOR: Final = 20
"""The server where messages wait for somebody to be ready."""
NONSENSE: Final = 21
NONSENSE_CHOICE: Final = 22
"""1 where an own rule has chosen what is none of the members, and what."""
DUES: Final = 23
"""Where the heap of completions begins."""
TOUCHES: Final = 24
"""Where the servers stand whose readers are to look for work, ascending."""
CLASSES: Final = 25
MEMBERS: Final = 26
NODE_OF: Final = 27
"""Where it stands by a group's number: its first row, or NONE."""
TENANT_OF: Final = 28
SHARE_OF: Final = 29
"""... by a tenant's number: by how much one unit of cost moves its tag."""
BOUND: Final = 30
"""... by what messages are bound by: the member they are bound to, or NONE."""
REDELIVERIES: Final = 31
"""As CLASSES, for what is routed anew."""
ACK_TIMEOUT: Final = 32
"""Microseconds in which what is watched is to be acknowledged; 0: nothing is watched."""
OLDEST: Final = 33
YOUNGEST: Final = 34
"""The first and the last watch, by deadline."""
FREE_WATCH: Final = 35
WATCHES_LEFT: Final = 36
NUMBERS: Final = 37

FREE: Final = -2
"""The outcome in a row that is no job."""

# Phases of an instant.
CLOSED: Final = 0
"""It is over, or has not begun."""
COMPLETING: Final = 1
OPEN: Final = 2
"""Completions are over, messages may arrive; then readers look."""

LEAST_ROWS: Final = 1_024
ENOUGH: Final = 1 << 62
"""Rows of what is never needed."""
BEFORE_ALL: Final = -(1 << 62)
NEVER: Final = BEFORE_ALL
"""The time of what has not happened."""


@dataclass
class Chunk:
    """Rows that were made room for together."""

    start: int
    rows: int


class Memory:
    """The cells, and where what stands in them."""

    def __init__(
        self, readers: Sequence[int], *, step: int, fifo: bool, default: int, ack_timeout: int
    ) -> None:
        """Nothing waits. `readers`: by server, how many there are at most."""
        self.cells: Cells = np.zeros(NUMBERS, np.int64)
        self._used = NUMBERS
        self.jobs: list[Chunk] = []
        m = self.cells
        m[NOW] = BEFORE_ALL
        for place in (FREE_JOB, FREE_NODE, FREE_TENANT, FREE_WATCH):
            m[place] = NONE
        for place in (DONE, LAST_DONE, OLDEST, YOUNGEST):
            m[place] = NONE
        m[STEP], m[FIFO], m[DEFAULT], m[ACK_TIMEOUT] = step, fifo, default, ack_timeout
        m[WATCHES_LEFT] = 0 if ack_timeout else ENOUGH
        self._lengths: dict[int, int] = {}
        first = self._take(SERVER_ROW * (len(readers) + 1))
        self.servers = [first + SERVER_ROW * s for s in range(len(readers))]
        seats = self._take(READER_CELLS * (sum(readers) + 1), NONE)
        for s, most in zip(
            [*self.servers, first + SERVER_ROW * len(readers)], [*readers, 0], strict=True
        ):
            m = self.cells
            m[s + LINE], m[s + COUNTED], m[s + SPEED] = NONE, BEFORE_ALL, 1000
            m[s + READER_ROW] = seats
            m[seats + WORKS_AT : seats + READER_CELLS * most : READER_CELLS] = s
            seats += READER_CELLS * most
            m[DOOR] = s
        self.at_least(DUES, DUE * (sum(readers) + 1), 0)
        self.at_least(TOUCHES, len(readers) + 1, 0)
        self.room(LEAST_ROWS, LEAST_ROWS)

    def _take(self, size: int, fill: int = 0) -> int:
        """Where so many new cells begin."""
        start = self._used
        self._used += size
        if self._used > len(self.cells):
            found = np.zeros(max(self._used, 2 * len(self.cells)), np.int64)
            found[:start] = self.cells[:start]
            self.cells = found
        self.cells[start : self._used] = fill
        return start

    def at_least(self, place: int, size: int, fill: int) -> int:
        """Where a list of at least so many cells begins, which stands in `place`."""
        length = self._lengths.get(place, 0)
        if length < size:
            start = self._take(max(size, 2 * length), fill)
            before = self.cells[place]
            self.cells[start : start + length] = self.cells[before : before + length]
            self.cells[place] = start
            self._lengths[place] = max(size, 2 * length)
        return int(self.cells[place])

    def write(self, place: int, rows: Sequence[Sequence[int]]) -> None:
        """Write rows as the list that stands in `place`."""
        cells = np.array(rows, np.int64).ravel()
        start = self.at_least(place, len(cells), 0)
        self.cells[start : start + len(cells)] = cells

    def rows(self, chunk: Chunk) -> Rows:
        """The jobs of a chunk, a row each."""
        return self.cells[chunk.start : chunk.start + JOB * chunk.rows].reshape(chunk.rows, JOB)

    def room(self, jobs: int, others: int) -> None:
        """See to it that there is room for so many more jobs, and groups and tenants."""
        for free, left, width, link, least in (
            (FREE_JOB, JOBS_LEFT, JOB, NEXT, jobs),
            (FREE_NODE, NODES_LEFT, NODE, ALSO, others),
            (FREE_TENANT, TENANTS_LEFT, TENANT_NODE, ALSO, others),
            (FREE_WATCH, WATCHES_LEFT, WATCH_CELLS, LATER, jobs),
        ):
            if self.cells[left] >= least:
                continue
            start = self._take(width * least, NONE)
            rows = self.cells[start : start + width * least].reshape(least, width)
            rows[:, link] = start + width * np.arange(1, least + 1)
            rows[-1, link] = self.cells[free]
            if free == FREE_JOB:
                rows[:, OUTCOME] = FREE
                self.jobs.append(Chunk(start, least))
            elif free != FREE_WATCH:
                rows[:, PLACED] = 0
            self.cells[free] = start
            self.cells[left] += least
