"""Destinations, outcomes and levels over time, with the changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.balance.message import ROUTED
from fairlead.report import changes
from fairlead.results.summary import OverTime, Series, Summary
from fairlead.text import LONGEST_NAME, Names, date, every, moment, plural, visible
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


def destinations(run: Summary, names: Names) -> list[Figure]:
    """Who got how much when; nothing where nobody got anything."""
    return [
        _chart(run, each, layers, title, parts=False)
        for each, title in _seen(run)
        if (layers := _by_destination(each, names))
    ]


def levels(run: Summary, names: Names) -> list[Figure]:
    """What each priority got, cluster by cluster; nothing where there is one only."""
    whole = run.for_report.over_time
    clusters = dict.fromkeys(each.cluster or "" for each in whole.levels) if whole else ()
    return [
        _chart(run, each, layers, f"{_of(cluster, names)}{title}", parts=True)
        for cluster in clusters
        for each, title in _seen(run)
        if (layers := _by_level(each, cluster))
    ]


def _seen(run: Summary) -> list[tuple[OverTime, str]]:
    facts = run.for_report
    both = (facts.over_time, "All the time"), (facts.around_changes, "Around the changes")
    return [(each, title) for each, title in both if each is not None]


def _of(cluster: str, names: Names) -> str:
    return f"{visible(cluster, LONGEST_NAME)}: " if names.with_cluster else ""


def outcomes(run: Summary) -> list[Figure]:
    """A chart of outcomes; nothing where all are the same."""
    whole = run.for_report.over_time
    if whole is None or len(whole.outcomes) < 2:
        return []
    return [_chart(run, whole, _by_outcome(whole), "Outcomes over time", parts=False)]


def _by_destination(seen: OverTime, names: Names) -> list[Layer]:
    found = []
    for k, each in enumerate(seen.destinations):
        if each.cluster is None or each.name is None:
            found.append(Layer("all others", OTHERS, each.counts))
        else:
            found.append(
                Layer(names(each.cluster, each.subject, each.name), PALETTE[k], each.counts)
            )
    return found


def _by_level(seen: OverTime, cluster: str) -> list[Layer]:
    own = [each for each in seen.levels if each.cluster == cluster]
    first, rest = own[:MAX_LEVELS], own[MAX_LEVELS:]
    found = [
        Layer(f"priority {each.name}", PALETTE[k], each.counts) for k, each in enumerate(first)
    ]
    if rest:
        found.append(Layer("all other priorities", OTHERS, _sum(rest)))
    return found


def _sum(series: Sequence[Series]) -> list[int]:
    return [sum(counts) for counts in zip(*(each.counts for each in series), strict=True)]


def _by_outcome(seen: OverTime) -> list[Layer]:
    return [
        Layer(str(each.name), OUTCOMES.get(str(each.name), OTHERS), each.counts)
        for each in sorted(seen.outcomes, key=lambda each: each.name != ROUTED)
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
    own = [mark for mark in marks if not mark.follows]
    signs = [CHANGE] if own else []
    signs += [("dot", "a follow-up step")] if len(own) < len(marks) else []
    return Figure(
        title,
        about,
        stacked(layers, axis, marks, what, parts=parts),
        f"{title}: {about}, from {times[0]} on, as stacked bars of "
        f"{len(layers)} series, with {plural(len(own), 'change')} marked.",
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
    return max(len(each.counts) for each in seen.outcomes)


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
    own = [(k, time) for k, time, follows in inside if not follows]
    called = labels(own, (end - seen.start) // MAX_LABELS)
    drawn: dict[int, Mark] = {}
    for k, time in own:
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
    return {each[0]: "-".join(map(str, dict.fromkeys((each[0], each[-1])))) for each in together}
