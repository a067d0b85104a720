"""All scenarios side by side: a table, and their waits as dots."""

from __future__ import annotations

from typing import Final

from fairlead.report.replayed.plots import PlotRow, waits
from fairlead.report.replayed.shown import BUSY, LEFT_IN, Shown, quoted
from fairlead.results.comparison import ScenarioResult, Waits
from fairlead.text import length, plural, visible
from fairlead.web.parts import Figure, PageTable

COLUMNS = ("p99 wait", "mean", "p50", "p90", "max", "messages")
"""What matters most stands first: on a phone the rest has to be scrolled to."""
MORE_COLUMNS = ("busy", "not started", "redelivered", "released", "groups out of order")

MAX_DIFFERENCES: Final = 12
LONGEST_DIFFERENCE: Final = 120
WAITS: Final = (
    "A message waits from its time until its last attempt starts, so its wait includes what "
    "failures and rollbacks cost."
)
OUT_OF_ORDER: Final = (
    "A group is out of order if a later message started before an earlier one, at the same or at "
    "different destinations."
)
AS_IT_IS: Final = "nothing: the cluster file as it is"


def about(shown: Shown) -> str:
    """What the columns mean that stand in the table."""
    meanings = [WAITS]
    if any(scenario.utilisation is not None for scenario in shown.all):
        meanings.append(f"Busy: {BUSY}.")
    if any(scenario.groups for scenario in shown.all):
        meanings.append(OUT_OF_ORDER)
    return " ".join(meanings)


def differences(shown: Shown) -> PageTable | None:
    """What was set for each; None where it is not known of any."""
    if not any(scenario.differs for scenario in shown.all):
        return None
    return shown.table(["differs by"], lambda scenario: [_differs(scenario)], texts=2)


def _differs(result: ScenarioResult) -> str:
    if not result.differs:
        return AS_IT_IS
    listed = "; ".join(
        visible(text, LONGEST_DIFFERENCE) for text in result.differs[:MAX_DIFFERENCES]
    )
    more = len(result.differs) - MAX_DIFFERENCES
    return f"{listed}; … {more:,} more in {LEFT_IN}" if more > 0 else listed


def numbers_of(waits: Waits, messages: int) -> list[str]:
    """What stands in COLUMNS; no waits where no message was started."""
    waited = (waits.p99, waits.mean, waits.p50, waits.p90, waits.max)
    return [*(length(wait) if waits.messages else "" for wait in waited), f"{messages:,}"]


def cells(result: ScenarioResult) -> list[str]:
    """Its numbers."""
    used = result.utilisation
    return [
        *numbers_of(result.waits, result.messages),
        "" if used is None else f"{used:.1%}",
        *(f"{n:,}" if n else "" for n in (result.waiting, result.redeliveries, result.failovers)),
        f"{result.groups_out_of_order:,} of {result.groups:,}" if result.groups else "",
    ]


def dots(shown: Shown) -> list[Figure]:
    """A chart of their waits; none where no message was started."""
    rows = [
        PlotRow(
            entry.name,
            entry.name,
            {what: getattr(entry.scenario.waits, what) for what in QUANTILES},
        )
        for entry in shown.drawn
        if entry.scenario.waits.messages
    ]
    if not rows:
        return []
    p99 = "; ".join(f"{quoted(row.name)} p99 {length(row.values['p99'])}" for row in rows)
    chart = Figure(
        "Waits by scenario",
        "On a logarithmic scale",
        waits(rows, shown.layers, lanes=False),
        f"Waits of {plural(len(rows), 'scenario')} as dots: {p99}.",
        signs=[(quantile, quantile) for quantile in QUANTILES],
    )
    return [chart]


QUANTILES = ("p50", "p90", "p99", "max")
