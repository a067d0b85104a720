"""Shares against weights, for each time between two changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.report import deviation
from fairlead.report.changes import titles
from fairlead.report.over_time import counted
from fairlead.results.summary import Phase, Share, Summary
from fairlead.text import ShortNames, percent, plural
from fairlead.web.charts import BAR, Bar, Layer, bars
from fairlead.web.parts import MAX_ROWS, Figure, PageTable, table

MAX_PHASES: Final = 6
MAX_BARS: Final = 12


@dataclass(frozen=True)
class Shares:
    """A chart for each of the phases with the most messages that went somewhere.

    `all`: a table of all phases, where some are not drawn.
    """

    title: str
    legend: Sequence[Layer]
    signs: Sequence[tuple[str, str]]
    cards: Sequence[Figure]
    drawn: str
    """What the table is called."""
    all: PageTable | None


def shares(run: Summary, names: ShortNames) -> Shares:
    """How a dispatch has spread the messages over the destinations."""
    called = zip(titles(run.phases), run.phases, strict=True)
    busy = [(title, phase) for title, phase in called if phase.messages]
    some = [pair for pair in busy if pair[1].routed]
    most = sorted(some, key=lambda each: -each[1].messages)[:MAX_PHASES]
    chosen = [pair for pair in some if pair in most]
    cards = [_card(title, phase, names) for title, phase in chosen]
    weighed = deviation.weighed(phase for _, phase in chosen)
    return Shares(
        "Shares against weights" if weighed else "Shares",
        [Layer(f"share of the {counted(run)}", BAR, ())],
        [("tick", "its share by weight")] if weighed else [],
        cards,
        f"The {_drawn(len(some))} are drawn; all {len(busy):,}",
        _table(busy, names) if len(busy) > len(chosen) else None,
    )


def _drawn(some: int) -> str:
    if some > MAX_PHASES:
        return f"{MAX_PHASES} times with the most messages"
    return "times in which a message has a destination"


def _table(busy: Sequence[tuple[str, Phase]], names: ShortNames) -> PageTable:
    rows = [[title, deviation.text([phase], names), f"{phase.messages:,}"] for title, phase in busy]
    return table(["time", "largest deviation", "messages"], rows, texts=2)


def _card(title: str, phase: Phase, names: ShortNames) -> Figure:
    top = set(map(id, phase.busiest(MAX_BARS)))
    shown = [share for share in phase.shares if id(share) in top]
    several = names.with_cluster
    title = title[0].upper() + title[1:]
    about = plural(phase.messages, "message")
    about += "." if phase.rows == phase.messages else f", {plural(phase.rows, 'decision')}."
    if deviation.weighed([phase]):
        about += f" {deviation.text([phase], names)}"
    hidden = len(phase.shares) - len(shown)
    if hidden:
        about += f" The {MAX_BARS} destinations with the most messages; {hidden:,} more."
    columns = ["destination", "messages", "share", "weight", "by weight", "points"]
    listing = table(
        (["cluster"] if several else []) + columns,
        [_row(share, names, several=several) for share in phase.busiest(MAX_ROWS)],
        texts=2 if several else 1,
        total=len(phase.shares),
    )
    return Figure(
        title,
        about,
        bars([_bar(share, names) for share in shown]),
        f"{title}: shares of {plural(len(shown), 'destination')} as bars. {about}",
        numbers=listing,
    )


def _bar(share: Share, names: ShortNames) -> Bar:
    name = names(share.cluster, share.subject, share.destination)
    return Bar(name, share.share, percent(share.share), share.expected)


def _row(share: Share, names: ShortNames, *, several: bool) -> Sequence[str]:
    expected = share.expected
    return (
        *([share.cluster] if several else []),
        names(share.cluster, share.subject, share.destination),
        f"{share.messages:,}",
        percent(share.share),
        "" if share.weight is None else f"{share.weight:,}",
        "" if expected is None else percent(expected),
        "" if expected is None else f"{(share.share - expected) * 100:+.2f}",
    )
