"""Channels and the queue manager of a store, for an operator."""

from __future__ import annotations

from typing import Final

from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.cli.output import acted
from fairlead.cli.store.printing import print_json, print_rows, when
from fairlead.errors import UserError
from fairlead.store.channels.rows import OUT, PAUSED, RUNS, STOPPED, ChannelRow
from fairlead.store.store import Store

WANTED: Final = {"start": RUNS, "resume": RUNS, "stop": STOPPED, "pause": PAUSED}


def show(store: Store, *, as_json: bool) -> None:
    """All channels: their states, and what waits for each."""
    counts = {row.queue: row for row in store.queues()}
    rows = []
    for row in store.channels():
        queue = counts.get(transmission_queue(row.name))
        sends = row.direction == OUT
        rows.append(
            {
                "channel": row.name,
                "direction": "to" if sends else "from",
                "queue manager": row.peer,
                "state": row.state,
                "waiting": (queue.messages if queue else 0) + row.under_way if sends else None,
                "dead": queue.dead if queue else 0,
                "messages": row.messages,
                "batch": row.number,
                "wanted": row.wanted,
                "error": row.error,
                "since": when(row.since / 1_000_000) if row.error else "",
            }
        )
    if as_json:
        print_json(rows)
        return
    print_rows(
        [{key: "" if value is None else value for key, value in row.items()} for row in rows],
        spare=("since", "batch", "wanted", "messages"),
    )


def act(store: Store, what: str, channel: str) -> None:
    """Start, stop, pause, resume or reset one; the server does it within a second or two."""
    row = _sending(store, channel)
    if what == "reset":
        store.want_channel(channel, "reset")
        acted()
        print(f"{channel}: goes on behind the batch that {row.peer} has last")
        return
    store.want_channel(channel, WANTED[what])
    acted()
    print(f"{channel}: {'runs when something waits' if WANTED[what] == RUNS else WANTED[what]}")


def _sending(store: Store, channel: str) -> ChannelRow:
    rows = {row.name: row for row in store.channels() if row.direction == OUT}
    if channel not in rows:
        raise UserError(
            f"channel: found {channel!r}, allowed: {', '.join(rows) or 'none: no server has run'}"
        )
    return rows[channel]


def show_manager(store: Store, *, as_json: bool) -> None:
    """Whose store this is, and whether a server runs."""
    row = store.queue_manager()
    if row is None:
        raise UserError(
            f"{store.place}: found a store that is no queue manager's, allowed: one that `fairlead "
            "serve --queue-manager NAME` has served"
        )
    state = {
        "queue manager": row.name,
        "cluster": row.cluster,
        "server": row.server,
        "suspended": row.suspended,
    }
    if as_json:
        print_json([state])
    else:
        print_rows([state])


def change_manager(store: Store, what: str, queue: str | None) -> None:
    """Suspend or resume it, or disable or enable puts to a queue of its own."""
    attribute, value = {
        "suspend": ("suspended", True),
        "resume": ("suspended", False),
        "disable": ("put_enabled", False),
        "enable": ("put_enabled", True),
    }[what]
    count = store.change_own(attribute, value, queue)
    acted()
    which = queue or "the queue manager"
    print(f"{which}: {attribute} is {str(value).lower()}; {count} queue managers are told")
