"""What happened to a queue, as messages that a replay takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.balance.message import SET_PRIORITY
from fairlead.store.events import Event


class Recorded(NamedTuple):
    """A table of messages."""

    rows: list[dict[str, Any]]
    """As they came: `id`, `time`, `group`, `priority`, `tenant`, `cost`, `service_time`, `type`."""
    unfinished: int
    """Messages that were not accepted: nobody knows how long they take."""


def recorded(events: Iterable[Event], queue: str) -> Recorded:
    """The messages of a queue, from the events of its store.

    `service_time` is that from when the group was taken to when it was accepted; the messages of
    one take share it alike. A raise is a row of type SetPriority.
    """
    came: dict[str, dict[str, Any]] = {}
    taken: dict[int | None, float] = {}
    shares: Counter[int | None] = Counter()
    done: dict[str, tuple[int | None, float]] = {}
    for event in (each for each in events if each.queue == queue):
        if event.kind == "raised":
            came[f"\0{event.number}"] = _row(event, f"raise-{event.number}", SET_PRIORITY)
        elif event.kind == "arrived" or (event.kind == "sent" and event.detail is None):
            came.setdefault(event.id, _row(event, event.id))
        elif event.kind == "taken":
            taken[event.token] = event.time
        elif event.kind in {"accepted", "rejected"} and event.id:
            shares[event.token] += 1
            if event.kind == "accepted":
                done[event.id] = event.token, event.time
    rows = []
    for key, row in came.items():
        if key in done:
            token, end = done[key]
            row["service_time"] = max(end - taken.get(token, end), 0) / shares[token]
        if key in done or row["type"]:
            rows.append(row)
    return Recorded(rows, len(came) - len(rows))


def _row(event: Event, id_: str, type_: str | None = None) -> dict[str, Any]:
    return {
        "id": id_,
        "time": event.time,
        "group": event.group or None,
        "priority": event.priority,
        "tenant": event.tenant or None,
        "cost": event.cost or 1,
        "service_time": 0.0,
        "type": type_,
    }
