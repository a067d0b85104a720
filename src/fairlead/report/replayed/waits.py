"""Waits by destination, priority and tenant, in each scenario."""

from __future__ import annotations

from fairlead.report.replayed.plots import PlotRow, waits
from fairlead.report.replayed.scenarios import COLUMNS, numbers_of
from fairlead.report.replayed.shown import KINDS, LEFT_IN, PLURALS, Shown, waits_of
from fairlead.text import ShortNames, moment, plural, visible
from fairlead.web.parts import Figure, PageTable, table


def by_name(shown: Shown) -> list[Figure]:
    """A chart for each kind of which there are several."""
    return [chart for kind in KINDS if (chart := _chart(shown, kind)) is not None]


def _chart(shown: Shown, kind: str) -> Figure | None:
    waited = {entry.name: waits_of(entry.scenario, kind) for entry in shown.drawn}
    total: dict[str, int] = {}
    for measures in waited.values():
        for name, measure in measures.items():
            total[name] = total.get(name, 0) + measure.messages
    if len(total) < 2:
        return None
    first = sorted(total, key=lambda name: -total[name])[: shown.most_names]
    listed = [
        (name, scenario, measures[name])
        for name in first
        for scenario, measures in waited.items()
        if name in measures
    ]
    short = ShortNames(with_cluster=False)
    rows = [
        PlotRow(
            short("", None, name) or f"no {kind}",
            scenario,
            {"p50": measure.p50, "p99": measure.p99},
        )
        for name, scenario, measure in listed
    ]
    about = "The median as a small dot, p99 as a large one; on a logarithmic scale"
    if len(first) < len(total):
        about += f". The {len(first)} with the most messages, of {len(total):,} {PLURALS[kind]}"
    listing = table(
        [kind, "scenario", *COLUMNS],
        [
            [visible(name) or f"no {kind}", scenario, *numbers_of(measure, measure.messages)]
            for name, scenario, measure in listed
        ],
        texts=2,
        total=sum(map(len, waited.values())),
        left_in=LEFT_IN,
    )
    return Figure(
        f"By {kind}",
        about,
        waits(rows, shown.layers, lanes=True),
        f"Waits by {kind} in {plural(len(waited), 'scenario')} as dots. The table has the numbers.",
        shown.legend,
        listing,
    )


def by_window(shown: Shown) -> PageTable | None:
    """The waits in each named time; None where none was named."""
    rows = [
        [window.name, entry.name, *numbers_of(window, window.messages)]
        for entry in shown.drawn
        for window in entry.scenario.by_window
    ]
    return table(["window", "scenario", *COLUMNS], rows, texts=2, left_in=LEFT_IN) if rows else None


def by_phase(shown: Shown) -> PageTable | None:
    """The waits between each two changes; None where nothing changes."""
    rows = [
        [
            f"since {moment(int(phase.name))}" if phase.name else "from the beginning",
            entry.name,
            *numbers_of(phase, phase.messages),
        ]
        for entry in shown.drawn
        for phase in entry.scenario.by_phase
    ]
    return table(["sent", "scenario", *COLUMNS], rows, texts=2, left_in=LEFT_IN) if rows else None
