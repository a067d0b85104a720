"""What happened in a store: its events, or the tables that other commands take."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import on_one_line, repr_of
from fairlead.cli.arguments import command_line
from fairlead.cli.store.printing import print_json
from fairlead.config.moments import moment
from fairlead.config.written import as_toml
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.store.journal.events import CURSOR, Event, EventChoice
from fairlead.store.journal.export import changes as changes_in
from fairlead.store.journal.export import decisions as decisions_in
from fairlead.store.journal.export import recorded, with_added
from fairlead.store.store import Store
from fairlead.text import plural


class PrintedEvents(NamedTuple):
    """Which events are wanted, and how they are printed; None: any."""

    last: int | None = None
    group: str | None = None
    id: str | None = None
    actor: str | None = None
    kind: Sequence[str] = ()
    short: bool = False


def journal(
    store: Store,
    since: str | None,
    queue: str | None,
    cluster: str | None,
    *,
    messages: bool,
    decisions: bool,
    changes: bool,
    file: bool,
    wanted: PrintedEvents,
) -> None:
    """Print the events, or what they tell of a queue or a cluster. Raises UserError."""
    kinds = {
        "--messages": messages,
        "--decisions": decisions,
        "--changes": changes,
        "--file": file,
    }
    _check(since, queue, cluster, [name for name, flag in kinds.items() if flag], wanted)
    if cluster is not None:
        store.pool(cluster)  # refused if there is none
    if queue is not None:
        store.check_queue(queue)
    cursor, start = start_of(since)
    events = partial(store.journal, cursor, start=start)
    if messages and queue is not None:
        _messages(events(queue=queue), queue)
    elif decisions and cluster is not None:
        decided = events(kind=("decided", "taken", "accepted"))
        print_json(decisions_in(decided, cluster, by_time=_is_site(store, cluster)))
    elif changes and cluster is not None:
        changed = events(cluster=cluster, kind="changed")
        print_json(changes_in(changed, cluster, names_cluster=_is_site(store, cluster)))
    elif file and cluster is not None:
        need("tables", "journal --file")
        listed = Cluster.from_dict(store.pool(cluster).file, default_name=cluster)
        print(as_toml(with_added(events(cluster=cluster, kind="changed"), listed)), end="")
    else:
        which = EventChoice(
            queue=queue,
            cluster=cluster,
            group=wanted.group,
            id=wanted.id,
            actor=wanted.actor,
            kind=wanted.kind or None,
            start=start,
        )
        if wanted.last is None:
            _events(store.journal(cursor, **which), wanted)
        else:
            _events(last(store, wanted.last, which), wanted)


def _is_site(store: Store, cluster: str) -> bool:
    """Whether the cluster is a queue manager's: then there are others, with stores of their own."""
    manager = store.queue_manager()
    return manager is not None and manager.cluster == cluster


def _check(
    since: str | None,
    queue: str | None,
    cluster: str | None,
    tables: list[str],
    wanted: PrintedEvents,
) -> None:
    """Refuse options that do not go together. `tables`: those asked for instead of events."""
    if len(tables) > 1:
        raise UserError(
            "journal: found several of --messages, --decisions, --changes and --file, allowed: one "
            "of them"
        )
    if wanted != PrintedEvents() and tables:
        raise UserError(
            "journal: found --last, --group, --id, --actor, --kind or --short "
            f"with {tables[0]}, allowed: with events"
        )
    if wanted.last is not None and since is not None:
        raise UserError("journal: found --last and --since, allowed: one of them")
    if tables == ["--messages"]:
        if queue is None or cluster is not None:
            raise UserError("journal --messages needs --queue NAME")
    elif tables and (cluster is None or queue is not None):
        raise UserError(f"journal {tables[0]} needs --cluster NAME")


def _events(found: Iterable[Event], wanted: PrintedEvents) -> None:
    """Print them. On stderr: that there are none of a name, or where there are more."""
    groups: dict[str, None] = {}
    count = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal count
        for event in found:
            count += 1
            if event.group:
                groups[event.group] = None
            yield _short(event.to_dict()) if wanted.short else event.to_dict()

    print_json(rows())
    sys.stdout.flush()
    names = {"message": wanted.id, "group": wanted.group, "actor": wanted.actor}
    terms = [f"{what} {repr_of(name)}" for what, name in names.items() if name is not None]
    if terms and not count:
        kind = f"{' or '.join(wanted.kind)} " if wanted.kind else ""
        print(f"found no {kind}event of {' in '.join(terms)}", file=sys.stderr)
    if wanted.id is not None and wanted.group is None and not wanted.kind:
        for group in groups:
            advice = (
                f"{command_line(['fairlead', 'journal', '--group', group])} tells when it was taken"
            )
            line = f"its group is {repr_of(group)}: {advice} and what came of it"
            print(on_one_line(line), file=sys.stderr)


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "")}


def last(store: Store, most: int, which: EventChoice) -> Collection[Event]:
    """The latest of these events, at most so many."""
    return deque(store.journal(store.latest(most, **which), **which), maxlen=most)


def start_of(since: str | None) -> tuple[str | None, float | None]:
    """What --since says: the cursor after which events are wanted, or the time from which."""
    if since is None or CURSOR.fullmatch(since):
        return since, None
    return None, moment("--since", since, time.time(), "; or an event's cursor")


def _messages(found: Iterator[Event], queue: str) -> None:
    table = recorded(found, queue)
    print_json(table.rows)
    if table.unfinished:
        left = plural(table.unfinished, "message")
        print(f"left out, as not accepted: {left}", file=sys.stderr)
