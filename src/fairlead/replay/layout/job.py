"""A job: one message on its way to one destination, or one attempt of it that is over."""

from __future__ import annotations

from typing import Final

NEXT: Final = 0
"""The next job of whatever list it stands in; in a free row the next free one."""
MESSAGE: Final = 1
CLASS: Final = 2
GROUP: Final = 3
"""The number of its group; NONE: the message is a group of its own."""
BIND: Final = 4
"""What it is bound by, or NONE."""
KEY: Final = 5
"""What a keyed rule chooses by."""
PRIORITY: Final = 6
"""To which it raises its group, or NONE."""
TENANT: Final = 7
"""The number of its tenant."""
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
"""The destination, by its place among the rule's members; NONE: none has been chosen yet."""
QUEUE: Final = 17
"""The row of the queue where it waits."""
READER: Final = 18
"""From 1."""
START: Final = 19
FINISH: Final = 20
OUTCOME: Final = 21
"""A place in WORDS; NONE: it is not over; FREE: the row is no job."""
LABEL: Final = 22
"""The code of the destination at its address."""
SHARED: Final = 23
"""1: others got the message as well, so nobody takes its place if its destination fails."""
GROUP_ROW: Final = 24
"""The row of its group, where it waits or has been started."""
WATCH: Final = 25
"""The row of its watch, NONE, or TIMED_OUT."""
SIZE: Final = 26

FREE: Final = -2
"""The outcome in a row that is no job."""
TIMED_OUT: Final = -2
"""The watch of a job that was not acknowledged in time."""

REPORTED: Final = (MESSAGE, SEQUENCE, OUTCOME, LABEL, ATTEMPT, READER, SINCE, START, FINISH)
"""What is reported of a job that is over, or of one that is left: the columns of `Attempts`."""
