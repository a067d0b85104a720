"""Heaps that share one table of members: any number of them, each named by its root.

A pairing heap: melding is one comparison, and a member can be taken out wherever it stands; both
without any room but three columns of the member's own row.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from typing import Final

from fairlead.balance.rules.integers import Ints

NONE: Final = -1
FIRST: Final = 0
"""Columns of a member: its key, lowest first, keys of one heap being unique; then its links."""
SECOND: Final = 1
CHILD: Final = 2
SIBLING: Final = 3
BEFORE: Final = 4
"""The member whose first child this is, or the sibling on its left."""
PLACED: Final = 5
"""1 while it is in a heap."""
LINKS: Final = 6
"""How many columns that takes."""


def ahead(m: Ints, i: int, j: int) -> bool:
    """Whether member i comes before member j."""
    if m[i + FIRST] != m[j + FIRST]:
        return m[i + FIRST] < m[j + FIRST]
    return m[i + SECOND] < m[j + SECOND]


def meld(m: Ints, i: int, j: int) -> int:
    """The root of two heaps made one; either may be NONE."""
    if i == NONE:
        return j
    if j == NONE:
        return i
    if ahead(m, j, i):
        i, j = j, i
    child = m[i + CHILD]
    m[j + SIBLING] = child
    if child != NONE:
        m[child + BEFORE] = j
    m[j + BEFORE] = i
    m[i + CHILD] = j
    return i


def put(m: Ints, root: int, i: int) -> int:
    """The root after member i, which is in no heap, has come in; its key is set."""
    m[i + CHILD] = m[i + SIBLING] = m[i + BEFORE] = NONE
    m[i + PLACED] = 1
    return meld(m, root, i)


def out(m: Ints, root: int, i: int) -> int:
    """The root after member i has been taken out."""
    m[i + PLACED] = 0
    below = paired(m, m[i + CHILD])
    if i == root:
        return below
    left, right = m[i + BEFORE], m[i + SIBLING]
    if m[left + CHILD] == i:
        m[left + CHILD] = right
    else:
        m[left + SIBLING] = right
    if right != NONE:
        m[right + BEFORE] = left
    return meld(m, root, below)


def paired(m: Ints, i: int) -> int:
    """The root of the heap of member i and all siblings on its right."""
    done = NONE
    while i != NONE:
        j = m[i + SIBLING]
        after = NONE
        if j != NONE:
            after = m[j + SIBLING]
            m[j + SIBLING] = NONE
        m[i + SIBLING] = NONE
        both = meld(m, i, j)
        m[both + SIBLING] = done
        done = both
        i = after
    root = NONE
    while done != NONE:
        after = m[done + SIBLING]
        m[done + SIBLING] = NONE
        root = meld(m, root, done)
        done = after
    if root != NONE:
        m[root + BEFORE] = NONE
    return root


COMPILED = (ahead, meld, put, paired, out)
