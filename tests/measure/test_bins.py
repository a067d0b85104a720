"""Narrower bins around changes: where a report looks closer."""

from fairlead.measure.bins import SECOND, Bins, around, over

HOUR = 3_600 * SECOND
WHOLE = over(0, 24 * HOUR - 1)


def test_the_time_around_changes_is_looked_at_closer() -> None:
    closer = around([2 * HOUR, 3 * HOUR], WHOLE)
    assert closer is not None
    assert closer.width < WHOLE.width
    assert closer.start <= 2 * HOUR - HOUR // 2 < closer.start + closer.width
    assert closer.end - closer.width <= 3 * HOUR + HOUR // 2 < closer.end


def test_one_change_has_the_width_of_a_bin_around_it() -> None:
    closer = around([12 * HOUR], WHOLE)
    assert closer is not None
    assert closer.start == 12 * HOUR - WHOLE.width
    assert closer.end - closer.width <= 12 * HOUR + WHOLE.width < closer.end


def test_what_ends_with_the_whole_does_not_look_beyond_it() -> None:
    for change in (0, WHOLE.end - 1):
        closer = around([change], WHOLE)
        assert closer is not None
        assert WHOLE.start <= closer.start < closer.end <= WHOLE.end


def test_changes_before_and_after_are_left_out() -> None:
    inside = around([5 * HOUR], WHOLE)
    assert around([-1, 5 * HOUR, WHOLE.end], WHOLE) == inside
    assert around([-1, WHOLE.end], WHOLE) is None
    assert around([], WHOLE) is None


def test_where_changes_are_everywhere_nothing_is_closer() -> None:
    assert around([0, 12 * HOUR], WHOLE) is None
    assert around([5], Bins(0, 1, 10)) is not None
    assert around([2, 8], Bins(0, 1, 10)) is None
