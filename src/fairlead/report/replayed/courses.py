"""How long messages waited over time, and how much readers worked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fairlead.report.over_time import CHANGE
from fairlead.report.replayed.plots import PlotLine, Up, lines
from fairlead.report.replayed.queues import happened, marks_of, points
from fairlead.report.replayed.shown import LEFT_IN, Drawn, Shown
from fairlead.report.replayed.wait_axis import wait_axis
from fairlead.text import date, every, length, moment
from fairlead.web.parts import MAX_ROWS, Figure, PageTable, table

NOTHING: Final = "-"


class Course(NamedTuple):
    """A scenario's values over time."""

    drawn: Drawn
    start: int
    width: int
    values: Sequence[float | None]

    @property
    def end(self) -> int:
        """Where the last bin ends."""
        return self.start + self.width * len(self.values)

    @property
    def most(self) -> float | None:
        """The largest value."""
        return max((value for value in self.values if value is not None), default=None)


def waits(shown: Shown) -> list[Figure]:
    """A chart of p99 and one of p50; none where nobody was started."""
    pairs = [(entry, entry.scenario.waits_over_time) for entry in shown.drawn]
    of = [(entry, bins) for entry, bins in pairs if bins is not None and any(bins.messages)]
    if not of:
        return []
    late = [Course(entry, bins.start, bins.width, bins.p99) for entry, bins in of]
    half = [Course(entry, bins.start, bins.width, bins.p50) for entry, bins in of]
    return [
        _waits(shown, late, "One message in a hundred", "p99"),
        _waits(shown, half, "Half of the messages", "p50"),
    ]


def _waits(shown: Shown, courses: Sequence[Course], title: str, name: str) -> Figure:
    axis = wait_axis([value for course in courses for value in course.values if value is not None])
    placed = [
        course._replace(values=[None if v is None else axis.place(v) for v in course.values])
        for course in courses
    ]
    up = Up(f"{name} wait", axis.words("datum.n", ",.3~r"), axis.axis, axis.scale)
    about = (
        f"The {name} wait of the messages sent in each {_width(courses)}, at most 3.2 % above the "
        "exact one; on a logarithmic scale"
    )
    most = _most(courses, length)
    return _figure(shown, title, about, placed, up, most, _table(courses, length))


def use(shown: Shown) -> list[Figure]:
    """A chart of how much of their time all readers worked."""
    import altair as alt

    pairs = [(entry, entry.scenario.use) for entry in shown.drawn]
    courses = [
        Course(entry, bins.start, bins.width, bins.utilisation)
        for entry, bins in pairs
        if bins is not None and any(bins.utilisation)
    ]
    if not courses:
        return []
    axis = alt.Axis(title=None, format=".0%", tickCount=4)
    top = max(1.0, *(course.most or 0.0 for course in courses))
    up = Up("utilisation", "format(datum.n, '.1%')", axis, alt.Scale(domain=[0, top]))
    about = f"All readers together, in each {_width(courses)}"
    most = _most(courses, _percent)
    return [_figure(shown, "Over time", about, courses, up, most, _table(courses, _percent))]


def _percent(part: float) -> str:
    return f"{part:.1%}"


def _width(courses: Sequence[Course]) -> str:
    return every(max(course.width for course in courses))


def _most(courses: Sequence[Course], told: Callable[[float], str]) -> str:
    return "; ".join(
        f"{course.drawn.quoted} {told(course.most)} at most"
        for course in courses
        if course.most is not None
    )


def _figure(
    shown: Shown,
    title: str,
    about: str,
    courses: Sequence[Course],
    up: Up,
    most: str,
    listing: PageTable,
) -> Figure:
    first, last = min(course.start for course in courses), max(course.end for course in courses)
    dates = date(first) is not None and date(last) is not None
    width = max(course.width for course in courses)
    marks = marks_of(happened(shown.drawn), first, last, width, dates=dates)
    series = [
        PlotLine(course.drawn.name, points(course.start, course.width, course.values, dates=dates))
        for course in courses
    ]
    return Figure(
        title,
        about,
        lines(series, shown.layers, marks, up, dates=dates),
        f"{title}, from {moment(first)} to {moment(last)}, as lines: {most}.",
        shown.legend,
        listing,
        [CHANGE] if marks else [],
    )


def _table(courses: Sequence[Course], told: Callable[[float], str]) -> PageTable:
    by_time = [
        {course.start + k * course.width: value for k, value in enumerate(course.values)}
        for course in courses
    ]
    times = sorted({at for column in by_time for at, value in column.items() if value is not None})
    rows = []
    for at in times[:MAX_ROWS]:
        values = [column.get(at) for column in by_time]
        rows.append([moment(at), *(NOTHING if v is None else told(v) for v in values)])
    return table(
        ["from", *(course.drawn.name for course in courses)],
        rows,
        total=len(times),
        left_in=LEFT_IN,
    )
