"""What queues hold, who waits, and what an operator does about it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from fairlead.balance.objects import on_one_line
from fairlead.cli.output import UnwrittenError, acted
from fairlead.cli.store.asking import is_wanted
from fairlead.cli.store.printing import print_json, print_rows, say_if_cut, short, when
from fairlead.errors import UserError
from fairlead.order.agenda import FIFO
from fairlead.order.outlook import Outlook, Standing
from fairlead.store.admin.queues import Metrics
from fairlead.store.admin.switching import SwitchedOff
from fairlead.store.admin.waiting import Later, Promotion
from fairlead.store.arguments import MAX_NUMBER, OWN
from fairlead.store.queues.limiting import matches
from fairlead.store.store import Store
from fairlead.text import dated, length, plural

COUNTS: Final = ("messages", "ready", "working", "parked", "delayed", "dead")
FIGURES: Final = (*COUNTS, "oldest", "longest held", "failures")
"""The columns of numbers."""


def queues(store: Store, *, internal: bool, as_json: bool) -> None:
    """What each queue holds; `internal`: in a table those of servers, too."""
    rows = [row for row in store.queues() if internal or as_json or is_users(row)]
    if as_json:
        print_json(row._asdict() for row in rows)
    else:
        print_rows([queue_row(row) for row in rows], right=FIGURES)
        for row in rows:
            if not row.enabled:
                print(_off(row.queue, SwitchedOff(row.off_since, row.off_why)))
            _off_tenants(store, row.queue, row.off_tenants)


def queues_by_tenant(store: Store, *, internal: bool, as_json: bool) -> None:
    """What each queue holds of each tenant."""
    entries = store.queues_by_tenant()
    if as_json:
        print_json(entry._asdict() for entry in entries)
        return
    shown = {row.queue for row in store.queues() if internal or is_users(row)}
    rows = [
        {name: getattr(entry, name) for name in ("queue", "tenant", *COUNTS)}
        | {"oldest": length(int(entry.oldest)) if entry.ready else ""}
        | {"now": "" if entry.enabled else "off"}
        for entry in entries
        if entry.queue in shown
    ]
    print_rows(rows, right=FIGURES)
    for entry in entries:
        if entry.queue in shown and not entry.enabled:
            print(_off(entry.queue, SwitchedOff(entry.off_since, entry.off_why), entry.tenant))


def is_users(metrics: Metrics) -> bool:
    """Whether a queue is a user's, or an internal one that does not do what it should."""
    return not metrics.queue.startswith(OWN) or bool(metrics.dead) or not metrics.enabled


def queue_row(metrics: Metrics) -> dict[str, Any]:
    """A queue's row of a table."""
    counts = {name: getattr(metrics, name) for name in ("queue", *COUNTS)}
    times = {
        "oldest": length(int(metrics.oldest)) if metrics.ready else "",
        "longest held": length(int(metrics.longest_held)) if metrics.working else "",
    }
    off = f"{plural(len(metrics.off_tenants), 'tenant')} off" if metrics.off_tenants else ""
    now = off if metrics.enabled else "off"
    return counts | times | {"failures": metrics.failures, "now": now}


def _off_tenants(store: Store, queue: str, tenants: Iterable[str]) -> None:
    """Since when and why tenants are switched off."""
    for tenant in tenants:
        if (off := store.off(queue, tenant)) is not None:
            print(_off(queue, off, tenant))


def _off(queue: str, off: SwitchedOff, tenant: str = "") -> str:
    return on_one_line(f"tenant {tenant} of {queue} is {off}" if tenant else f"{queue} is {off}")


