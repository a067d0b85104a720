"""What sections are made of: tables, figures with their numbers behind them, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.report.charts import Layer, Spec
from fairlead.report.markup import Child, Html, data, tag, together
from fairlead.results.summary import Summary

MOST_ROWS: Final = 50


def counted(run: Summary) -> str:
    """What a chart counts: rows of decisions, which are messages where each has one."""
    return "decisions" if run.several_each else "messages"


def section(anchor: str, title: str, *children: Child) -> Html:
    """A part of the page with its heading."""
    heading = tag("h2", title, id=anchor)
    return tag("section", heading, *children, aria_labelledby=anchor)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: int = 1,
    total: int = 0,
    left_in: str = "summary.json",
) -> Html:
    """A table of at most 50 rows; after the first columns, which are `texts`, stand numbers.

    Columns in which nothing stands are left out.
    `total`: how many rows there would be, if `rows` are only the first. `left_in`: where the
    others stand.
    """
    kept = {k: "text" if k < texts else "n" for k in range(len(columns)) if any(r[k] for r in rows)}
    head = [tag("th", columns[k], class_=kind, scope="col") for k, kind in kept.items()]
    body = [
        tag("tr", *(tag("td", row[k], class_=kind) for k, kind in kept.items()))
        for row in rows[:MOST_ROWS]
    ]
    left = max(total, len(rows)) - len(body)
    after = tag("p", f"… {left:,} more in {left_in}", class_="soft") if left else ""
    listing = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return together([tag("div", listing, class_="scroll"), after])


def figure(
    caption: str,
    about: str,
    spec: Spec,
    described: str,
    *after: Child,
    stack: bool = False,
) -> Html:
    """A chart with its caption, what it shows in words, and what stands below it."""
    place = tag("div", class_="chart stack" if stack else "chart", role="img", aria_label=described)
    title = tag("figcaption", caption, tag("span", about, class_="soft") if about else "")
    return tag("figure", title, place, data(spec), *after, data_chart="waits")


def numbers(listing: Html) -> Html:
    """A table behind a chart."""
    return tag("details", tag("summary", "The numbers"), listing)


def legend(layers: Sequence[Layer], *more: Html) -> Html:
    """What the colours of a stacked chart mean."""
    items = [tag("li", tag("i", style=f"--c:{layer.colour}"), layer.name) for layer in layers]
    return tag("ul", *items, *more, class_="legend")


def key(kind: str, text: str) -> Html:
    """An entry of a legend for a line."""
    return tag("li", tag("i", class_=kind), text)
