"""A queue is deleted, if nobody needs it."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.balance.objects import listed, repr_of
from fairlead.errors import MessageError
from fairlead.store.admin.locks import lock_queues
from fairlead.store.admin.purging import check_is_users
from fairlead.store.database.port import Database
from fairlead.store.dialogs import declared
from fairlead.store.journal.log import Log
from fairlead.store.queues.settings import Queue, known_queue
from fairlead.text import plural


def check_unused(database: Database, queue: Queue) -> None:
    """Raises MessageError for a queue that something else of the store names, or somebody reads."""
    check_is_users(queue.name)
    if users := [*_users(database, queue)]:
        raise MessageError(
            f"queue: found {repr_of(queue.name)}, which is in use ({listed(users)}), allowed: one "
            "that nothing is declared for and nobody reads"
        )


def delete(database: Database, name: str, now: int | None, actor: str, reason: str) -> None:
    """Delete a queue in which nothing is. Raises MessageError."""
    check_unused(database, known_queue(database, name, now))
    lock_queues(database)  # senders look at queues first: none is about to add to it
    queue = known_queue(database, name, now)
    check_unused(database, queue)
    ((messages, delayed, dead),) = database.run("what_is_in", queue=queue.id)
    counts = {"waiting": messages, "delayed": delayed, "dead": dead}
    if contents := [f"{count} {what}" for what, count in counts.items() if count]:
        start = f"queue: found {repr_of(name)}, which is not empty ({listed(contents)}), allowed: "
        end = ", which deletes that first"
        raise MessageError(
            f"{start}an empty one, or with purge=True{end}",
            in_shell=f"{start}an empty one, or with --purge{end}",
        )
    log = Log(database, name, queue.moment, actor)
    log.add("deleted", detail=reason or None)
    log.flush()
    database.run("drop_queue", queue=queue.id)


def _users(database: Database, queue: Queue) -> Iterator[str]:
    """What needs a queue, in words."""
    from fairlead.store.clusters.shares import pool

    for service in declared.read(database).services.values():
        if service.queue == queue.name:
            yield f"service {service.name}"
    for (name,) in database.run("schedules_to", queue=queue.name):
        yield f"schedule {name}"
    for (name,) in database.run("cluster_names"):
        for machine in pool(database, name).machines:
            attributes = machine.attributes
            if (
                attributes.get("present", True)
                and (attributes.get("queue") or machine.name) == queue.name
            ):
                yield f"destination {machine.name} of cluster {name}"
    ((ends, held, readers),) = database.run("who_needs", queue=queue.id, name=queue.name)
    if ends:
        yield f"{plural(ends, 'end')} of dialogs"
    if held:
        yield f"{plural(held, 'group')} in the hands of readers"
    if readers:
        yield f"{plural(readers, 'reader')} waiting for work"
