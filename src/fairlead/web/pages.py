"""A page from its template, with its one program, and what it is not allowed to do."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from fairlead.text import moment, percent, plural, visible
from fairlead.web import charts


def rendered(room: str, template: str, **shown: object) -> str:
    """A page as text: a template of a room (a package), and what it shows."""
    program = _program()
    page = environment(room).get_template(template)
    return page.render(program=program, allowed=_allowed(program), **shown)


@cache
def environment(room: str) -> Environment:
    """The room's own templates, and those that all share; a text is never markup in them."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(room), PackageLoader("fairlead.web")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {
        "moment": moment,
        "number": "{:,}".format,
        "percent": percent,
        "plural": plural,
        "visible": visible,
    }
    return environment


def _allowed(program: str) -> str:
    """Only this program may run, and nothing may be loaded or sent anywhere."""
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _program() -> str:
    draw = files("fairlead.web") / "draw.js"
    return charts.program(draw.read_text(encoding="utf-8"))
