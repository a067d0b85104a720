"""The keys: what their docstrings say, and that the compiled ones are the same."""

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.compiled.kernels import kernels
from fairlead.order import key as module
from fairlead.order.key import (
    UNRAISED,
    Entry,
    key,
)

PRIORITIES = [UNRAISED, 0, 1, 100, 255]
times = st.integers(-(10**16), 10**16)
entries = st.builds(Entry, st.integers(UNRAISED, 255), times, st.integers(1, 10**12))
steps = st.sampled_from([0, 1, 1_000_000, 10**15])


def test_priority_then_entry() -> None:
    """An earlier number was never entered later, so the number alone says who was entered first."""
    every = [Entry(p, t, 2 * t + n) for p, t, n in product(PRIORITIES, [1, 2], [0, 1])]
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


@given(
    *(entries, entries, st.booleans(), steps, times, times),
    *(st.integers(-1000, 1000), st.integers(1, 1000), st.integers(0, 10**12)),
)
def test_compiled_they_are_the_same(
    entry: Entry,
    was: Entry,
    locked: bool,
    step: int,
    tag: int,
    clock: int,
    cost: int,
    share: int,
    number: int,
) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "standing": (entry, clock, number, locked, step),
        "key": (entry, step),
        "charged": (tag, cost, share),
        "joined": (tag, clock, number),
        "taken": (tag, clock, cost, share, number),
        "reentered": (entry, was),
        "restored": (tag, number, step, cost, share),
    }
    assert list(arguments) == [function.__name__ for function in module.COMPILED]
    for function in module.COMPILED:
        given_ = arguments[function.__name__]
        assert getattr(kernels(module), function.__name__)(*given_) == function(*given_)
