"""An operator empties queues, and deletes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import typer

from fairlead.balance.objects import on_one_line
from fairlead.cli.output import acted
from fairlead.cli.store import tenants
from fairlead.cli.store.asking import is_wanted
from fairlead.store.store import Store
from fairlead.text import plural

EVERY: Final = 5.0
"""Seconds between two lines that say how far a long purge is."""


def purge(
    store: Store, queue: str, group: str | None, tenant: str | None, reason: str, *, yes: bool
) -> None:
    """Delete what waits, and say how much that was and what has stayed."""
    store.check_queue(queue)
    of = queue
    of += f", group {group}" if group else ""
    of += f", tenant {tenant}" if tenant else ""

    def question() -> str:
        count = store.purgeable(queue, group, tenant=tenant)
        return (
            f"Delete {plural(count, 'message')} that {'waits' if count == 1 else 'wait'} in {of}?"
        )

    if not is_wanted(question, yes=yes):
        return
    unknown = tenants.unknown(store, queue, tenant)
    result = store.purge(queue, group, reason, _teller(), tenant=tenant)
    acted()
    nothing = "" if any(result) else f": nothing waits in {of}"
    print(f"deleted: {plural(result.deleted, 'message')}{nothing}")
    if result.working:
        print(f"in the hands of readers, and still there: {plural(result.working, 'message')}")
    if result.of_conversations:
        count = plural(result.of_conversations, "message")
        print(f"of conversations that are open, and still there: {count}")
    tenants.say(unknown)


def delete_queue(store: Store, queue: str, reason: str, *, purges: bool, yes: bool) -> None:
    """Delete a queue."""
    store.check_queue(queue)

    def question() -> str:
        return f"Delete {queue}{_with(store, queue) if purges else ''}?"

    if not is_wanted(question, yes=yes):
        return
    gone = store.delete_queue(queue, reason, purge=purges)
    acted()
    counts = f", with {plural(gone.messages, 'message')} and {plural(gone.dead, 'dead letter')}"
    print(on_one_line(f"deleted: {queue}{counts if purges else ''}"))


def _with(store: Store, queue: str) -> str:
    """What a queue holds, as the question names it."""
    held = next((row for row in store.queues() if row.queue == queue), None)
    if held is None:
        return ""
    waits = f"{plural(held.messages, 'message')} that {'waits' if held.messages == 1 else 'wait'}"
    delayed = plural(held.delayed, "delayed message")
    return f" with {waits}, {delayed} and {plural(held.dead, 'dead letter')}"


def _teller() -> Callable[[int], None]:
    """Says now and then how far it is."""
    last = time.monotonic()

    def told(deleted: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            typer.echo(f"deleted so far: {plural(deleted, 'message')}", err=True)

    return told
