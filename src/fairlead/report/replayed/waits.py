"""Waits by destination, priority and tenant, in each scenario."""

from __future__ import annotations

from fairlead.report.markup import Html
from fairlead.report.parts import figure, numbers, section, table
from fairlead.report.replayed.plots import Row, waits
from fairlead.report.replayed.scenarios import COLUMNS, numbers_of
from fairlead.report.replayed.shown import KINDS, LEFT_IN, PLURALS, Shown, waits_of
from fairlead.results.comparison import Waits
from fairlead.text import Names, plural, visible


def by_name(shown: Shown) -> Html | None:
    """The section; a chart for each kind of which there are several, None where there is none."""
    figures = [found for kind in KINDS if (found := _chart(shown, kind)) is not None]
    return section("waits", "Who waits how long", *figures) if figures else None


def _chart(shown: Shown, kind: str) -> Html | None:
    waited = {each.name: waits_of(each.scenario, kind) for each in shown.drawn}
    total: dict[str, int] = {}
    for own in waited.values():
        for name, found in own.items():
            total[name] = total.get(name, 0) + found.messages
    if len(total) < 2:
        return None
    first = sorted(total, key=lambda name: -total[name])[: shown.most_names]
    short = Names(with_cluster=False)
    rows = [
        Row(
            short("", None, name) or f"no {kind}",
            scenario,
            {"p50": own[name].p50, "p99": own[name].p99},
        )
        for name in first
        for scenario, own in waited.items()
        if name in own
    ]
    about = "The median as a small dot, p99 as a large one; on a logarithmic scale"
    if len(first) < len(total):
        about += f". The {len(first)} with the most messages, of {len(total):,} {PLURALS[kind]}"
    listing = table(
        [kind, *COLUMNS],
        [
            [visible(name) or f"no {kind}", scenario, *_numbers(own[name])]
            for name in first
            for scenario, own in waited.items()
            if name in own
        ],
        texts=2,
        total=sum(map(len, waited.values())),
        left_in=LEFT_IN,
    )
    return figure(
        f"By {kind}",
        about,
        waits(rows, shown.layers, lanes=True),
        f"Waits by {kind} in {plural(len(waited), 'scenario')} as dots. The table has the numbers.",
        shown.legend(),
        numbers(listing),
    )


def _numbers(found: Waits) -> list[str]:
    return [f"{found.messages:,}", *numbers_of(found)]
