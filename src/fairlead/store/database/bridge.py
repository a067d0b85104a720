"""Verbs that are written once, and run on an event loop too.

A verb is an ordinary function. Only the port waits for the database. On an event loop the verb runs
in a greenlet of its own: where the port has to wait, it gives what it waits for to the task that
asked for the verb, and goes on when that has the result. So others go on meanwhile, and no verb is
written a second time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

T = TypeVar("T")


class RunningVerb(greenlet):  # type: ignore[misc]
    """A verb that runs on an event loop."""

    def __init__(self, verb: Callable[[], object], owner: object) -> None:
        """`owner`: the task that asked for it; a shielded verb runs in another one."""
        here = getcurrent()
        super().__init__(verb, here)
        self.gr_context = here.gr_context
        self.owner = owner


async def run_verb(verb: Callable[[], T], owner: object = None) -> T:
    """Run a verb; whatever it waits for is awaited here. Raises what the verb raises.

    Where this task is cancelled, the verb is told so where it waits: it undoes its transaction.
    """
    running = RunningVerb(verb, owner or asyncio.current_task())
    answer: Any = running.switch()
    while not running.dead:
        try:
            value = await answer
        except BaseException:  # noqa: BLE001 - the verb's to handle
            answer = running.throw(*sys.exc_info())
        else:
            answer = running.switch(value)
    result: T = answer
    return result


def wait_for(what: Awaitable[T]) -> T:
    """Wait, inside a verb that runs on an event loop."""
    running = getcurrent()
    if not isinstance(running, RunningVerb) or running.parent is None:
        if asyncio.iscoroutine(what):
            what.close()
        raise RuntimeError("a connection of an event loop is used outside of a running verb")
    result: T = running.parent.switch(what)
    return result


def owner() -> object:
    """The task that asked for the verb that runs here; None: no such verb does."""
    running = getcurrent()
    return running.owner if isinstance(running, RunningVerb) else None


def pause(seconds: float) -> bool:
    """Let others go on for so long; false: no verb of an event loop runs here."""
    if owner() is None:
        return False
    wait_for(asyncio.sleep(seconds))
    return True
