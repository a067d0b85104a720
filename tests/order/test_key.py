"""The keys: what their docstrings say, and that the compiled ones are the same."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from fairlead.compiled.kernels import kernels
from fairlead.order import key as module
from fairlead.order.key import UNRAISED, Entry, charged, joined, key

PRIORITIES = [UNRAISED, 0, 1, 100, 255]
times = st.integers(-(10**16), 10**16)
entries = st.builds(Entry, st.integers(UNRAISED, 255), times, st.integers(1, 10**12))
steps = st.sampled_from([0, 1, 1_000_000, 10**15])


def test_priority_then_entry_then_number() -> None:
    every = [Entry(*each) for each in product(PRIORITIES, [1, 2], [3, 4])]
    expected = sorted(every, key=lambda e: (-e.priority, e.entered, e.number))
    assert sorted(every, key=lambda e: key(e, 0)) == expected
    assert [e.priority for e in expected[::4]] == [255, 100, 1, 0, UNRAISED]


@given(entries, entries, st.integers(1, 10**15))
def test_ageing_lets_one_be_overtaken_for_as_long_as_the_priorities_differ(
    one: Entry, other: Entry, step: int
) -> None:
    head_start = (other.priority - one.priority) * step
    if other.entered > one.entered + head_start:
        assert key(one, step) < key(other, step)
    if other.entered < one.entered + head_start:
        assert key(other, step) < key(one, step)


@given(entries, entries, st.integers(1, 10**15), times)
def test_ageing_never_saturates(one: Entry, other: Entry, step: int, later: int) -> None:
    """The order of two does not depend on when one looks, or when it all began."""
    moved = [entry._replace(entered=entry.entered + later) for entry in (one, other)]
    assert (key(one, step) < key(other, step)) == (key(moved[0], step) < key(moved[1], step))


@given(entries, steps, times, times, st.integers(-1000, 1000), st.integers(1, 1000))
def test_compiled_they_are_the_same(
    entry: Entry, step: int, tag: int, clock: int, cost: int, share: int
) -> None:
    compiled = kernels(module)
    assert compiled.key(entry, step) == key(entry, step)
    assert compiled.joined(tag, clock) == joined(tag, clock)
    assert compiled.charged(tag, cost, share) == charged(tag, cost, share)
