"""What all pages of a console share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fairlead.config.console import ConsoleFile
from fairlead.console.access import ConsoleAccess
from fairlead.console.calls import Calls
from fairlead.console.counted import Counts
from fairlead.console.health import DatabaseHealth
from fairlead.console.jobs import Jobs
from fairlead.console.rates import Rates
from fairlead.console.sessions import BrowserSession, By, Sessions
from fairlead.store.store import Store

LOGGER: Final = logging.getLogger("fairlead.console")
LOOKS: Final = 6
ACTS: Final = 2
"""Threads, so that whoever looks keeps nobody from acting."""
OVERVIEW: Final = "overview"
"""The key of what the first page shows, among the counts."""
TENANTS: Final = "tenants"
"""That of what each tenant has."""
WHY_DEAD: Final = "reasons"
"""The first part of that of the reasons of dead letters, before the queue's name."""
WAITING: Final = 60
"""Pages that wait for one of them."""


class MenuItem(NamedTuple):
    """A page of the navigation."""

    title: str
    path: str
    key: str = ""
    """The letter that leads there, behind `g`."""


class ConsoleState:
    """Of one event loop."""

    def __init__(
        self, store: Store, file: ConsoleFile, folder: Path, menu: Sequence[MenuItem]
    ) -> None:
        """`folder`: from which the file's paths go. Raises ConfigError."""
        limits = file.limits
        self.store: Final = store
        self.file: Final = file
        self.menu: Final = menu
        self.access: Final = ConsoleAccess(file, folder)
        self.sessions: Final = Sessions(limits.sessions, float(limits.hours) * 3600)
        self.health: Final = DatabaseHealth()
        self.looks: Final = Calls(LOOKS, WAITING)
        self.acts: Final = Calls(ACTS, WAITING)
        self.jobs: Final = Jobs()
        self.counts: Final = Counts(self.health)
        self.rates: Final = Rates(store)
        """Of the thread that counts."""
        self.streams = 0
        """Pages that are kept up to date now."""
        self.stops = False
        """Whether it was told to stop."""

    def begin(self, name: str, by: By) -> BrowserSession:
        """Somebody has shown who he is."""
        LOGGER.info("event=login user=%r by=%s", name, by)
        return self.sessions.begin(name, by)

    def recount(self, queue: str = "") -> None:
        """An operator has changed something, perhaps in this queue: count that again at once."""
        for key in (OVERVIEW, TENANTS, (WHY_DEAD, queue)):
            self.counts.again(key)

    def close(self) -> None:
        """Ask the store nothing any more."""
        self.stops = True
        self.looks.close()
        self.acts.close()
        self.jobs.close()
        self.counts.close()
