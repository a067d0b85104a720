"""The pages, each a module: its paths, its numbers, and its place in the navigation."""

from __future__ import annotations

from itertools import chain
from typing import Final

from fairlead.console.pages import login, overview, running, static
from fairlead.console.state import MenuItem
from fairlead.console.visit import Route, Stream

ROUTES: Final[tuple[Route, ...]] = (
    *overview.ROUTES,
    *running.ROUTES,
    *login.ROUTES,
    *static.ROUTES,
)
STREAMS: Final[tuple[Stream, ...]] = tuple(chain.from_iterable((overview.STREAMS, running.STREAMS)))
MENU: Final[tuple[MenuItem, ...]] = (overview.MENU, running.MENU)
