"""How much of their time readers worked, by destination."""

from __future__ import annotations

from fairlead.report.replayed.plots import PlotRow, parts
from fairlead.report.replayed.shown import BUSY, LEFT_IN, Shown
from fairlead.text import ShortNames, length, plural
from fairlead.web.parts import Figure, table

UTILISATION = "utilisation"


def by_destination(shown: Shown) -> list[Figure]:
    """A chart; none where no destination's readers are its own."""
    # A file with one cluster names it by the file: its name would tell scenarios apart.
    several = any(len({w.cluster for w in entry.scenario.workers}) > 1 for entry in shown.drawn)
    names = ShortNames(with_cluster=several)
    worked = {
        entry.name: {
            names(worker.cluster if several else "", None, worker.destination): worker
            for worker in entry.scenario.workers
            if worker.utilisation is not None
        }
        for entry in shown.drawn
    }
    most: dict[str, int] = {}
    for workers in worked.values():
        for name, worker in workers.items():
            most[name] = most.get(name, 0) + worker.messages
    if not most:
        return []
    first = sorted(most, key=lambda name: -most[name])[: shown.most_names]
    bars = [
        (name, scenario, workers[name])
        for name in first
        for scenario, workers in worked.items()
        if name in workers
    ]
    about = BUSY[:1].upper() + BUSY[1:]
    if len(first) < len(most):
        about += f". The {len(first)} with the most messages, of {len(most):,} destinations"
    rows = [
        PlotRow(name, scenario, {UTILISATION: worker.utilisation or 0.0})
        for name, scenario, worker in bars
    ]
    listing = table(
        ["destination", "scenario", "started", "worked", "busy"],
        [
            [name, scenario, f"{w.messages:,}", length(w.busy), f"{w.utilisation or 0.0:.1%}"]
            for name, scenario, w in bars
        ],
        texts=2,
        total=sum(map(len, worked.values())),
        left_in=LEFT_IN,
    )
    chart = Figure(
        "By destination",
        about,
        parts(rows, shown.layers, UTILISATION),
        f"Utilisation of {plural(len(first), 'destination')} as bars. The table has the numbers.",
        shown.legend,
        listing,
    )
    return [chart]
