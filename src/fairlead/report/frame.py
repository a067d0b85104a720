"""The frame of a page: its style, its one program, and what it is not allowed to do."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from fairlead.report import charts
from fairlead.report.markup import Html, code, tag
from fairlead.results.summary import Made
from fairlead.text import visible

DOCTYPE: Final = "<!DOCTYPE html>\n"


def framed(made: Made, header: Html, sections: Iterable[Html | None]) -> str:
    """A page as text; a section that is None has nothing to say."""
    program = _program()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_allowed(program)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{visible(made.messages)}: Fairlead report"),
        tag("style", Html(_text("page.css"))),
    )
    no_script = "Charts need JavaScript; the tables below each of them have the numbers."
    body = tag(
        "body",
        header,
        tag("main", tag("noscript", tag("p", no_script)), *(each for each in sections if each)),
        tag(
            "footer",
            f"Made by Fairlead {made.fairlead}. This page loads nothing and sends nothing.",
        ),
        code(program),
    )
    return DOCTYPE + tag("html", head, body, lang="en").text + "\n"


def _allowed(program: str) -> str:
    """Only this program may run, and nothing may be loaded or sent anywhere."""
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _program() -> str:
    return charts.program(_text("draw.js"))


def _text(name: str) -> str:
    return (files("fairlead.report") / name).read_text(encoding="utf-8")
