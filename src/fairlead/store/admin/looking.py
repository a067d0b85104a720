"""Groups page by page in their order, one group as it is now, and the processes that take work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.balance.times import seconds
from fairlead.errors import MessageError, StaleViewError
from fairlead.order.key import UNRAISED
from fairlead.order.outlook import Standing, ranks_with_reasons
from fairlead.order.waiting import Item, Tenant
from fairlead.store.admin.waiting import FIRST, LAST, count_places, put_groups, waiting_tenants
from fairlead.store.database.port import Database, Row
from fairlead.store.queues.leases import FOR_OTHERS, STOPS, Leases
from fairlead.store.queues.settings import FAIR, HELD, PARKED, READY, Queue

STATES: Final = {READY: "ready", HELD: "held", PARKED: "parked"}
END: Final = "\U0010ffff"
"""Behind every name that begins as one does, where names are compared by their characters."""


class RankedGroup(NamedTuple):
    """A group that can be taken, and why it stands where it does."""

    place: int
    """1 for the one that would be taken next; of a tenant's, where the queue has tenants."""
    standing: Standing
    why: str
    """Why it goes before the next one of the page; "" for the last of all."""


class GroupsPage(NamedTuple):
    """Some of the groups that can be taken, in their order."""

    groups: list[RankedGroup]
    after: str
    """Behind which the next page begins; "": there is none."""
    shared: bool
    """Whether tenants share the queue, and these are their turns: then there is no next page."""


class GroupNow(NamedTuple):
    """A group as it is now."""

    group: str
    tenant: str
    state: str
    """ready | held | parked."""
    priority: int | None
    """To which it was raised, be it only now; None: it was not."""
    messages: int
    """How many wait, or are worked on."""
    since: float | None
    """When the first of them arrived; None: none waits."""
    failures: int
    """In a row."""
    until: float | None
    """When it can be taken, or its lease is over; None: it can be taken."""
    token: int | None
    """What settles it; None: nobody holds it."""
    seen: str
    """Changes with its state and with each raise; `prioritise_seen` wants it."""


class StoreProcess(NamedTuple):
    """A process that takes work."""

    name: str
    """Host and process, as the journal has it."""
    host: str
    pid: int
    """0: it has left."""
    since: float
    """When it began to take."""
    holds: int
    """Groups that it holds."""
    oldest: float | None
    """When it took the oldest of these; None: it holds none."""
    for_others: bool
    """Whether it holds for others, as a server does."""
    stopping: bool
    """Whether it was told to stop."""
    gone: bool
    """Whether nothing of it is there, as far as can be seen now."""


def groups_page(
    database: Database, queue: Queue, most: int, after: str, tenant: str | None
) -> GroupsPage:
    """The groups behind a place, of one tenant or of all, at most so many."""
    fair = queue.fair == FAIR
    if fair and tenant is None:
        if after:
            raise MessageError(
                f"tenant: found none, allowed: one of those that share queue {queue.name!r}"
            )
        turns = ranks_with_reasons(waiting_tenants(database, queue, most + 1), queue.step, most)
        return GroupsPage(
            [RankedGroup(k, *turn) for k, turn in enumerate(turns, 1)], "", shared=True
        )
    behind = place_in(after) if after else FIRST
    whose = tenant or ""
    values = dict(zip(("a1", "a2"), behind, strict=True))
    if fair:
        name, more = "tenant_groups_after", {"tenant": whose}
    else:
        name, more = "groups_after_place", {}
    rows = database.run(name, queue=queue.id, most=most + 1, **values, **more)
    ranked = Tenant[Item](whose, queue.share(whose), 0)
    put_groups(database, queue, ranked, rows)
    reasons = ranks_with_reasons([ranked], queue.step, most)
    place = _places_before(database, queue, rows, whose if fair else None, first=not after)
    return GroupsPage(
        [RankedGroup(place + k, *reason) for k, reason in enumerate(reasons, 1)],
        ".".join(map(str, rows[most - 1][8:10])) if len(rows) > most else "",
        shared=False,
    )


def place_in(cursor: str) -> tuple[int, int]:
    """The place that a cursor names. Raises MessageError."""
    parts = cursor.split(".")
    try:
        first, second = (int(part) for part in parts)
    except ValueError:
        first = second = LAST + 1
    if not all(-LAST <= number <= LAST for number in (first, second)) or len(cursor) > 50:
        raise MessageError(f"after: found {cursor[:50]!r}, allowed: what a page has given")
    return first, second


def _places_before(
    database: Database, queue: Queue, rows: Sequence[Row], tenant: str | None, *, first: bool
) -> int:
    """How many groups stand before a page."""
    if first or not rows:
        return 0
    first_place = rows[0][8], rows[0][9]
    return count_places(database, queue, tenant, FIRST, first_place)


def group_now(database: Database, queue: Queue, group: str) -> GroupNow | None:
    """A group as it is now; None: there is none of this name, so nothing of it waits."""
    rows = database.run("group_now", queue=queue.id, name=group)
    return _now(rows[0]) if rows else None


def named_groups(
    database: Database, queue: Queue, beginning: str, after: str, most: int
) -> list[GroupNow]:
    """The groups whose names begin so, behind one of them, in the order of their names."""
    rows = database.run(
        "named_groups",
        queue=queue.id,
        beginning=beginning,
        end=beginning + END,
        behind=after,
        most=most,
    )
    return [_now(row) for row in rows]


def _now(row: Row) -> GroupNow:
    name, tenant, state, raised, number, messages, head, arrived, failures, until, token = row
    return GroupNow(
        name,
        tenant,
        STATES[state],
        None if raised == UNRAISED else raised,
        messages,
        seconds(arrived) if head else None,
        failures,
        None if until is None else seconds(until),
        token,
        f"{state}.{number}.{token or 0}",
    )


def check_seen(database: Database, queue: Queue, group: str, seen: str) -> None:
    """Raises StaleViewError, which says what has changed, for a group that is not as was seen.

    Of several who have seen the same, one at a time goes on; readers wait for none of them.
    """
    database.run("lock_seen", queue=queue.id, name=group)
    now = group_now(database, queue, group)
    if now is None:
        raise StaleViewError(f"group {group!r}: all that waited in it is gone")
    if now.seen != seen:
        raise StaleViewError(f"group {group!r}: {_changed(now, seen)}")


def _changed(now: GroupNow, seen: str) -> str:
    if not seen.startswith(f"{_number_of(now.state)}."):
        doing = {"ready": "it can be taken now", "held": "a reader has it now"}
        return doing.get(now.state, "it was released with a delay")
    if now.seen.split(".")[1:2] != seen.split(".")[1:2]:
        return f"somebody has raised it to {now.priority}"
    return "another reader has it now"


def _number_of(state: str) -> int:
    return next(number for number, word in STATES.items() if word == state)


def processes(database: Database, leases: Leases) -> list[StoreProcess]:
    """The processes that take work, those that hold most first."""
    rows = database.run("processes")
    gone = leases.gone_among(database, [(id_, host, pid) for id_, host, pid, *_ in rows])
    return [
        StoreProcess(
            name,
            host,
            pid,
            seconds(since),
            holds,
            None if oldest is None else seconds(oldest),
            stopping == FOR_OTHERS,
            stopping == STOPS,
            id_ in gone,
        )
        for id_, host, pid, name, since, stopping, holds, oldest in rows
    ]
