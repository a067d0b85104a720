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
    found = [each for each in store.queues() if internal or as_json or is_users(each)]
    if as_json:
        print_json(each._asdict() for each in found)
    else:
        print_rows([queue_row(each) for each in found], right=FIGURES)
        for each in found:
            if not each.enabled:
                print(_off(each.queue, SwitchedOff(each.off_since, each.off_why)))
            _off_tenants(store, each.queue, each.off_tenants)


def queues_by_tenant(store: Store, *, internal: bool, as_json: bool) -> None:
    """What each queue holds of each tenant."""
    found = store.queues_by_tenant()
    if as_json:
        print_json(each._asdict() for each in found)
        return
    shown = {each.queue for each in store.queues() if internal or is_users(each)}
    rows = [
        {name: getattr(each, name) for name in ("queue", "tenant", *COUNTS)}
        | {"oldest": length(int(each.oldest)) if each.ready else ""}
        | {"now": "" if each.enabled else "off"}
        for each in found
        if each.queue in shown
    ]
    print_rows(rows, right=FIGURES)
    for each in found:
        if each.queue in shown and not each.enabled:
            print(_off(each.queue, SwitchedOff(each.off_since, each.off_why), each.tenant))


def is_users(found: Metrics) -> bool:
    """Whether a queue is a user's, or an internal one that does not do what it should."""
    return not found.queue.startswith(OWN) or bool(found.dead) or not found.enabled


def queue_row(found: Metrics) -> dict[str, Any]:
    """A queue's row of a table."""
    counts = {name: getattr(found, name) for name in ("queue", *COUNTS)}
    times = {
        "oldest": length(int(found.oldest)) if found.ready else "",
        "longest held": length(int(found.longest_held)) if found.working else "",
    }
    off = f"{plural(len(found.off_tenants), 'tenant')} off" if found.off_tenants else ""
    now = off if found.enabled else "off"
    return counts | times | {"failures": found.failures, "now": now}


def _off_tenants(store: Store, queue: str, tenants: Iterable[str]) -> None:
    """Since when and why tenants are switched off."""
    for tenant in tenants:
        if (found := store.off(queue, tenant)) is not None:
            print(_off(queue, found, tenant))


def _off(queue: str, found: SwitchedOff, tenant: str = "") -> str:
    return on_one_line(
        f"tenant {tenant} of {queue} is {found}" if tenant else f"{queue} is {found}"
    )


def waiting(store: Store, queue: str, most: int, *, as_json: bool) -> None:
    """The groups in the order in which they would be taken, and why the first is the first."""
    found, every = store.waiting(queue, most), store.later(queue, most + 1)
    later = every[:most]
    if as_json:
        print_json(
            {"place": place, **_row(each), "since": each.since, "id": each.id, "body": each.item}
            for place, each in enumerate(found.ranks, 1)
        )
        print_json({"place": None, **each._asdict()} for each in later)
    else:
        _show_waiting(store, queue, found, later)
    is_whole = len(every) == len(later) and len(found.ranks) >= min(found.waiting, most + 1)
    say_if_cut(is_whole, "first", most)


def _show_waiting(store: Store, queue: str, found: Outlook, later: list[Later]) -> None:
    held = next((each for each in store.queues() if each.queue == queue), None)
    counts = {} if held is None else {"parked": held.parked, "delayed": held.delayed}
    more = "".join(f", {count} {what}" for what, count in counts.items() if count)
    print(f"{found.waiting} waiting, {found.working} worked on{more}")
    if (off := store.off(queue)) is not None:
        print(_off(queue, off))
    _off_tenants(store, queue, store.off_tenants(queue))
    print_rows(
        [
            {"place": place, **_row(each), "since": when(each.since)}
            | {"id": each.id, "first": short(each.item)}
            for place, each in enumerate(found.ranks, 1)
        ],
        right=("place", "messages", "priority"),
        spare=("first", "id", "tenant"),
    )
    if found.decided:
        print(on_one_line(dated(found.decided)))
    _limits(store, queue)
    if later:
        print("not yet:")
        print_rows(
            [each._asdict() | {"until": when(each.until)} for each in later],
            right=("messages", "priority"),
            spare=("tenant", "id"),
        )


