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
        said=[visible(each) for each in found.said],
        frontier=frontier(found),
        compared=_held([found.now, found.then], "on the held-out traffic"),
        why=_held([found.then, *found.why], "recommended, but"),
        breaks=_held([found.then, *found.breaks], "what if"),
        tried=_tried(found),
        notes=found.notes,
    )


def headline(found: Recommendation) -> Head:
    """What a reader should know who reads nothing else."""
    messages = short(found.made.messages) if found.made else "traffic"
    if not found.found:
        title = f"Nothing in this space meets {found.target} on {messages}"
        lead = "The nearest is shown: it comes closest on the traffic of the search."
    else:
        title = (
            f"{found.target} on {messages}: cost {found.then.cost:g} instead of {found.now.cost:g}"
        )
        kept = "keeps" if found.then.met else "does not keep"
        lead = (
            f"The recommended cluster {kept} the target on {found.held_out:,} messages that the "
            f"search never saw: in {found.tenths} of 10 tenths of their time, and in "
            f"{percent(found.sure)} of samples of these."
        )
    tiles = [
        Tile("target", found.target),
        Tile("as in the file", length(found.now.value), "good" if found.now.met else "bad"),
        Tile("recommended", length(found.then.value), "good" if found.then.met else "bad"),
        Tile("cost", f"{found.now.cost:g} → {found.then.cost:g}"),
    ]
    warnings = []
    if found.found and not found.then.met:
        warnings.append("It meets the target on the traffic of the search, and not on the rest.")
    return Head("recommendation", title, tiles, lead, warnings)


def _held(every: Sequence[Held], what: str) -> PageTable:
    rows = [
        [
            visible(each.name),
            f"{each.cost:g}",
            "met" if each.met else "missed",
            length(each.p50),
            length(each.p99),
            length(each.max),
            f"{each.unserved:,}" if each.unserved else "",
        ]
        for each in every
    ]
    return table([what, *COLUMNS], rows, left_in=LEFT_IN)


def _tried(found: Recommendation) -> PageTable:
    best = sorted(found.tried, key=lambda each: (not each.met, each.cost, each.value))
    rows = [
        [
            ", ".join(map(visible, each.said)) or "as in the file",
            f"{each.cost:g}",
            length(each.value),
            "met" if each.met else "missed",
            "" if each.seen >= 1 else f"after {each.seen:.0%}",
        ]
        for each in best
    ]
    columns = ["what is set", "cost", found.target.split()[0], "target", "broken off"]
    return table(columns, rows, left_in=LEFT_IN)
