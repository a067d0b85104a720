"""A page as a browser would read it, and the plain data of its charts.

The report makes its charts without a look at Vega-Lite's schema; whoever reads a page here holds
them to it.
"""

import json
from functools import cache
from html.parser import HTMLParser
from typing import Any

import altair as alt

VOID = {"meta"}


class Page(HTMLParser):
    """What a page holds, as a browser would read it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.parts: dict[str, str] = {}
        self.specs: list[dict[str, Any]] = []
        self.programs: list[str] = []
        self.rows: list[int] = []
        self.title = ""
        self.open: list[str] = []
        self._part: str | None = None
        self._plain = False
        self.feed(text)
        self.close()
        assert self.open == []
        for spec in self.specs:
            check(json.dumps(without_rows(spec)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag in {"section", "header"}:
            self._part = given.get("aria-labelledby") or tag
            self.parts[self._part] = ""
        if tag == "script":
            self._plain = given.get("type") == "application/json"
        if tag == "tbody":
            self.rows.append(0)
        if tag == "tr" and "tbody" in self.open:
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in {"section", "header"}:
            self._part = None

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script" and self._plain:
            self.specs.append(json.loads(data))
        elif inside == "script":
            self.programs.append(data)
        elif inside == "title":
            self.title += data
        elif self._part is not None:
            self.parts[self._part] += data


@cache
def check(spec: str) -> None:
    """Hold a chart to the schema of Vega-Lite."""
    alt.LayerChart.validate(json.loads(spec))


def without_rows(part: Any) -> Any:
    """A part of a chart without the rows that it draws."""
    if isinstance(part, list):
        return [without_rows(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {name: [] if name == "values" else without_rows(each) for name, each in part.items()}


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chart's largest table."""
    return max(spec["datasets"].values(), key=len)


def marks(found: Page) -> list[dict[str, Any]]:
    """The lines for changes in the first chart that has some."""
    tables = [rows for spec in found.specs for rows in spec["datasets"].values()]
    return next(rows for rows in tables if rows and "label" in rows[0])
