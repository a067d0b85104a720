"""Fairlead with small bounds, so that a test of bad ways need not wait half a minute each time."""

from __future__ import annotations

import sys
from typing import Final

from fairlead.serve import executor, loop
from fairlead.store.aio import sessions as loop_sessions
from fairlead.store.database import deadline, postgresql
from fairlead.store.queues import lease_holders_postgresql as sessions
from fairlead.store.workers import handling, threads

SMALL: Final = (
    (deadline, "ASKED", 0.5),
    (deadline, "LOOK", 1.0),
    (postgresql, "CONNECT", 2),
    (sessions, "ASK", 0.3),
    (sessions, "HEAR", 1.0),
    (loop_sessions, "ASK", 0.3),
    (threads, "MAX_WAIT", 0.5),
    (handling, "MAX_WAIT", 0.5),
    (executor, "LONG", 0.4),
    (loop, "ENDING", 4.0),
)
"""Module, name and value: about a fifteenth of what they are."""
COMMAND: Final = [sys.executable, "-c", "import tests.bounded; tests.bounded.main()"]
"""`fairlead` with them, in the folder of the project."""


def main() -> None:
    """Be `fairlead`."""
    from fairlead.cli import main as run

    for module, name, value in SMALL:
        setattr(module, name, value)
    run()
