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


def whole(advice: Recommendation) -> str:
    """The page as text."""
    return rendered(
        "fairlead.report",
        "recommendation.html",
        found=advice,
        made=advice.made,
        head=headline(advice),
        said=[visible(setting) for setting in advice.said],
        frontier=frontier(advice),
        compared=_held([advice.now, advice.then], "on the held-out traffic"),
        why=_held([advice.then, *advice.why], f"{advice.then.name}, but"),
        breaks=_held([advice.then, *advice.breaks], "what if"),
        tried=_tried(advice),
        notes=advice.notes,
    )


def headline(advice: Recommendation) -> Head:
    """What a reader should know who reads nothing else."""
    messages = short(advice.made.messages) if advice.made else "traffic"
    if advice.met:
        saved = f"cost {advice.then.cost:g} instead of {advice.now.cost:g}"
        title = f"{advice.target} on {messages}: {saved}"
    elif advice.found:
        title = f"{advice.target} on {messages}: missed on the traffic that the search never saw"
    elif advice.everywhere:
        title = f"Nothing in this space meets {advice.target} on {messages}"
    else:
        title = f"Nothing was found that meets {advice.target} on {messages}"
    whose = "The recommended cluster" if advice.met else "The nearest cluster"
    verb = "keeps" if advice.then.met else "does not keep"
    lead = (
        f"{whose} {verb} the target on {advice.held_out:,} messages that the search never saw: in "
        f"{advice.tenths} of 10 tenths of their time, and in {percent(advice.sure)} of samples of "
        "these."
    )
    tiles = [
        Tile("target", advice.target),
        Tile(
            "as in the file",
            length(advice.now.value),
            "good" if advice.now.met else "bad",
        ),
        Tile(
            advice.then.name,
            length(advice.then.value),
            "good" if advice.then.met else "bad",
        ),
        Tile("cost", f"{advice.now.cost:g} → {advice.then.cost:g}"),
    ]
    warnings = []
    if advice.found and not advice.then.met:
        warnings.append("It meets the target on the traffic of the search, and not on the rest.")
    if not advice.found and not advice.everywhere:
        warnings.append(
            f"{len(advice.tried) - 1:,} of {advice.space:,} points were tried: there may be one "
            "that meets it; a larger --budget tries more."
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


def _tried(advice: Recommendation) -> PageTable:
    best = sorted(advice.tried, key=lambda each: (not each.met, each.cost, each.value))
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
    columns = ["what is set", "cost", advice.target.split()[0], "target", "broken off"]
    return table(columns, rows, left_in=LEFT_IN)
