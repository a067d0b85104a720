"""Destinations, outcomes and levels over time, with the changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.balance.message import ROUTED
from fairlead.report import changes
from fairlead.results.summary import OverTime, Series, Summary
from fairlead.text import LONGEST_NAME, ShortNames, date, every, moment, plural, visible
from fairlead.web.charts import OTHERS, PALETTE, Axis, Layer, Mark, stacked
from fairlead.web.parts import Figure, table

MAX_LABELS: Final = 12
"""Numbers of changes that have room above a chart on a phone."""
MAX_LEVELS: Final = 12
CHANGE: Final = ("dash", "a change, by its number")
OUTCOMES: Final = {
    ROUTED: PALETTE[2],
    "no-destination": PALETTE[3],
    "unknown-queue": PALETTE[1],
    "put-inhibited": PALETTE[4],
    "lost": PALETTE[6],
    "rolled-back": PALETTE[1],
    "released": PALETTE[4],
    "refused": PALETTE[7],
    "acknowledged": PALETTE[8],
    "nack": PALETTE[5],
    "timeout": PALETTE[10],
}
"""Colours. What happens under ibm-mq alone shares them with what ends attempts of a replay."""


def counted(run: Summary) -> str:
    """What a chart counts: rows of decisions, which are messages where each has one."""
    return "decisions" if run.several_each else "messages"


def destinations(run: Summary, names: ShortNames) -> list[Figure]:
    """Who got how much when; nothing where nobody got anything."""
    return [
        _chart(run, period, layers, title, parts=False)
        for period, title in _seen(run)
        if (layers := _by_destination(period, names))
    ]


def levels(run: Summary, names: ShortNames) -> list[Figure]:
    """What each priority got, cluster by cluster; nothing where there is one only."""
    whole = run.for_report.over_time
    clusters = dict.fromkeys(level.cluster or "" for level in whole.levels) if whole else ()
    return [
        _chart(run, period, layers, f"{_of(cluster, names)}{title}", parts=True)
        for cluster in clusters
        for period, title in _seen(run)
        if (layers := _by_level(period, cluster))
    ]


def _seen(run: Summary) -> list[tuple[OverTime, str]]:
    facts = run.for_report
    both = (facts.over_time, "All the time"), (facts.around_changes, "Around the changes")
    return [(period, title) for period, title in both if period is not None]


def _of(cluster: str, names: ShortNames) -> str:
    return f"{visible(cluster, LONGEST_NAME)}: " if names.with_cluster else ""


def outcomes(run: Summary) -> list[Figure]:
    """A chart of outcomes; nothing where all are the same."""
    whole = run.for_report.over_time
    if whole is None or len(whole.outcomes) < 2:
        return []
    return [_chart(run, whole, _by_outcome(whole), "Outcomes over time", parts=False)]


def _by_destination(seen: OverTime, names: ShortNames) -> list[Layer]:
    layers = []
    for k, destination in enumerate(seen.destinations):
        if destination.cluster is None or destination.name is None:
            layers.append(Layer("all others", OTHERS, destination.counts))
        else:
            layers.append(
                Layer(
                    names(destination.cluster, destination.subject, destination.name),
                    PALETTE[k],
                    destination.counts,
                )
            )
    return layers


def _by_level(seen: OverTime, cluster: str) -> list[Layer]:
    priorities = [level for level in seen.levels if level.cluster == cluster]
    first, rest = priorities[:MAX_LEVELS], priorities[MAX_LEVELS:]
    layers = [
        Layer(f"priority {priority.name}", PALETTE[k], priority.counts)
        for k, priority in enumerate(first)
    ]
    if rest:
        layers.append(Layer("all other priorities", OTHERS, _sum(rest)))
    return layers


def _sum(series: Sequence[Series]) -> list[int]:
    return [sum(counts) for counts in zip(*(level.counts for level in series), strict=True)]


def _by_outcome(seen: OverTime) -> list[Layer]:
    return [
        Layer(str(outcome.name), OUTCOMES.get(str(outcome.name), OTHERS), outcome.counts)
        for outcome in sorted(seen.outcomes, key=lambda each: each.name != ROUTED)
    ]


def _chart(run: Summary, seen: OverTime, layers: list[Layer], title: str, *, parts: bool) -> Figure:
    axis = _axis(seen)
    marks = _marks(run, seen, dates=axis.dates)
    times = [moment(seen.start + k * seen.width) for k in range(len(axis.starts))]
    what = counted(run)
    about = f"Parts of the {what}" if parts else what.capitalize()
    about += f" in each {every(seen.width)}"
    listing = table(
        ["from", *(layer.name for layer in layers)],
        [[time, *(f"{layer.counts[k]:,}" for layer in layers)] for k, time in enumerate(times)],
    )
    change_marks = [mark for mark in marks if not mark.follows]
    signs = [CHANGE] if change_marks else []
    signs += [("dot", "a follow-up step")] if len(change_marks) < len(marks) else []
    return Figure(
        title,
        about,
        stacked(layers, axis, marks, what, parts=parts),
        f"{title}: {about}, from {times[0]} on, as stacked bars of "
        f"{len(layers)} series, with {plural(len(change_marks), 'change')} marked.",
        layers,
        listing,
        signs,
        stacked=True,
    )


def _axis(seen: OverTime) -> Axis:
    number = _bins(seen)
    dates = all(date(seen.start + k * seen.width) is not None for k in (0, number))
    starts = [place(seen.start + k * seen.width, dates=dates) for k in range(number)]
    return Axis(starts, place(seen.width, dates=dates), dates)


def _bins(seen: OverTime) -> int:
    return max(len(outcome.counts) for outcome in seen.outcomes)


def place(micros: int, *, dates: bool) -> float:
    """On a chart's axis: milliseconds, or seconds; whole ones as such, which are shorter."""
    unit = 1_000 if dates else 1_000_000
    return micros // unit if micros % unit == 0 else micros / unit


def _marks(run: Summary, seen: OverTime, *, dates: bool) -> list[Mark]:
    """The steps inside, one line a bin; changes that stand close together share their numbers."""
    end = seen.start + seen.width * _bins(seen)
    words = {step.time: ", ".join(step.changes) for step in run.for_report.changes.first}
    inside = [
        (k, phase.since, phase.follows)
        for k, phase in zip(changes.numbers(run.phases), run.phases, strict=True)
        if phase.since is not None and seen.start <= phase.since < end
    ]
    change_times = [(k, time) for k, time, follows in inside if not follows]
    called = labels(change_times, (end - seen.start) // MAX_LABELS)
    drawn: dict[int, Mark] = {}
    for k, time in change_times:
        text = visible(f"{k}: {words.get(time, moment(time))}")
        mark = Mark(place(time, dates=dates), called.get(k, ""), text)
        drawn.setdefault((time - seen.start) // seen.width, mark)
    for k, time, follows in inside:
        if follows:
            mark = Mark(place(time, dates=dates), "", f"a follow-up step after change {k}", follows)
            drawn.setdefault((time - seen.start) // seen.width, mark)
    return list(drawn.values())


def labels(changes: Sequence[tuple[int, int]], room: int) -> dict[int, str]:
    """The numbers to be written, each at the first of the changes that share its room."""
    together: list[list[int]] = []
    begins = 0
    for k, time in changes:
        if together and time - begins < room:
            together[-1].append(k)
        else:
            together.append([k])
            begins = time
    return {
        numbers[0]: "-".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
        for numbers in together
    }
