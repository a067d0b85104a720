"""The first cells of the array: numbers there is one of, and where lists and free rows begin."""

from __future__ import annotations

from typing import Final

NOW: Final = 0
PHASE: Final = 1
"""Of the instant: CLOSED, COMPLETING or OPEN."""
NUMBERED: Final = 2
"""The latest running number."""
STARTED: Final = 3
"""How often a reader has started a job."""
FREE_JOB: Final = 4
JOBS_LEFT: Final = 5
"""The first free row of a kind, and how many there are."""
FREE_GROUP: Final = 6
GROUPS_LEFT: Final = 7
FREE_TENANT: Final = 8
TENANTS_LEFT: Final = 9
FIRST_ENDED: Final = 10
LAST_ENDED: Final = 11
"""The first and the last job that is over and has not been collected."""
ENDED_COUNT: Final = 12
COMPLETION_COUNT: Final = 13
TOUCHED_COUNT: Final = 14
STEP: Final = 15
"""Microseconds of waiting that are worth one step of priority; 0: none are."""
FIFO: Final = 16
"""1: priorities change nothing."""
DEFAULT_PRIORITY: Final = 17
"""What a group is raised to where no priority is said."""
REMEMBERS: Final = 18
"""1: groups can be raised by themselves, so what has been there is not forgotten."""
WAITS: Final = 19
"""1: a message for which no destination is left waits."""
UNASSIGNED: Final = 20
"""The queue of messages that wait for a destination to be ready."""
INVALID: Final = 21
INVALID_CHOICE: Final = 22
"""1 where an own rule has chosen what is none of the members, and what."""
COMPLETIONS: Final = 23
"""Where the heap of completions begins."""
TOUCHED: Final = 24
"""Where the queues stand whose readers are to look for work, ascending."""
ELIGIBLE: Final = 25
"""Where rows of who is eligible begin, one for each class."""
DESTINATIONS: Final = 26
"""Where the destinations begin, by member of the rule."""
GROUP_OF: Final = 27
"""Where it stands by a group's number: its first row, or NONE."""
TENANT_OF: Final = 28
SHARE_OF: Final = 29
"""... by a tenant's number: by how much one unit of cost moves its tag."""
BOUND: Final = 30
"""... by what messages are bound by: the member they are bound to, or NONE."""
REDELIVERIES: Final = 31
"""As ELIGIBLE, for what is routed anew."""
ACK_TIMEOUT: Final = 32
"""Microseconds in which what is watched is to be acknowledged; 0: nothing is watched."""
OLDEST_WATCH: Final = 33
YOUNGEST_WATCH: Final = 34
"""The first and the last watch, by deadline."""
FREE_WATCH: Final = 35
WATCHES_LEFT: Final = 36
SIZE: Final = 37

# Phases of an instant.
CLOSED: Final = 0
"""It is over, or has not started."""
COMPLETING: Final = 1
OPEN: Final = 2
"""Completions are over, messages may arrive; then readers look for work."""
