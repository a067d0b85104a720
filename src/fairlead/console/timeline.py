"""Events of the journal as people read them: what happened, one sentence each, and what is now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from fairlead.balance.times import MICROS
from fairlead.store.journal.events import Event
from fairlead.store.queues.settlement import KEPT

GOOD, BAD, PLAIN = "good", "bad", ""
"""How something that happened is meant to look."""
DUE: Final = "due "
"""How the detail of what is to arrive later begins; then microseconds."""
SETTLED: Final = frozenset({"accepted", "rejected", "expired", "discarded", "dropped"})
"""After these a message is nobody's work any more."""


class Moment(NamedTuple):
    """One thing that happened, in words."""

    event: Event
    what: str
    tone: str
    of_group: bool
    """Whether it happened to the whole group."""
    until: float | None
    """Until when the lease of what was taken is, or when what was sent arrives, in seconds since
    1970."""


class MessageState(NamedTuple):
    """Where a message is, as the journal tells it."""

    state: str
    """unknown, delayed, waiting, held, done, dead, gone."""
    what: str
    tone: str
    since: float | None = None
    """Since when, in seconds since 1970."""
    until: float | None = None
    """Until when its lease is, or when it arrives."""


def told(events: Iterable[Event]) -> list[Moment]:
    """Each of them in words."""
    return [
        Moment(
            *(event, sentence(event), tone(event), not event.id and bool(event.group)),
            event.lease if event.kind == "taken" else _due(event),
        )
        for event in events
    ]


def of_message(events: Iterable[Event], id_: str) -> list[Moment]:
    """What happened to a message, from the events of its group in their order.

    What happened to its group counts while the message was there.
    """
    here, events_of_it = False, []
    for event in events:
        if event.id == id_:
            here = event.kind not in SETTLED and event.kind != "decided"
            events_of_it.append(event)
        elif here and not event.id:
            events_of_it.append(event)
    return told(events_of_it)


def state_of(moments: Sequence[Moment]) -> MessageState:
    """Where a message is after all that happened to it."""
    now = MessageState("unknown", "is not in the journal", PLAIN)
    for moment in moments:
        now = _after(moment.event) or now
    return now


def _after(event: Event) -> MessageState | None:
    """Where a message is after an event; None: where it was."""
    if event.kind == "sent" and _due(event) is not None:
        return MessageState("delayed", "arrives later", PLAIN, event.time, _due(event))
    if event.kind == "taken":
        held = f"is in the hands of {event.actor}"
        return MessageState("held", held, PLAIN, event.time, event.lease)
    states = {
        "sent": ("waiting", "waits", PLAIN),
        "arrived": ("waiting", "waits", PLAIN),
        "released": ("waiting", "waits again", PLAIN),
        "woken": ("waiting", "waits", PLAIN),
        "accepted": ("done", "is done", GOOD),
        "rejected": ("dead", "is a dead letter", BAD),
        "expired": ("dead", "is a dead letter, as it has expired", BAD),
        "discarded": ("gone", "is deleted", BAD),
        "dropped": ("gone", "was dropped", BAD),
    }
    if event.kind not in states:
        return None
    return MessageState(*states[event.kind], event.time)


def tone(event: Event) -> str:
    """How it is meant to look."""
    if event.kind in {"accepted", "switched-on", "completed"}:
        return GOOD
    if event.kind in {"rejected", "expired", "discarded", "dropped", "refused", "switched-off"}:
        return BAD
    failed = event.kind == "released" and event.detail
    nobody = event.kind == "decided" and event.destination is None and event.outcome != "control"
    return BAD if failed or nobody else PLAIN


def sentence(event: Event) -> str:
    """What happened, in words."""
    say = SENTENCES.get(event.kind)
    return event.kind if say is None else say(event)


def _due(event: Event) -> float | None:
    """When what was sent arrives, or a timer is due; None: its detail says something else."""
    number = (event.detail or "").removeprefix(DUE)
    is_due = event.detail != number and number.isascii() and number.isdecimal()
    return int(number) / MICROS if is_due else None


