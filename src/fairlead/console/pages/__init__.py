"""The pages, each a module: its paths, its numbers, and its place in the navigation."""

from __future__ import annotations

from typing import Final

from fairlead.console.pages import (
    cluster,
    dead,
    dialog,
    find,
    held,
    journal,
    later,
    login,
    message,
    overview,
    promote,
    purge,
    queue,
    running,
    static,
    tenants,
)
from fairlead.console.state import MenuItem
from fairlead.console.visit import Route, Stream

ROUTES: Final[tuple[Route, ...]] = (
    *overview.ROUTES,
    *queue.ROUTES,
    *promote.ROUTES,
    *held.ROUTES,
    *dead.ROUTES,
    *later.ROUTES,
    *tenants.ROUTES,
    *purge.ROUTES,
    *find.ROUTES,
    *cluster.ROUTES,
    *message.ROUTES,
    *dialog.ROUTES,
    *journal.ROUTES,
    *running.ROUTES,
    *login.ROUTES,
    *static.ROUTES,
)
STREAMS: Final[tuple[Stream, ...]] = (
    *overview.STREAMS,
    *queue.STREAMS,
    *cluster.STREAMS,
    *running.STREAMS,
)
MENU: Final[tuple[MenuItem, ...]] = (
    overview.MENU,
    cluster.MENU,
    dialog.MENU,
    journal.MENU,
    running.MENU,
)
