"""What happened in a store: its events, or the tables that other commands take."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from fairlead.balance.cluster import Cluster
from fairlead.balance.times import moment
from fairlead.cli.store.printing import print_json
from fairlead.config.written import as_toml
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.store.journal.events import CURSOR, Event
from fairlead.store.journal.export import changes as changes_in
from fairlead.store.journal.export import decisions as decisions_in
from fairlead.store.journal.export import recorded, with_added
from fairlead.store.store import Store
from fairlead.text import plural


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
) -> None:
    """Print the events, or what they tell of a queue or a cluster. Raises UserError."""
    if messages + decisions + changes + file > 1:
        raise UserError(
            "journal: found several of --messages, --decisions, --changes and --file, allowed: one "
            "of them"
        )
    if messages and (queue is None or cluster is not None):
        raise UserError("journal --messages needs --queue NAME")
    if (decisions or changes or file) and (cluster is None or queue is not None):
        what = "--decisions" if decisions else "--changes" if changes else "--file"
        raise UserError(f"journal {what} needs --cluster NAME")
    if cluster is not None:
        store.pool(cluster)  # refused if there is none
    if queue is not None:
        store.check_queue(queue)
    found = events(store, since)
    if messages and queue is not None:
        _messages(found, queue)
    elif decisions and cluster is not None:
        print_json(decisions_in(found, cluster))
    elif changes and cluster is not None:
        print_json(changes_in(found, cluster))
    elif file and cluster is not None:
        need("tables", "journal --file")
        listed = Cluster.from_dict(store.pool(cluster).file, default_name=cluster)
        print(as_toml(with_added(found, listed)), end="")
    else:
        print_json(
            each.to_dict()
            for each in found
            if queue in (None, each.queue) and cluster in (None, each.cluster)
        )


def events(store: Store, since: str | None) -> Iterator[Event]:
    """The events after a cursor, or from a time on."""
    if since is None or CURSOR.fullmatch(since):
        return store.journal(since)
    first = moment(since, "--since", UserError) / 1_000_000
    return (each for each in store.journal() if each.time >= first)


def _messages(found: Iterator[Event], queue: str) -> None:
    table = recorded(found, queue)
    print_json(table.rows)
    if table.unfinished:
        left = plural(table.unfinished, "message")
        print(f"left out, as not accepted: {left}", file=sys.stderr)
