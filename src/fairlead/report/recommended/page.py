"""The page about a recommendation: what its template shows."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.report.headline import Head, short
from fairlead.report.recommended.frontier import frontier
from fairlead.results.recommendation import Held, Recommendation
from fairlead.text import length, percent, visible
from fairlead.web.pages import rendered
from fairlead.web.parts import PageTable, Tile, table

LEFT_IN = "recommendation.json"
COLUMNS = ("cost", "target", "p50 wait", "p99 wait", "longest wait", "never started")


def whole(found: Recommendation) -> str:
    """The page as text."""
    return rendered(
        "fairlead.report",
        "recommendation.html",
        found=found,
        made=found.made,
        head=headline(found),
        said=[visible(setting) for setting in found.said],
        frontier=frontier(found),
        compared=_held([found.now, found.then], "on the held-out traffic"),
        why=_held([found.then, *found.why], f"{found.then.name}, but"),
        breaks=_held([found.then, *found.breaks], "what if"),
        tried=_tried(found),
        notes=found.notes,
    )


def headline(found: Recommendation) -> Head:
    """What a reader should know who reads nothing else."""
    messages = short(found.made.messages) if found.made else "traffic"
    if found.met:
        title = (
            f"{found.target} on {messages}: cost {found.then.cost:g} instead of {found.now.cost:g}"
        )
    elif found.found:
        title = f"{found.target} on {messages}: missed on the traffic that the search never saw"
    elif found.everywhere:
        title = f"Nothing in this space meets {found.target} on {messages}"
    else:
        title = f"Nothing was found that meets {found.target} on {messages}"
    whose = "The recommended cluster" if found.met else "The nearest cluster"
    verb = "keeps" if found.then.met else "does not keep"
    lead = (
        f"{whose} {verb} the target on {found.held_out:,} messages that the search never saw: in "
        f"{found.tenths} of 10 tenths of their time, and in {percent(found.sure)} of samples of "
        "these."
    )
    tiles = [
        Tile("target", found.target),
        Tile("as in the file", length(found.now.value), "good" if found.now.met else "bad"),
        Tile(found.then.name, length(found.then.value), "good" if found.then.met else "bad"),
        Tile("cost", f"{found.now.cost:g} → {found.then.cost:g}"),
    ]
    warnings = []
    if found.found and not found.then.met:
        warnings.append("It meets the target on the traffic of the search, and not on the rest.")
    if not found.found and not found.everywhere:
        warnings.append(
            f"{len(found.tried) - 1:,} of {found.space:,} points were tried: there may be one that "
            "meets it; a larger --budget tries more."
        )
    return Head("recommendation", title, tiles, lead, warnings)


def _held(every: Sequence[Held], what: str) -> PageTable:
    rows = [
        [
            visible(cluster.name),
            f"{cluster.cost:g}",
            "met" if cluster.met else "missed",
            length(cluster.p50),
            length(cluster.p99),
            length(cluster.max),
            f"{cluster.unserved:,}" if cluster.unserved else "",
        ]
        for cluster in every
    ]
    return table([what, *COLUMNS], rows, left_in=LEFT_IN)


def _tried(found: Recommendation) -> PageTable:
    best = sorted(found.tried, key=lambda each: (not each.met, each.cost, each.value))
    rows = [
        [
            ", ".join(map(visible, trial.said)) or "as in the file",
            f"{trial.cost:g}",
            length(trial.value),
            "met" if trial.met else "missed",
            "" if trial.seen >= 1 else f"after {trial.seen:.0%}",
        ]
        for trial in best
    ]
    columns = ["what is set", "cost", found.target.split()[0], "target", "broken off"]
    return table(columns, rows, left_in=LEFT_IN)