def waiting(store: Store, queue: str, most: int, *, as_json: bool) -> None:
    """The groups in the order in which they would be taken, and why the first is the first."""
    outlook, later = store.waiting(queue, most + 1), store.later(queue, most + 1)
    is_whole = len(outlook.ranks) <= most and len(later) <= most
    outlook = outlook._replace(ranks=outlook.ranks[:most])
    later = later[:most]
    if as_json:
        print_json(
            {"place": place, **_row(rank), "since": rank.since, "id": rank.id, "body": rank.item}
            for place, rank in enumerate(outlook.ranks, 1)
        )
        print_json({"place": None, **entry._asdict()} for entry in later)
    else:
        _show_waiting(store, queue, outlook, later)
    say_if_cut(is_whole, "first", most)


def _show_waiting(store: Store, queue: str, outlook: Outlook, later: list[Later]) -> None:
    held = next((row for row in store.queues() if row.queue == queue), None)
    counts = {} if held is None else {"parked": held.parked, "delayed": held.delayed}
    more = "".join(f", {count} {what}" for what, count in counts.items() if count)
    print(f"{outlook.waiting} waiting, {outlook.working} worked on{more}")
    if (off := store.off(queue)) is not None:
        print(_off(queue, off))
    _off_tenants(store, queue, store.off_tenants(queue))
    print_rows(
        [
            {"place": place, **_row(rank), "since": when(rank.since)}
            | {"id": rank.id, "first": short(rank.item)}
            for place, rank in enumerate(outlook.ranks, 1)
        ],
        right=("place", "messages", "priority"),
        spare=("first", "id", "tenant"),
    )
    if outlook.decided:
        print(on_one_line(dated(outlook.decided)))
    _limits(store, queue)
    if later:
        print("not yet:")
        print_rows(
            [entry._asdict() | {"until": when(entry.until)} for entry in later],
            right=("messages", "priority"),
            spare=("tenant", "id"),
        )


def _limits(store: Store, queue: str) -> None:
    """The limits that let nothing through now."""
    closed = [limit for limit in store.limits(queue) if not limit.is_open]
    if closed:
        print("limits that hold:")
        print_rows(
            [
                {
                    "of": limit.of,
                    "match": "" if limit.of == "queue" else limit.match,
                    "name": limit.name,
                    "in work": f"{limit.in_work}"
                    + (f" of {limit.most_in_work}" if limit.most_in_work else ""),
                    "until": "" if limit.opens is None else when(limit.opens),
                }
                for limit in closed
            ]
        )


def held(store: Store, queue: str | None, most: int, *, as_json: bool) -> None:
    """What readers hold, the longest first."""
    holds = store.held(queue, most)
    if as_json:
        print_json(hold._asdict() for hold in holds)
        return
    if not holds:
        print("nothing is held")
        return
    now = time.time()
    print_rows(
        [
            {
                "token": hold.token,
                "queue": hold.queue,
                "group": hold.group,
                "tenant": hold.tenant,
                "messages": hold.messages,
                "attempt": hold.attempt,
                "held for": length(max(int(now - hold.since), 0)),
                "lease over in": length(int(hold.until - now)) if hold.until > now else "now",
                "reader": f"{hold.reader or 'in plain SQL'}{' (gone)' if hold.gone else ''}",
                "client": hold.client,
            }
            for hold in holds
        ],
        right=("token", "messages", "attempt", "held for", "lease over in"),
    )
    if len(holds) == most:
        print(f"only the longest {most} are shown; --most N shows more", file=sys.stderr)


def take_back(
    store: Store, queue: str | None, tokens: list[int], reason: str, *, failed: bool
) -> None:
    """Take work back from its readers; all of it is there, or nothing is done."""
    known = {hold.token: hold.client for hold in store.held(queue, MAX_NUMBER)}
    if gone := [token for token in tokens if token not in known]:
        of = "" if queue is None else f" of {queue}"
        raise UserError(f"held --take-back {gone[0]}: nobody holds work{of} with this token")
    count = sum(store.take_back(token, reason, failed=failed) for token in tokens)
    acted()
    print(f"taken back: {plural(count, 'group')}")
    sys.stdout.flush()
    for client in dict.fromkeys(known[token] for token in tokens if known[token]):
        line = (
            f"{client} is an AMQP client that goes on taking, perhaps the same group; `[[refuse]]` "
            "in the server's file ends it: docs/how-to/serve-access.md"
        )
        print(on_one_line(line), file=sys.stderr)


