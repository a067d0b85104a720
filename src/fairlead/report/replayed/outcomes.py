"""What became of the rows, in each scenario."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.report.outcomes import Outcomes, rejects
from fairlead.report.over_time import OUTCOMES
from fairlead.report.replayed.plots import stacks
from fairlead.report.replayed.shown import Shown
from fairlead.results.comparison import Comparison
from fairlead.text import plural
from fairlead.web.charts import OTHERS, Layer
from fairlead.web.parts import Figure, PageTable


def outcomes(comparison: Comparison, shown: Shown) -> Outcomes:
    """Of a replay: a table, behind a chart where there are several outcomes."""
    replayed = comparison.read - comparison.rejected
    read = plural(comparison.read, "message")
    text = f"{read} in = {replayed:,} replayed + {comparison.rejected:,} rejected."
    every = list(dict.fromkeys(name for scenario in shown.all for name in scenario.outcomes))
    listing = shown.table(every, lambda s: [f"{s.outcomes.get(name, 0):,}" for name in every])
    rejected = rejects(comparison.rejections)
    if len(every) > 1:
        return Outcomes(text, [_chart(shown, every, listing), *rejected])
    return Outcomes(text, rejected, listing)


def _chart(shown: Shown, every: Sequence[str], listing: PageTable) -> Figure:
    some = [entry for entry in shown.drawn if entry.scenario.outcomes]
    layers = [
        Layer(
            name,
            OUTCOMES.get(name, OTHERS),
            [entry.scenario.outcomes.get(name, 0) for entry in some],
        )
        for name in every
    ]
    return Figure(
        "Rows by outcome",
        "A message has a row for each attempt",
        stacks(layers, [entry.name for entry in some]),
        f"Outcomes of {plural(len(some), 'scenario')} as divided bars. The table has the numbers.",
        layers,
        listing,
    )
