"""Shares against weights, for each time between two changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.report import deviation
from fairlead.report.changes import titles
from fairlead.report.charts import BAR, Bar, bars
from fairlead.report.markup import Html, tag
from fairlead.report.parts import MOST_ROWS, counted, figure, key, numbers, section, table
from fairlead.results.summary import Phase, Share, Summary
from fairlead.text import Names, percent, plural

MOST_PHASES: Final = 6
MOST_BARS: Final = 12


def shares(run: Summary, names: Names) -> Html:
    """The section; a chart for each phase, the phases with the most messages."""
    called = zip(titles(run.phases), run.phases, strict=True)
    busy = [(title, phase) for title, phase in called if phase.messages]
    most = sorted(busy, key=lambda each: -each[1].messages)[:MOST_PHASES]
    chosen = [each for each in busy if each in most]
    cards = [_card(title, phase, names) for title, phase in chosen]
    weighed = deviation.weighed(phase for _, phase in chosen)
    ticks = [key("tick", "its share by weight")] if weighed else []
    return section(
        "shares",
        "Shares against weights" if weighed else "Shares",
        tag(
            "ul",
            tag("li", tag("i", style=f"--c:{BAR}"), f"share of the {counted(run)}"),
            *ticks,
            class_="legend",
        ),
        tag("div", *cards, class_="cards") if cards else tag("p", "No message was decided."),
        _others(busy, names) if len(busy) > len(chosen) else "",
    )


def _others(busy: Sequence[tuple[str, Phase]], names: Names) -> Html:
    """All phases in a table, where not all have a chart."""
    rows = [[title, deviation.told([phase], names), f"{phase.messages:,}"] for title, phase in busy]
    title = f"The {MOST_PHASES} times with the most messages are drawn; all {len(busy):,}"
    return tag(
        "details",
        tag("summary", title),
        table(["time", "largest deviation", "messages"], rows, texts=2),
    )


def _card(title: str, phase: Phase, names: Names) -> Html:
    top = set(map(id, phase.busiest(MOST_BARS)))
    shown = [share for share in phase.shares if id(share) in top]
    several = names.with_cluster
    title = title[0].upper() + title[1:]
    about = plural(phase.messages, "message")
    about += "." if phase.rows == phase.messages else f", {plural(phase.rows, 'decision')}."
    if deviation.weighed([phase]):
        about += f" {deviation.told([phase], names)}"
    hidden = len(phase.shares) - len(shown)
    if hidden:
        about += f" The {MOST_BARS} destinations with the most messages; {hidden:,} more."
    columns = ["destination", "messages", "share", "weight", "by weight", "points"]
    listing = table(
        (["cluster"] if several else []) + columns,
        [_row(share, names, several=several) for share in phase.busiest(MOST_ROWS)],
        texts=2 if several else 1,
        total=len(phase.shares),
    )
    return figure(
        title,
        about,
        bars([_bar(share, names) for share in shown]),
        f"{title}: shares of {plural(len(shown), 'destination')} as bars. {about}",
        numbers(listing),
    )


def _bar(share: Share, names: Names) -> Bar:
    name = names(share.cluster, share.subject, share.destination)
    return Bar(name, share.share, percent(share.share), share.expected)


def _row(share: Share, names: Names, *, several: bool) -> Sequence[str]:
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
