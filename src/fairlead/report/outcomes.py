"""What became of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.report import over_time
from fairlead.results.summary import Summary
from fairlead.text import plural, visible
from fairlead.web.charts import PALETTE, Bar, bars
from fairlead.web.parts import Figure, PageTable, table

MAX_REASONS: Final = 12


@dataclass(frozen=True)
class Outcomes:
    """How many rows had which outcome, or were rejected; a table where there is no chart of it."""

    text: str
    charts: Sequence[Figure]
    listing: PageTable | None = None


def outcomes(run: Summary) -> Outcomes:
    """How the messages of a dispatch ended, by outcome."""
    counts = ", ".join(f"{n:,} {outcome}" for outcome, n in run.outcomes.items()) or "none"
    text = (
        f"{plural(run.read, 'message')} in = {run.decided:,} decided + {run.rejected:,} rejected. "
    )
    if run.several_each:
        text += f"{run.rows:,} rows of decisions, one for each destination of a message: {counts}."
    else:
        text += f"Decided: {counts}."
    return Outcomes(text, [*over_time.outcomes(run), *rejects(run.rejections)])


def rejects(reasons: Mapping[str, int]) -> list[Figure]:
    """A chart of the reasons, if there are any."""
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    rows = [Bar(visible(reason, 48), n, f"{n:,}") for reason, n in ordered[:MAX_REASONS]]
    chart = Figure(
        "Rejected rows by reason",
        "They are in rejected/, each with what was found and what is allowed",
        bars(rows, PALETTE[3]),
        "Rejected rows by reason: " + ", ".join(f"{row.name} {row.label}" for row in rows),
        numbers=table(["reason", "rows"], [[visible(reason), f"{n:,}"] for reason, n in ordered]),
    )
    return [chart] if reasons else []