def promote(
    store: Store,
    queue: str,
    group: str,
    priority: int | None,
    *,
    yes: bool,
    dry: bool,
    as_json: bool,
) -> None:
    """Show whom raising a group delays, and do it."""
    promotion = store.promotion(queue, group, priority)
    if promotion is None:
        fifo = any(row.queue == queue and row.discipline == FIFO for row in store.queues())
        why = (
            "found a queue that is first come, first served, allowed: one that is ordered by "
            "priority"
            if fifo
            else "found no such group, allowed: one that lives"
        )
        raise UserError(f"promote {queue} {group}: {why}")
    asks = not dry and not yes and sys.stdin.isatty()
    if asks:
        try:
            _show(promotion, as_json=as_json)
            sys.stdout.flush()
        except UnwrittenError as error:
            raise UserError(f"{error}, or --yes; nothing was done") from None
        if not is_wanted("Raise it?", yes=yes):
            return
    if not dry:
        if not store.prioritise(queue, promotion.group, priority):
            raise UserError(f"promote {queue} {group}: the group has ended meanwhile")
        acted()
    if not asks:
        _show(promotion, as_json=as_json)
    sys.stdout.flush()
    for line in _in_the_way(store, queue, promotion):
        print(line, file=sys.stderr)


def _in_the_way(store: Store, queue: str, promotion: Promotion) -> Iterable[str]:
    """What lets nothing of a group through now, whatever its priority."""
    whose = promotion.tenant
    if (off := store.off(queue)) is not None:
        yield f"{_off(queue, off)}; nothing of it goes until it is on"
    if whose and (off := store.off(queue, whose)) is not None:
        yield f"{_off(queue, off, whose)}; nothing of it goes until it is on"
    for limit in store.limits(queue):
        names = {"queue": queue, "tenant": whose, "group": promotion.group}
        meant = limit.name == whose if limit.name else matches(limit.match, names[limit.of])
        if not limit.is_open and (limit.of == "queue" or meant):
            of = "" if limit.of == "queue" else f" of {limit.of} {limit.name or limit.match}"
            until = "something is settled" if limit.opens is None else when(limit.opens)
            yield on_one_line(
                f"a limit{of} is reached; nothing of {promotion.group} goes until {until}"
            )


def _show(promotion: Promotion, *, as_json: bool) -> None:
    if as_json:
        later = [_row(rank) | {"since": rank.since} for rank in promotion.later]
        print_json([{**promotion._asdict(), "later": later}])
        return
    if promotion.working:
        print(
            f"{promotion.group}: a reader holds it; what is left of it gets priority "
            f"{promotion.priority}"
        )
        return
    way = (
        f"at place {promotion.new_place} when it can be taken"
        if promotion.place is None
        else f"from place {promotion.place} to place {promotion.new_place}"
    )
    print(f"{promotion.group}: priority {promotion.priority}, {way}")
    print(f"later because of it: {plural(promotion.delayed, 'group')}")
    print_rows(
        [_row(rank) | {"group": rank.name, "since": when(rank.since)} for rank in promotion.later],
        right=("messages", "priority"),
    )
    if promotion.delayed > len(promotion.later):
        sys.stdout.flush()
        print(f"only the first {len(promotion.later)} of these are shown", file=sys.stderr)


def declare(store: Store, path: Path) -> None:
    """Set queues, and declare services, as a file says."""
    names = store.declare(path)
    acted()
    for name in names:
        print(name)


def _row(standing: Standing) -> dict[str, Any]:
    return {
        "group": standing.group,
        "messages": standing.items,
        "priority": standing.priority,
        "tenant": standing.tenant,
    }
