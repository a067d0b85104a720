"""The beginning of the page: how many, where to, when, and how far from the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.balance.message import ROUTED
from fairlead.report import deviation
from fairlead.report.changes import titles
from fairlead.results.summary import Summary
from fairlead.text import ShortNames, duration, moment, plural, visible
from fairlead.web.parts import Tile


@dataclass(frozen=True)
class Head:
    """What a reader should know who reads nothing else."""

    kind: str
    title: str
    tiles: Sequence[Tile]
    lead: str
    warnings: Sequence[str] = ()


def headline(run: Summary, names: ShortNames) -> Head:
    """The headline of the page about a dispatch."""
    policies = run.for_report.policies
    under = (
        f"under {policies.shown[0].policy}"
        if policies.number == 1
        else f"among {policies.number:,} clusters"
    )
    return Head(
        "dispatch",
        f"{short(run.for_report.made.messages)} {under}{_through(run)}",
        _tiles(run),
        _when(run) + deviation.text(run.phases, names),
    )


def _through(run: Summary) -> str:
    changes = run.for_report.changes
    if not changes.number:
        return ""
    times = f" at {plural(changes.times, 'time')}" if changes.times < changes.number else ""
    return f", through {plural(changes.number, 'change')}{times}"


def _when(run: Summary) -> str:
    """Where the largest deviation is, if it could be in several places."""
    largest = deviation.largest(run.phases)
    if largest is None or len(run.phases) == 1:
        return "The largest deviation: " if largest else ""
    called = zip(titles(run.phases), run.phases, strict=True)
    title = next(title for title, phase in called if phase is largest.phase)
    return f"The largest deviation: {title}, "


def _tiles(run: Summary) -> list[Tile]:
    tiles = [Tile("messages in", f"{run.read:,}")]
    for outcome, n in run.outcomes.items():
        term = f"decisions: {outcome}" if run.several_each else outcome
        tiles.append(Tile(term, f"{n:,}", "good" if outcome == ROUTED else "bad"))
    tiles.append(Tile("rejected", f"{run.rejected:,}", "bad" if run.rejected else ""))
    period = run.for_report.period
    if period is not None:
        length = duration(period.last - period.first)
        first, last = moment(period.first), moment(period.last)
        tiles.append(Tile(f"period: {length}", first, "wide", until=last))
    return tiles


def short(place: str) -> str:
    """The last part of a path."""
    return visible(place.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or place)
