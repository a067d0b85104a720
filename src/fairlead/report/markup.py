"""HTML that is escaped unless it was made here: a text given as a child can never be markup."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

VOID: Final = {"meta"}


@dataclass(frozen=True)
class Html:
    """Markup, safe to be put into a page."""

    text: str


Child = Html | str | int


def tag(name: str, /, *children: Child, **attributes: str | int | None) -> Html:
    """An element; attributes that are None are left out.

    A Python word as attribute takes an underscore at its end; others become hyphens.

    >>> tag("td", "<b>", class_="n", aria_label="1 & 2").text
    '<td class="n" aria-label="1 &amp; 2">&lt;b&gt;</td>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{together(children).text}</{name}>")


def together(children: Iterable[Child]) -> Html:
    """Several, one after another."""
    return Html("".join(_text(child) for child in children))


def _text(child: Child) -> str:
    return child.text if isinstance(child, Html) else html.escape(str(child))


def data(content: object) -> Html:
    """Plain data inside the page, which no script runs and no text in it can end."""
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        plain = plain.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json">{plain}</script>')


def code(script: str) -> Html:
    """A program of ours; it must not hold what would end its element."""
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("a script that would end its element")
    return Html(f"<script>{script}</script>")
