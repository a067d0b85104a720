"""Outcomes and rejects, and how to make the run again."""

from __future__ import annotations

from typing import Final

from fairlead.report.charts import OTHERS, PALETTE, Bar, Layer, bars
from fairlead.report.markup import Html, tag
from fairlead.report.over_time import OUTCOMES
from fairlead.report.parts import MOST_ROWS, figure, legend, numbers, section, table
from fairlead.report.replayed.plots import stacks
from fairlead.report.replayed.shown import LEFT_IN, Shown
from fairlead.results.comparison import Comparison
from fairlead.text import plural, visible

MOST_REASONS: Final = 12
COLOURS: Final = {
    **OUTCOMES,
    "lost": PALETTE[6],
    "rolled-back": PALETTE[1],
    "released": PALETTE[4],
    "refused": PALETTE[7],
    "acknowledged": PALETTE[8],
    "nack": PALETTE[5],
    "timeout": PALETTE[10],
}


def outcomes(found: Comparison, shown: Shown) -> Html:
    """What became of the rows."""
    replayed = found.read - found.rejected
    told = (
        f"{plural(found.read, 'message')} in = {replayed:,} replayed + {found.rejected:,} rejected."
    )
    every = list(dict.fromkeys(name for each in shown.all for name in each.outcomes))
    listing = table(
        ["scenario", *every],
        [
            [shown.name(each), *(f"{each.outcomes.get(name, 0):,}" for name in every)]
            for each in shown.first(MOST_ROWS)
        ],
        total=len(shown.all),
        left_in=LEFT_IN,
    )
    return section(
        "outcomes",
        "Outcomes",
        tag("p", told),
        _chart(shown, every, listing) if len(every) > 1 else listing,
        _rejects(found) if found.rejections else "",
    )


def _chart(shown: Shown, every: list[str], listing: Html) -> Html:
    some = [each for each in shown.drawn if each.scenario.outcomes]
    layers = [
        Layer(
            name, COLOURS.get(name, OTHERS), [each.scenario.outcomes.get(name, 0) for each in some]
        )
        for name in every
    ]
    return figure(
        "Rows by outcome",
        "A message has a row for each attempt",
        stacks(layers, [each.name for each in some]),
        f"Outcomes of {plural(len(some), 'scenario')} as divided bars. The table has the numbers.",
        legend(layers),
        numbers(listing),
    )


def _rejects(found: Comparison) -> Html:
    ordered = sorted(found.rejections.items(), key=lambda each: (-each[1], each[0]))
    rows = [Bar(visible(reason, 48), n, f"{n:,}") for reason, n in ordered[:MOST_REASONS]]
    return figure(
        "Rejected rows by reason",
        "They stand in rejected/, each with what was found and what is allowed",
        bars(rows, PALETTE[3]),
        "Rejected rows by reason: " + ", ".join(f"{row.name} {row.label}" for row in rows),
        numbers(table(["reason", "rows"], [[visible(reason), f"{n:,}"] for reason, n in ordered])),
    )


def reproduce(found: Comparison, shown: Shown) -> Html:
    """How to make the same run again, and how to see that it is the same."""
    made = found.told
    rows = [
        ["messages", visible(made.messages)],
        ["messages in", f"{found.read:,}"],
        ["fairlead", made.fairlead],
        ["pyspark", made.pyspark],
        ["python", made.python],
        ["took", f"{found.seconds:,.1f} s"],
    ]
    items = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in rows]
    digests = table(
        ["scenario", "digest"],
        [[shown.name(each), each.digest] for each in shown.first(MOST_ROWS)],
        texts=2,
        total=len(shown.all),
        left_in=LEFT_IN,
    )
    folded = tag("details", tag("summary", "The digests"), digests)
    return section(
        "reproduce",
        "The same again",
        tag("pre", tag("code", visible(made.command, 4_000))) if made.command else "",
        tag("div", tag("table", tag("tbody", *items)), class_="scroll"),
        tag("p", "The same digest means the same decisions and the same times, row for row."),
        digests if len(shown.all) == len(shown.drawn) else folded,
    )