def _limits(store: Store, queue: str) -> None:
    """The limits that let nothing through now."""
    closed = [each for each in store.limits(queue) if not each.is_open]
    if closed:
        print("limits that hold:")
        print_rows(
            [
                {
                    "of": each.of,
                    "match": "" if each.of == "queue" else each.match,
                    "name": each.name,
                    "in work": f"{each.in_work}"
                    + (f" of {each.most_in_work}" if each.most_in_work else ""),
                    "until": "" if each.opens is None else when(each.opens),
                }
                for each in closed
            ]
        )


def held(store: Store, queue: str | None, most: int, *, as_json: bool) -> None:
    """What readers hold, the longest first."""
    found = store.held(queue, most)
    if as_json:
        print_json(each._asdict() for each in found)
        return
    if not found:
        print("nothing is held")
        return
    now = time.time()
    print_rows(
        [
            {
                "token": each.token,
                "queue": each.queue,
                "group": each.group,
                "tenant": each.tenant,
                "messages": each.messages,
                "attempt": each.attempt,
                "held for": length(max(int(now - each.since), 0)),
                "lease over in": length(int(each.until - now)) if each.until > now else "now",
                "reader": f"{each.reader or 'in plain SQL'}{' (gone)' if each.gone else ''}",
                "client": each.client,
            }
            for each in found
        ],
        right=("token", "messages", "attempt", "held for", "lease over in"),
    )
    if len(found) == most:
        print(f"only the longest {most} are shown; --most N shows more", file=sys.stderr)


def take_back(
    store: Store, queue: str | None, tokens: list[int], reason: str, *, failed: bool
) -> None:
    """Take work back from its readers; all of it is there, or nothing is done."""
    known = {each.token: each.client for each in store.held(queue, MAX_NUMBER)}
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
    found = store.promotion(queue, group, priority)
    if found is None:
        fifo = any(each.queue == queue and each.discipline == FIFO for each in store.queues())
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
            _show(found, as_json=as_json)
            sys.stdout.flush()
        except UnwrittenError as error:
            raise UserError(f"{error}, or --yes; nothing was done") from None
        if not is_wanted("Raise it?", yes=yes):
            return
    if not dry:
        if not store.prioritise(queue, found.group, priority):
            raise UserError(f"promote {queue} {group}: the group has ended meanwhile")
        acted()
    if not asks:
        _show(found, as_json=as_json)
    sys.stdout.flush()
    for line in _in_the_way(store, queue, found):
        print(line, file=sys.stderr)


def _in_the_way(store: Store, queue: str, found: Promotion) -> Iterable[str]:
    """What lets nothing of a group through now, whatever its priority."""
    whose = found.tenant
    if (off := store.off(queue)) is not None:
        yield f"{_off(queue, off)}; nothing of it goes until it is on"
    if whose and (off := store.off(queue, whose)) is not None:
        yield f"{_off(queue, off, whose)}; nothing of it goes until it is on"
    for each in store.limits(queue):
        names = {"queue": queue, "tenant": whose, "group": found.group}
        meant = each.name == whose if each.name else matches(each.match, names[each.of])
        if not each.is_open and (each.of == "queue" or meant):
            of = "" if each.of == "queue" else f" of {each.of} {each.name or each.match}"
            until = "something is settled" if each.opens is None else when(each.opens)
            yield on_one_line(
                f"a limit{of} is reached; nothing of {found.group} goes until {until}"
            )


def _show(found: Promotion, *, as_json: bool) -> None:
    if as_json:
        later = [_row(each) | {"since": each.since} for each in found.later]
        print_json([{**found._asdict(), "later": later}])
        return
    if found.working:
        print(
            f"{found.group}: a reader holds it; what is left of it gets priority {found.priority}"
        )
        return
    way = (
        f"at place {found.new_place} when it can be taken"
        if found.place is None
        else f"from place {found.place} to place {found.new_place}"
    )
    print(f"{found.group}: priority {found.priority}, {way}")
    print(f"later because of it: {plural(found.delayed, 'group')}")
    print_rows(
        [_row(each) | {"group": each.name, "since": when(each.since)} for each in found.later],
        right=("messages", "priority"),
    )
    if found.delayed > len(found.later):
        sys.stdout.flush()
        print(f"only the first {len(found.later)} of these are shown", file=sys.stderr)


def declare(store: Store, path: Path) -> None:
    """Set queues, and declare services, as a file says."""
    names = store.declare(path)
    acted()
    for name in names:
        print(name)


def _row(each: Standing) -> dict[str, Any]:
    return {
        "group": each.group,
        "messages": each.items,
        "priority": each.priority,
        "tenant": each.tenant,
    }
