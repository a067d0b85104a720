"""The beginning of the page: how many, where to, when, and how far from the weights."""

from __future__ import annotations

from fairlead.report import deviation
from fairlead.report.changes import titles
from fairlead.report.markup import Child, Html, tag, together
from fairlead.results.summary import Summary
from fairlead.text import Names, duration, moment, plural, visible

ROUTED = "routed"


def headline(run: Summary, names: Names) -> Html:
    """What a reader should know who reads nothing else."""
    policies = run.told.policies
    under = (
        f"under {policies.shown[0].policy}"
        if policies.number == 1
        else f"among {policies.number:,} clusters"
    )
    return tag(
        "header",
        tag("p", "Fairlead dispatch report", class_="soft"),
        tag("h1", f"{short(run.told.made.messages)} {under}{_through(run)}"),
        _tiles(run),
        tag("p", _when(run), deviation.told(run.phases, names), class_="lead"),
    )


def _through(run: Summary) -> str:
    changes = run.told.changes
    if not changes.number:
        return ""
    times = f" at {plural(changes.times, 'time')}" if changes.times < changes.number else ""
    return f", through {plural(changes.number, 'change')}{times}"


def _when(run: Summary) -> str:
    """Where the largest deviation is, if it could be in several places."""
    found = deviation.largest(run.phases)
    if found is None or len(run.phases) == 1:
        return "The largest deviation: " if found else ""
    called = zip(titles(run.phases), run.phases, strict=True)
    title = next(title for title, phase in called if phase is found.phase)
    return f"The largest deviation: {title}, "


def _tiles(run: Summary) -> Html:
    tiles = [tile("messages in", f"{run.read:,}")]
    for outcome, n in run.outcomes.items():
        term = f"decisions: {outcome}" if run.several_each else outcome
        tiles.append(tile(term, f"{n:,}", "good" if outcome == ROUTED else "bad"))
    tiles.append(tile("rejected", f"{run.rejected:,}", "bad" if run.rejected else ""))
    period = run.told.period
    if period is not None:
        length = duration(period.last - period.first)
        first, last = (tag("span", moment(time)) for time in (period.first, period.last))
        tiles.append(tile(f"period: {length}", together([first, " to ", last]), "wide"))
    return tag("dl", *tiles, class_="tiles")


def short(place: str) -> str:
    """The last part of a path."""
    return visible(place.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or place)


def tile(term: str, value: Child, kind: str = "") -> Html:
    """A number and what it is."""
    return tag("div", tag("dt", term), tag("dd", value), class_=kind or None)
