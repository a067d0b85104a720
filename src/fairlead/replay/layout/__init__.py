"""What stands where in the one array of int64 that the kernel keeps everything in.

The array is a `header`, then rows of many kinds and lists. A row is known by where it begins, and a
module here says what is in a row of one kind: `m[j + job.START]` is the start of job `j`, and
`job.SIZE` is how many cells a job has. Functions of the kernel call rows by one letter:

    j   job             one message on its way to one destination, or an attempt of it that is over
    g   group           a conversation group at one queue
    t   tenant          a tenant at one queue
    q   queue           where messages wait together for readers
    r   reader
    d   completion      of what a reader works on, to come
    w   watch           the time in which a copy is to be acknowledged
    v   eligible        what a message of a class can meet, as the cluster is now
        destination     as the cluster is now, by its place among the rule's members
        arrival         a message that comes in
        links           the first cells of what stands in a heap: groups and tenants
"""

from __future__ import annotations

from typing import Final

NONE: Final = -1
"""No row, no number, nothing said."""
BEFORE_ALL: Final = -(1 << 62)
NEVER: Final = BEFORE_ALL
"""The time of what has not happened."""
