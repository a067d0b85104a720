"""Heaps of rows: any number of them in one array, each named by its root.

A pairing heap: melding is one comparison, and a row can be taken out wherever it stands; both
without any room but the cells that `layout/links.py` says, with which each row begins.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.layout import NONE, links


def ahead(m: Ints, i: int, j: int) -> bool:
    """Whether row i comes before row j."""
    if m[i + links.FIRST] != m[j + links.FIRST]:
        return m[i + links.FIRST] < m[j + links.FIRST]
    return m[i + links.SECOND] < m[j + links.SECOND]


def meld(m: Ints, i: int, j: int) -> int:
    """The root of two heaps made one; either may be NONE."""
    if i == NONE:
        return j
    if j == NONE:
        return i
    if ahead(m, j, i):
        i, j = j, i
    child = m[i + links.CHILD]
    m[j + links.SIBLING] = child
    if child != NONE:
        m[child + links.BEFORE] = j
    m[j + links.BEFORE] = i
    m[i + links.CHILD] = j
    return i


def put(m: Ints, root: int, i: int) -> int:
    """The root after row i, which is in no heap, has come in; its key is set."""
    m[i + links.CHILD] = m[i + links.SIBLING] = m[i + links.BEFORE] = NONE
    m[i + links.PLACED] = 1
    return meld(m, root, i)


def out(m: Ints, root: int, i: int) -> int:
    """The root after row i has been taken out."""
    m[i + links.PLACED] = 0
    below = paired(m, m[i + links.CHILD])
    if i == root:
        return below
    left, right = m[i + links.BEFORE], m[i + links.SIBLING]
    if m[left + links.CHILD] == i:
        m[left + links.CHILD] = right
    else:
        m[left + links.SIBLING] = right
    if right != NONE:
        m[right + links.BEFORE] = left
    return meld(m, root, below)


def paired(m: Ints, i: int) -> int:
    """The root of the heap of row i and all siblings on its right."""
    done = NONE
    while i != NONE:
        j = m[i + links.SIBLING]
        after = NONE
        if j != NONE:
            after = m[j + links.SIBLING]
            m[j + links.SIBLING] = NONE
        m[i + links.SIBLING] = NONE
        both = meld(m, i, j)
        m[both + links.SIBLING] = done
        done = both
        i = after
    root = NONE
    while done != NONE:
        after = m[done + links.SIBLING]
        m[done + links.SIBLING] = NONE
        root = meld(m, root, done)
        done = after
    if root != NONE:
        m[root + links.BEFORE] = NONE
    return root


COMPILED = (ahead, meld, put, paired, out)
