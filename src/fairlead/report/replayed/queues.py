"""How many messages waited over time, and what happened to the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.report.changes import LONGEST_CHANGE, MOST_STEPS
from fairlead.report.charts import Mark
from fairlead.report.markup import Html, tag
from fairlead.report.over_time import MOST_LABELS, labels, place
from fairlead.report.parts import MOST_ROWS, figure, key, numbers, section, table
from fairlead.report.replayed.plots import Line, lines
from fairlead.report.replayed.shown import LEFT_IN, Drawn, Shown
from fairlead.results.comparison import Queue
from fairlead.results.summary import Step
from fairlead.text import date, every, moment, plural, visible

MOST_SCENARIOS: Final = 3
"""Named beside a change that not all have."""
WHOLE: Final = 100
"""A mean from which on is told without a fraction."""


@dataclass(frozen=True)
class Happened:
    """The changes of one time, and the drawn scenarios that have them; "": all."""

    step: Step
    where: str

    @property
    def text(self) -> str:
        """The changes in words."""
        told = ", ".join(visible(change, LONGEST_CHANGE) for change in self.step.changes)
        more = f" and {self.step.more:,} more" if self.step.more else ""
        return f"{told}{more}" + (f" (in {self.where})" if self.where else "")


def over_time(shown: Shown) -> Html | None:
    """The section; None where no message arrived in any scenario."""
    queues = [(each, each.scenario.queue) for each in shown.drawn]
    found = [(each, queue) for each, queue in queues if queue is not None and queue.waiting]
    if not found:
        return None
    steps = happened(shown.drawn)
    return section(
        "queues", "Messages waiting over time", _chart(shown, found, steps), _listed(shown, steps)
    )


def _chart(shown: Shown, found: Sequence[tuple[Drawn, Queue]], steps: Sequence[Happened]) -> Html:
    ends = [(queue.start, queue.start + queue.width * len(queue.waiting)) for _, queue in found]
    first, last = min(a for a, _ in ends), max(b for _, b in ends)
    dates = date(first) is not None and date(last) is not None
    width = max(queue.width for _, queue in found)
    marks = _marks(steps, first, last, width, dates=dates)
    series = [Line(each.name, _points(queue, dates=dates)) for each, queue in found]
    entries = [key("dash", "a change, by its number")] if marks else []
    most = "; ".join(f"{each.quoted} {_mean(max(queue.waiting))} at most" for each, queue in found)
    return figure(
        "All the time",
        f"The mean of each {every(width)}",
        lines(
            series,
            shown.layers,
            marks,
            dates=dates,
        ),
        f"Messages waiting, from {moment(first)} to {moment(last)}, as lines of the mean of each "
        f"{every(width)}: {most}.",
        shown.legend(*entries),
        numbers(_table(found)),
    )


def _points(queue: Queue, *, dates: bool) -> list[tuple[float, float]]:
    """Where each bin begins, with what waits in it; the last one goes on to its end."""
    ends = [queue.start + k * queue.width for k in range(len(queue.waiting) + 1)]
    waiting = (float(f"{n:.6g}") for n in (*queue.waiting, queue.waiting[-1]))
    return [(place(at, dates=dates), n) for at, n in zip(ends, waiting, strict=True)]


def _mean(n: float) -> str:
    return f"{n:,.0f}" if n >= WHOLE else f"{n:.3g}"


def _table(found: Sequence[tuple[Drawn, Queue]]) -> Html:
    waiting = [{q.start + k * q.width: n for k, n in enumerate(q.waiting)} for _, q in found]
    times = sorted({at for own in waiting for at in own})
    return table(
        ["from", *(each.name for each, _ in found)],
        [
            [moment(at), *("" if at not in own else _mean(own[at]) for own in waiting)]
            for at in times[:MOST_ROWS]
        ],
        total=len(times),
        left_in=LEFT_IN,
    )


def happened(drawn: Sequence[Drawn]) -> list[Happened]:
    """The changes of all drawn scenarios by time; equal ones are told once."""
    found: dict[tuple[int, tuple[str, ...], int], tuple[Step, list[str]]] = {}
    for each in drawn:
        for step in each.scenario.changes.first if each.scenario.changes else ():
            same = (step.time, tuple(step.changes), step.more)
            found.setdefault(same, (step, []))[1].append(each.quoted)
    return [
        Happened(step, "" if len(where) == len(drawn) else _where(where))
        for _, (step, where) in sorted(found.items())
    ]


def _where(names: Sequence[str]) -> str:
    more = len(names) - MOST_SCENARIOS
    told = ", ".join(names[:MOST_SCENARIOS])
    return f"{told} and {more} more" if more > 0 else told


def _marks(
    steps: Sequence[Happened], first: int, last: int, width: int, *, dates: bool
) -> list[Mark]:
    """The steps inside, one line a bin; those that stand close together share their numbers."""
    inside = [(k, each) for k, each in enumerate(steps, 1) if first <= each.step.time < last]
    called = labels([(k, each.step.time) for k, each in inside], (last - first) // MOST_LABELS)
    drawn: dict[int, Mark] = {}
    for k, each in inside:
        at = place(each.step.time, dates=dates)
        mark = Mark(at, called.get(k, ""), visible(f"{k}: {each.text}"))
        drawn.setdefault((each.step.time - first) // width, mark)
    return list(drawn.values())


def _listed(shown: Shown, steps: Sequence[Happened]) -> Html | str:
    """The changes as a numbered list."""
    if not steps:
        return tag("p", "Nothing changed in the clusters.", class_="soft")
    items = [tag("li", tag("b", moment(each.step.time)), f": {each.text}") for each in steps]
    rest = items[MOST_STEPS:MOST_ROWS]
    folded = tag(
        "details",
        tag("summary", plural(len(rest), "more change")),
        tag("ol", *rest, class_="steps", start=MOST_STEPS + 1),
    )
    times = [each.scenario.changes.times for each in shown.drawn if each.scenario.changes]
    left = max(len(steps), *times) - len(items[:MOST_STEPS]) - len(rest)
    told = "… more in each scenario's manifest.json"
    return tag(
        "div",
        tag("h3", "What changed"),
        tag("ol", *items[:MOST_STEPS], class_="steps"),
        folded if rest else "",
        tag("p", told, class_="soft") if left > 0 else "",
    )
