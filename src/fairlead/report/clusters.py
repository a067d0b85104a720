"""Clusters of a dispatch: the busiest streams, and policies as `fairlead check` says them."""

from __future__ import annotations

from typing import Final

from fairlead.balance.words.effective_policy import InWords
from fairlead.results.summary import Policies, Streams
from fairlead.text import percent, plural, visible
from fairlead.web.charts import Bar, bars
from fairlead.web.parts import Figure, PageTable, table

NAMELESS: Final = "(no name)"
ABOUT: Final = (
    "A stream is the messages whose sequences are counted together: those of one cluster, or of "
    "one queue or subject in it."
)


def streams(found: Streams) -> Figure | str:
    """A chart; a sentence where there is one stream, or none."""
    if found.number < 2:
        return f"{ABOUT} All messages are one stream." if found.number else ABOUT
    rows = [
        Bar(f"{k}. {visible(stream.name, 40) or NAMELESS}", stream.messages, f"{stream.messages:,}")
        for k, stream in enumerate(found.busiest, 1)
    ]
    shown = f"The {len(rows)} busiest of {found.number:,}" if len(rows) < found.number else "All"
    return Figure(
        f"{shown} streams",
        ABOUT,
        bars(rows),
        f"Messages of {plural(len(rows), 'stream')} as bars, the busiest first.",
        numbers=table(
            ["stream", "messages"],
            [[visible(s.name) or NAMELESS, f"{s.messages:,}"] for s in found.busiest],
        ),
    )


def policies(found: Policies) -> list[tuple[InWords, int, PageTable]]:
    """Those shown: in words, with the number of their destinations, and the first of these."""
    listed = zip(found.shown, found.destinations, strict=True)
    return [(words, number, _destinations(words, number)) for words, number in listed]


def _destinations(words: InWords, number: int) -> PageTable:
    rows = [
        [
            visible(
                destination.name
                if destination.subject is None
                else f"{destination.name}@{destination.subject}"
            ),
            visible(destination.address),
            destination.condition,
            "" if destination.weight is None else f"{destination.weight:,}",
            "" if destination.share is None else percent(destination.share),
        ]
        for destination in words.destinations
    ]
    columns = ["destination", "address", "condition", "weight", "share"]
    return table(columns, rows, texts=3, total=number, left_in="manifest.json")
