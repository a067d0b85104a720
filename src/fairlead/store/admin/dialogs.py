"""Conversations as an operator sees them: both ends, what waits there, and why it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.balance.times import seconds
from fairlead.errors import MessageError
from fairlead.order.key import NOTHING, UNRAISED
from fairlead.store.admin.switching import off
from fairlead.store.admin.waiting import groups_before
from fairlead.store.database.port import Database
from fairlead.store.dialogs.declared import Contract, Declared
from fairlead.store.queues.endpoints import DIALOG, ENDED, SIDES, Endpoint, both_ends, state_of
from fairlead.store.queues.settings import HELD, PARKED, Queue, known_queue
from fairlead.text import plural, to_the_second


class DialogEnd(NamedTuple):
    """One end of a dialog, without its id: who knows that can act as this end."""

    side: str
    """initiator | target."""
    service: str
    """The service at this end."""
    state: str
    """As `Conversation.state` says it."""
    queue: str
    """In which its messages wait."""
    group: str
    """Its conversation group."""
    waiting: int
    """Messages for it, those that a reader has in hand, too."""
    held: bool
    """Whether a reader holds the group."""
    reader: str
    """Who that is, host and process; "" where nobody holds it, or it is not known."""
    priority: int | None
    """To which the group was raised, or with which it was taken; None: nobody has raised it."""
    sent: int
    """Messages that this end has sent; its EndDialog or Error counts, too."""
    timer: float | None
    """When its timer is due, in seconds since 1970; None: it has none."""


class OpenDialog(NamedTuple):
    """A dialog that has not ended on both sides."""

    dialog: str
    """Its name, which both ends have."""
    contract: str
    """The contract that both keep to."""
    began: float
    """When it began, in seconds since 1970."""
    lifetime: float | None
    """When it is over, whatever is said; None: that is not limited."""
    initiator: DialogEnd
    """The end that began it."""
    target: DialogEnd | None
    """The other end; None: nothing was sent to it yet."""
    far_service: str
    """The service that the initiator began it with."""


class UnreadMessage(NamedTuple):
    """A message that waits in a conversation."""

    id: str
    """The message's."""
    type: str
    """What it is."""
    since: float
    """When it came, in seconds since 1970."""


class EndWaits(NamedTuple):
    """What waits at one end of a dialog, and why it has not been read."""

    side: str
    """initiator | target."""
    messages: Sequence[UnreadMessage]
    """The first of them, in the order in which they are read."""
    why: str
    """What it waits for."""


class ListedService(NamedTuple):
    """A service, and what is said with it."""

    service: str
    """Its name."""
    queue: str
    """In which what comes to it waits."""
    contracts: Sequence[Contract]
    """Those in which others may begin a dialog with it."""
    max_readers: int
    """How many readers it may have."""
    open: int
    """Ends of dialogs that it has, and has not ended."""


def number_of(dialog: object) -> int:
    """The number of a dialog. Raises MessageError."""
    match = DIALOG.fullmatch(dialog) if isinstance(dialog, str) else None
    if match is None:
        raise MessageError(f"dialog: found {repr_of(dialog)}, allowed: a name such as d-17")
    return int(match[1])


def waits(
    database: Database, ends: Sequence[Endpoint], clock: int | None, most: int
) -> list[EndWaits]:
    """What waits at each end, at most so many messages, and why."""
    groups, counts = _groups(database, ends), _unread(database, ends)
    return [
        EndWaits(
            SIDES[end.side],
            _messages(database, end, most),
            _why(
                database,
                known_queue(database, end.queue, clock),
                end,
                groups.get(end.id),
                waits=bool(counts.get(end.id)),
            ),
        )
        for end in ends
    ]


def listed_services(database: Database, declared: Declared) -> list[ListedService]:
    """The services that are declared, and how many ends of dialogs each has."""
    counts: dict[str, int] = dict(database.run("open_of_services"))
    return [
        ListedService(
            *(service.name, service.queue),
            [declared.contract(contract) for contract in service.contracts],
            *(service.max_readers, counts.get(service.name, 0)),
        )
        for service in declared.services.values()
    ]


