"""Destinations, outcomes and levels over time, with the changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.report.charts import OTHERS, PALETTE, Axis, Layer, Mark, stacked
from fairlead.report.markup import Html, tag
from fairlead.report.parts import figure, key, legend, numbers, section, table
from fairlead.report.told import OverTime, Run, Series
from fairlead.report.words import Names, date, every, moment, plural, visible

NEAR: Final = 25
"""Two changes closer than one part of so many of the whole time share a number."""
MOST_LEVELS: Final = 12
OUTCOMES: Final = {
    "routed": PALETTE[2],
    "no-destination": PALETTE[3],
    "unknown-queue": PALETTE[1],
    "put-inhibited": PALETTE[4],
}


def destinations(run: Run, names: Names) -> Html:
    """The section: who got how much when, and what happened to the cluster."""
    whole, close = run.facts.over_time, run.facts.around_changes
    figures = [
        _chart(run, each, _by_destination(each, names), title, parts=False)
        for each, title in ((whole, "All the time"), (close, "Around the changes"))
        if each is not None
    ]
    return section(
        "destinations",
        "Destinations over time",
        *(figures or [tag("p", "No message was decided.")]),
        _steps(run),
    )


def levels(run: Run) -> Html | None:
    """The section: what each priority got; None where there is one only."""
    whole, close = run.facts.over_time, run.facts.around_changes
    if whole is None or not whole.levels:
        return None
    figures = [
        _chart(run, each, _by_level(each), title, parts=True)
        for each, title in ((whole, "All the time"), (close, "Around the changes"))
        if each is not None
    ]
    return section("levels", "Levels in use", *figures)


def outcomes(run: Run) -> Html | None:
    """A chart of outcomes; None where all are the same."""
    whole = run.facts.over_time
    if whole is None or len(whole.outcomes) < 2:
        return None
    return _chart(run, whole, _by_outcome(whole), "Outcomes over time", parts=False)


def _by_destination(seen: OverTime, names: Names) -> list[Layer]:
    found = []
    for k, each in enumerate(seen.destinations):
        if each.cluster is None or each.name is None:
            found.append(Layer("all others", OTHERS, each.counts))
        else:
            found.append(Layer(names(each.cluster, each.name), PALETTE[k], each.counts))
    return found


def _by_level(seen: OverTime) -> list[Layer]:
    first, rest = seen.levels[:MOST_LEVELS], seen.levels[MOST_LEVELS:]
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
        for each in seen.outcomes
    ]


def _chart(run: Run, seen: OverTime, layers: list[Layer], title: str, *, parts: bool) -> Html:
    axis = _axis(seen)
    marks = _marks(run, seen)
    what = "Parts of the messages" if parts else "Messages"
    about = f"{what} in each {every(seen.width)}"
    listing = table(
        ["from", *(layer.name for layer in layers)],
        [
            [name, *(f"{layer.counts[k]:,}" for layer in layers)]
            for k, name in enumerate(axis.names)
        ],
    )
    entries = [key("dash", "a change, by its number")] if marks else []
    return figure(
        title,
        about,
        stacked(layers, axis, marks, parts=parts),
        f"{title}: {about}, from {axis.names[0]} on, as stacked bars of "
        f"{plural(len(layers), 'series')}, with {plural(len(marks), 'change')} marked.",
        legend(layers, *entries),
        numbers(listing),
        stack=True,
    )


def _axis(seen: OverTime) -> Axis:
    number = max(len(each.counts) for each in seen.outcomes)
    edges = [seen.start + k * seen.width for k in range(number + 1)]
    dates = date(edges[0]) is not None and date(edges[-1]) is not None
    unit = 1_000 if dates else 1_000_000
    places = [edge / unit for edge in edges]
    return Axis(places[:-1], places[1:], [moment(edge) for edge in edges[:-1]], dates)


def _marks(run: Run, seen: OverTime) -> list[Mark]:
    """The changes inside; those that stand close together share a line and its numbers."""
    axis = _axis(seen)
    end = seen.start + seen.width * len(axis.starts)
    near = (end - seen.start) // NEAR
    told = {step.time: ", ".join(step.changes) for step in run.facts.steps}
    together: list[list[tuple[int, int]]] = []
    for k, phase in enumerate(run.phases):
        if phase.since is None or not seen.start <= phase.since < end:
            continue
        if together and phase.since - together[-1][0][1] < near:
            together[-1].append((k, phase.since))
        else:
            together.append([(k, phase.since)])
    unit = 1_000 if axis.dates else 1_000_000
    return [
        Mark(
            each[0][1] / unit,
            str(each[0][0]) if len(each) == 1 else f"{each[0][0]} to {each[-1][0]}",
            visible("; ".join(told.get(time, "") for _, time in each)),
        )
        for each in together
    ]


def _steps(run: Run) -> Html:
    """The changes as a numbered list."""
    number = {phase.since: k for k, phase in enumerate(run.phases)}
    known = [step for step in run.facts.steps if step.time in number]
    if not known:
        return tag("p", "Nothing changed in the cluster.", class_="soft")
    items = []
    for step in known:
        more = f" and {step.more:,} more" if step.more else ""
        items.append(
            tag(
                "li",
                tag("b", moment(step.time)),
                ": " + ", ".join(visible(change) for change in step.changes) + more,
                value=number[step.time],
            )
        )
    left = len(run.phases) - 1 - len(known)
    return tag(
        "div",
        tag("h3", "What changed"),
        tag("ol", *items, class_="steps"),
        tag("p", f"… {left:,} more in journal.json", class_="soft") if left > 0 else "",
    )
