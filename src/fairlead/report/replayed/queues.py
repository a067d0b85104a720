"""How many messages waited over time, and what happened to the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.report.changes import ListedChanges, in_words
from fairlead.report.over_time import CHANGE, MAX_LABELS, labels, place
from fairlead.report.replayed.plots import PlotLine, Up, lines
from fairlead.report.replayed.shown import LEFT_IN, Drawn, Shown
from fairlead.results.comparison import QueueLength
from fairlead.results.summary import ChangeStep
from fairlead.text import date, every, moment, visible
from fairlead.web.charts import Mark
from fairlead.web.parts import MAX_ROWS, Figure, PageTable, table

MAX_SCENARIOS: Final = 3
"""Named beside a change that not all have."""
WHOLE: Final = 100
"""A mean from which on is shown without a fraction."""


def over_time(shown: Shown) -> list[Figure]:
    """A chart; none where no message arrived in any scenario."""
    queues = [(entry, entry.scenario.queue) for entry in shown.drawn]
    pairs = [(entry, queue) for entry, queue in queues if queue is not None and queue.waiting]
    return [_chart(shown, pairs)] if pairs else []


def _chart(shown: Shown, found: Sequence[tuple[Drawn, QueueLength]]) -> Figure:
    ends = [(queue.start, queue.start + queue.width * len(queue.waiting)) for _, queue in found]
    first, last = min(a for a, _ in ends), max(b for _, b in ends)
    dates = date(first) is not None and date(last) is not None
    width = max(queue.width for _, queue in found)
    marks = marks_of(happened(shown.drawn), first, last, width, dates=dates)
    series = [
        PlotLine(entry.name, points(queue.start, queue.width, queue.waiting, dates=dates))
        for entry, queue in found
    ]
    most = "; ".join(
        f"{entry.quoted} {_mean(max(queue.waiting))} at most" for entry, queue in found
    )
    return Figure(
        "All the time",
        f"The mean of each {every(width)}",
        lines(series, shown.layers, marks, counted(), dates=dates),
        f"Messages waiting, from {moment(first)} to {moment(last)}, as lines of the mean of each "
        f"{every(width)}: {most}.",
        shown.legend,
        _table(found),
        [CHANGE] if marks else [],
    )


def counted() -> Up:
    """An axis of how many."""
    import altair as alt

    # "~s" would say 500m for a half.
    label = "format(datum.value, datum.value < 1 ? '~g' : '~s')"
    axis = alt.Axis(title=None, labelExpr=label, tickCount=4)
    return Up("waiting, mean", "format(datum.n, ',.6~r')", axis, alt.Scale())


def points(
    start: int, width: int, values: Sequence[float | None], *, dates: bool
) -> list[tuple[float, float | None]]:
    """Where each bin begins, with its value; the last one goes on to its end."""
    ends = [start + k * width for k in range(len(values) + 1)]
    rounded = (None if n is None else float(f"{n:.6g}") for n in (*values, values[-1]))
    return [(place(at, dates=dates), n) for at, n in zip(ends, rounded, strict=True)]


def _mean(n: float) -> str:
    return f"{n:,.0f}" if n >= WHOLE else f"{n:.3g}"


def _table(found: Sequence[tuple[Drawn, QueueLength]]) -> PageTable:
    waiting = [{q.start + k * q.width: n for k, n in enumerate(q.waiting)} for _, q in found]
    times = sorted({at for column in waiting for at in column})
    return table(
        ["from", *(entry.name for entry, _ in found)],
        [
            [moment(at), *("" if at not in column else _mean(column[at]) for column in waiting)]
            for at in times[:MAX_ROWS]
        ],
        total=len(times),
        left_in=LEFT_IN,
    )


def happened(drawn: Sequence[Drawn]) -> list[tuple[int, str]]:
    """(time, changes) of all drawn scenarios; equal ones stand once, with those that have them."""
    steps: dict[tuple[int, tuple[str, ...], int], tuple[ChangeStep, list[str]]] = {}
    for entry in drawn:
        for step in entry.scenario.changes.first if entry.scenario.changes else ():
            same = (step.time, tuple(step.changes), step.more)
            steps.setdefault(same, (step, []))[1].append(entry.quoted)
    return [
        (step.time, in_words(step) + ("" if len(where) == len(drawn) else _where(where)))
        for _, (step, where) in sorted(steps.items())
    ]


def _where(names: Sequence[str]) -> str:
    more = len(names) - MAX_SCENARIOS
    listed = ", ".join(names[:MAX_SCENARIOS])
    return f" (in {listed} and {more} more)" if more > 0 else f" (in {listed})"


def marks_of(
    steps: Sequence[tuple[int, str]], first: int, last: int, width: int, *, dates: bool
) -> list[Mark]:
    """The steps inside, one line a bin; those that stand close together share their numbers."""
    inside = [(k, *step) for k, step in enumerate(steps, 1) if first <= step[0] < last]
    called = labels([(k, time) for k, time, _ in inside], (last - first) // MAX_LABELS)
    drawn: dict[int, Mark] = {}
    for k, time, text in inside:
        mark = Mark(place(time, dates=dates), called.get(k, ""), visible(f"{k}: {text}"))
        drawn.setdefault((time - first) // width, mark)
    return list(drawn.values())


def listed(shown: Shown) -> ListedChanges:
    """The changes of the drawn scenarios."""
    steps = [(moment(time), text) for time, text in happened(shown.drawn)]
    times = [entry.scenario.changes.times for entry in shown.drawn if entry.scenario.changes]
    left = max(len(steps), *times, 0) > len(steps[:MAX_ROWS])
    return ListedChanges(
        steps[:MAX_ROWS], "… more in each scenario's manifest.json" if left else ""
    )