class _Group(NamedTuple):
    """The group of an end."""

    end: int
    enabled: int
    """Whether its queue is on."""
    state: int
    not_before: int | None
    priority: int
    number: int
    """Of the event that raised it."""
    reader: str | None
    taken: int | None


def ends_of_open(database: Database, dialog: str, *, with_ids: bool = False) -> list[Endpoint]:
    """The ends of a dialog that is open, as `both_ends` gives them. Raises MessageError."""
    ends = both_ends(database, number_of(dialog), with_ids=with_ids)
    if all(end.state == ENDED for end in ends):
        raise MessageError(
            f"dialog: found {repr_of(dialog)}, allowed: one that is open; "
            "`fairlead conversations` lists these"
        )
    return ends


def described(database: Database, ends: Sequence[Endpoint], now: int) -> list[OpenDialog]:
    """Dialogs by their ends, the initiator's first."""
    groups, counts = _groups(database, ends), _unread(database, ends)
    ids = [end.id for end in ends]
    timers: dict[int, int] = dict(database.run("timers", ids=ids)) if ids else {}
    dialogs: dict[int, dict[int, Endpoint]] = {}
    for end in ends:
        dialogs.setdefault(end.dialog, {})[end.side] = end

    def shown(end: Endpoint, peer: Endpoint | None) -> DialogEnd:
        group = groups.get(end.id)
        held = group is not None and group.state == HELD
        due = timers.get(end.id)
        return DialogEnd(
            side=SIDES[end.side],
            service=end.service,
            state=state_of(end, peer, now),
            queue=end.queue,
            group=end.group,
            waiting=counts.get(end.id, 0),
            held=held,
            reader=(group.reader or "") if group is not None and held else "",
            priority=None if group is None or group.priority == UNRAISED else group.priority,
            sent=end.sent,
            timer=None if due is None else seconds(due),
        )

    descriptions = []
    for pair in dialogs.values():
        near, far = pair[0], pair.get(1)
        descriptions.append(
            OpenDialog(
                near.name,
                near.contract,
                seconds(near.began),
                None if near.lifetime is None else seconds(near.lifetime),
                shown(near, far),
                None if far is None else shown(far, near),
                near.far_service,
            )
        )
    return descriptions


def _groups(database: Database, ends: Sequence[Endpoint]) -> Mapping[int, _Group]:
    ids = [end.id for end in ends]
    rows = database.run("groups_of_ends", ids=ids) if ids else []
    return {row[0]: _Group(*row) for row in rows}


def _unread(database: Database, ends: Sequence[Endpoint]) -> Mapping[int, int]:
    ids = [end.id for end in ends]
    return dict(database.run("unread", ids=ids)) if ids else {}


def _messages(database: Database, end: Endpoint, most: int) -> list[UnreadMessage]:
    return [
        UnreadMessage(key, type_ or "", seconds(arrived))
        for key, type_, arrived in database.run("unread_types", conversation=end.id, most=most)
    ]


def _why(
    database: Database, queue: Queue, end: Endpoint, group: _Group | None, *, waits: bool
) -> str:
    """What an end's messages wait for."""
    if end.state == ENDED:
        return "this end has ended"
    if not waits or group is None:
        return "nothing waits"
    reasons = [f"group {end.group}: {_raised(database, group)}"]
    if group.state == HELD:
        since = "" if group.taken is None else f" since {to_the_second(group.taken)}"
        reasons.append(f"held by reader {group.reader}{since}" if group.reader else "held")
    elif group.state == PARKED and group.not_before is not None:
        reasons.append(f"released, not before {to_the_second(group.not_before)}")
    else:
        before = groups_before(database, queue, end.group)
        many = "no group goes" if not before else f"{plural(before, 'group')} go"
        reasons.append(f"{'1 group goes' if before == 1 else many} before it")
    if not group.enabled:
        reasons.append(f"queue {queue.name} is {off(database, queue)}")
    return ", ".join(reasons)


def _raised(database: Database, group: _Group) -> str:
    if group.priority == UNRAISED:
        return "not raised"
    rows = database.run("event", number=group.number) if group.number != NOTHING else []
    by = f" by {rows[0][1]} at {to_the_second(rows[0][0])}" if rows else ""
    return f"raised to {group.priority}{by}"