def _why(event: Event, before: str = ": ") -> str:
    return f"{before}{event.detail}" if event.detail else ""


def _sent(event: Event) -> str:
    raised = (
        "" if event.priority is None else f", and its group was given priority {event.priority}"
    )
    return f"sent, to arrive later{raised}" if _due(event) else f"sent{raised}{_why(event, ', ')}"


def _arrived(event: Event) -> str:
    raised = "" if event.priority is None else f"; its group was given priority {event.priority}"
    if event.detail:
        return f"put back; it {event.detail}{raised}"
    return f"arrived, as its delay was over{raised}"


def _taken(event: Event) -> str:
    attempt = "" if event.attempt is None else f", attempt {event.attempt}"
    raised = "" if event.priority is None else f", with priority {event.priority}"
    return f"taken{attempt}{raised}"


def _accepted(event: Event) -> str:
    return f"accepted; {event.detail}" if event.detail == KEPT else f"accepted{_why(event)}"


def _decided(event: Event) -> str:
    again = ", again, as its receiver had failed" if event.detail == "redelivered" else ""
    if event.destination is None:
        return f"cluster {event.cluster} chose nobody: {event.outcome}{again}"
    place = "" if event.sequence is None else f", number {event.sequence} of {event.stream}"
    return f"cluster {event.cluster} chose {event.destination}{place}{again}"


def _changed(event: Event) -> str:
    target = event.destination or event.cluster or ""
    try:
        change = json.loads(event.detail or "{}")
        attribute, value = change["attribute"], change["value"]
    except (ValueError, KeyError, TypeError):
        return f"{target} was changed{_why(event)}"
    if attribute == "added":
        settings = {key: setting for key, setting in dict(value).items() if key != "name"}
        with_ = f" with {json.dumps(settings, ensure_ascii=False)}" if settings else ""
        return f"{target} was added{with_}"
    if attribute == "removed":
        return f"{target} was removed"
    if attribute == "reset":
        return "everybody was counted as not served"
    if attribute == "due":
        return "what was due by itself was done"
    return f"{attribute} of {target} became {json.dumps(value, ensure_ascii=False)}"


def _of_tenant(event: Event, what: str) -> str:
    whose = f"tenant {event.tenant} of the queue" if event.tenant else "the queue"
    return f"{whose} was {what}{_why(event)}"


SENTENCES: Final[dict[str, Callable[[Event], str]]] = {
    "sent": _sent,
    "arrived": _arrived,
    "raised": lambda event: f"given priority {event.priority}",
    "taken": _taken,
    "accepted": _accepted,
    "rejected": lambda event: f"rejected; it became a dead letter{_why(event)}",
    "released": lambda event: f"given back{_why(event)}",
    "woken": lambda event: "the delay of its release was over",
    "expired": lambda event: f"expired, and became a dead letter{_why(event)}",
    "discarded": lambda event: f"deleted{_why(event)}",
    "dropped": lambda event: f"dropped{_why(event)}",
    "begun": lambda event: f"dialog begun{_why(event)}",
    "ended": lambda event: f"this end of the dialog has ended{_why(event)}",
    "timed": lambda event: "a timer was set, or a lifetime",
    "refused": lambda event: f"refused, and the sender got an Error{_why(event)}",
    "switched-off": lambda event: _of_tenant(event, "switched off"),
    "switched-on": lambda event: _of_tenant(event, "switched on"),
    "deleted": lambda event: f"the queue was deleted{_why(event)}",
    "schedule-paused": lambda event: f"schedule {event.id} was paused{_why(event)}",
    "schedule-resumed": lambda event: f"schedule {event.id} was resumed{_why(event)}",
    "schedule-dropped": lambda event: f"schedule {event.id} was dropped{_why(event)}",
    "loaded": lambda event: f"cluster {event.cluster} began anew with a file",
    "changed": _changed,
    "decided": _decided,
    "completed": lambda event: f"{event.destination} has completed a message",
    "recovered": lambda event: "a backup was restored; a new epoch of the journal begins",
}
"""Kind → what its event says."""
