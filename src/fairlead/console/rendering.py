"""Pages from their templates, and the files that they load."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from fairlead.console.addresses import url
from fairlead.text import length
from fairlead.web.pages import environment

ROOM: Final = "fairlead.console"
KINDS: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""What pages load, all of it from here."""


class StaticFile(NamedTuple):
    """A file that pages load."""

    content: bytes
    kind: str
    version: str
    """Changes with the content, and stands in its address: so a browser may keep it."""


@cache
def static_file(name: str) -> StaticFile:
    """One of `KINDS`."""
    text = (files(ROOM) / "static" / name).read_text(encoding="utf-8")
    if name == "console.css":
        text = environment(ROOM).get_template("colours.css").render() + text
    content = text.encode()
    return StaticFile(content, KINDS[name], hashlib.sha256(content).hexdigest()[:12])


def page_text(template: str, shown: Mapping[str, Any]) -> str:
    """A page; times in it are those of now."""
    return _console_environment().get_template(template).render(now=time.time(), **shown)


@cache
def _console_environment() -> Environment:
    own: Environment = environment(ROOM).overlay()
    own.filters = {**own.filters, "when": when, "length_in_words": length, "iso": iso}
    own.filters["why_off"] = why_off
    own.globals = {**own.globals, "url": url, "static": _address}
    return own


def _address(name: str) -> str:
    return url(f"/static/{name}", v=static_file(name).version)


def iso(seconds: float) -> str:
    """A time as machines read it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def why_off(why: str) -> str:
    """Why and by whom something was switched off, behind that it is."""
    if not why:
        return ""
    return f", {why}" if why.startswith("by ") else f": {why}"


def when(seconds: float | None, nothing: str = "-") -> str:
    """A time in UTC, which the page's script writes in its reader's zone.

    `nothing`: what stands where there is none.
    """
    if seconds is None:
        return nothing
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s"
    text = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}">{}</time>').format(iso(seconds), text)
