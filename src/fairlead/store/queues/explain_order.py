"""Why one group was taken before another, as the journal tells it.

The events of the two groups are gone through in their order, with what waits in each, and what each
was raised to. Each take of one of them is a decision in which the other one may have taken part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.balance.times import micros, seconds
from fairlead.errors import MessageError, PrunedError
from fairlead.order.key import NO_ENTRY, NOTHING, UNRAISED, Entry, key, standing
from fairlead.order.outlook import compared
from fairlead.store.database.port import Database
from fairlead.store.queues.endpoints import (
    DIALOG,
    INITIATOR,
    TARGET,
    end_name,
    group_of_dialog,
    sides_meant,
)
from fairlead.store.queues.group_history import (
    GroupEvent,
    GroupHistory,
    GroupPlace,
    TakeDecision,
    Takes,
)
from fairlead.store.queues.settings import Queue
from fairlead.text import dated, moment, visible

PAGE: Final = 1000


class ComparedGroup(NamedTuple):
    """One of two groups, at the moment that decided between them."""

    group: str
    """Its name."""
    tenant: str
    """Whose it is."""
    came: float | None
    """When the first of its messages that waited then came, in seconds since 1970; None: none
    waited."""
    priority: int | None
    """To which it was raised then; None: nobody had raised it."""
    raised: float | None
    """When; None: nobody had, or the journal does not have it any more."""
    raised_by: str
    """Who did; "" where `raised` is None."""
    reader: str
    """Who held it then; "": nobody."""
    held_since: float | None
    """Since when that reader held it; None: nobody held it."""
    parked: bool
    """Whether it was released with a delay, which was not over."""
    taken: float | None
    """When it was taken, then or the next time; None: it was not."""
    taken_by: str
    """Who took it; "" where `taken` is None."""
    takes: int
    """How often it was taken at all, as far as the journal goes back."""

    def __str__(self) -> str:
        parts = [
            "nothing of it waited"
            if self.came is None
            else f"its first message came at {_when(self.came)}",
            "not raised"
            if self.priority is None
            else f"raised to {self.priority}"
            + ("" if self.raised is None else f" at {_when(self.raised)} by {self.raised_by}"),
        ]
        if self.held_since is not None:
            parts.append(f"held by reader {self.reader} since {_when(self.held_since)}")
        if self.parked:
            parts.append("released with a delay that was not over")
        parts.append(
            ("not taken since" if self.takes else "never taken")
            if self.taken is None
            else f"taken at {_when(self.taken)} by {self.taken_by}"
        )
        return f"{visible(self.group)}: {', '.join(parts)}"


class OrderExplanation(NamedTuple):
    """Why one group was taken before another; as a text, the lines that say it."""

    queue: str
    """The queue of both."""
    first: ComparedGroup
    """The group that was asked about as the first."""
    second: ComparedGroup
    """The group that the first was compared with."""
    as_asked: bool
    """Whether the first was taken before the second."""
    ageing: float
    """Seconds of waiting that are worth one step of priority, as the queue is set now; 0: none."""
    decided: str
    """What decided it, in a sentence."""

    def __str__(self) -> str:
        head = [] if self.as_asked else [self._not_so()]
        aged = [f"ageing: {self.ageing:g} s are worth a step of priority"] if self.ageing else []
        return "\n".join([*head, str(self.first), str(self.second), *aged, dated(self.decided)])

    def _not_so(self) -> str:
        a, b = visible(self.first.group), visible(self.second.group)
        if self.second.taken is None:
            return f"neither {a} nor {b} was taken"
        if self.first.taken is None:
            since = "since" if self.first.takes else "at all"
            return f"the other way round: {b} was taken, and {a} was not {since}"
        return f"the other way round: {b} was taken before {a}"


def explain_order(database: Database, queue: Queue, first: str, second: str) -> OrderExplanation:
    """Why a group was taken before another one. Raises MessageError, PrunedError."""
    names = [_group_of(database, queue, group) for group in (first, second)]
    if names[0] == names[1]:
        raise MessageError(
            f"explain: found {repr_of(first)} and {repr_of(second)}, which is one group, allowed: "
            "two groups"
        )
    return _EventReader(database, queue, *names).explain()


def _group_of(database: Database, queue: Queue, name: str) -> str:
    """The group that is meant by its own name, or by a dialog's.

    Where both ends of a dialog are of this queue, that is the group of the target's.
    """
    if not name:
        raise MessageError("explain: found an empty name, allowed: a group's, or a dialog's")
    number = DIALOG.fullmatch(name)
    if number is None:
        return name
    group = group_of_dialog(database, queue.name, name)
    if group is not None:
        return group
    initiator = end_name(int(number[1]), INITIATOR)
    events = {INITIATOR: ("begun", initiator), TARGET: ("sent", f"{initiator}/0")}
    for side in sides_meant(number[2]):
        kind, key_ = events[side]
        rows = database.run("said_in", kind=kind, queue=queue.name, key=key_)
        if rows:
            return str(rows[0][0])
    return name


class _EventReader:
    """Goes through the events of two groups."""

    def __init__(self, database: Database, queue: Queue, first: str, second: str) -> None:
        self._database = database
        self._queue = queue
        self._names = (first, second)
        self._stories = {name: GroupHistory(name) for name in self._names}
        self._takes = {name: Takes() for name in self._names}
        self._off: set[str] = set()
        """Tenants that are switched off, as the events say so far."""

    def explain(self) -> OrderExplanation:
        for event in self._events():
            if event.group:
                self._tell(event)
            elif event.kind == "switched-off":
                self._off.add(event.tenant)
            else:
                self._off.discard(event.tenant)
        for takes in self._takes.values():
            takes.settle()
        self._check()
        a, b = self._names
        ours, theirs = self._takes[a], self._takes[b]
        if ours.contested is not None:
            return self._decided(ours.contested)
        if theirs.contested is not None:
            return self._decided(theirs.contested)
        decisions = [takes.latest for takes in (ours, theirs) if takes.latest is not None]
        if decisions:
            return self._uncontested(min(decisions, key=lambda each: each.time))
        return self._waiting()

    def _events(self) -> Iterator[GroupEvent]:
        after = 0
        while True:
            rows = self._database.run(
                "events_of_groups",
                queue=self._queue.name,
                groups=list(self._names),
                after=after,
                most=PAGE,
            )
            for row in rows:
                yield GroupEvent(*row)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def _tell(self, event: GroupEvent) -> None:
        other = next(name for name in self._names if name != event.group)
        if event.kind == "taken":
            mine = self._place(self._stories[event.group], event)
            at = self._place(self._stories[other])
            off = at.tenant in self._off
            decision = TakeDecision(event.time, mine, at, event.actor, off=off)
            self._takes[event.group].add(decision)
            before = self._takes[other]
            for take in (before.latest, before.contested):
                if take is not None and take.later is None:
                    take.later = event.time, event.actor
        elif event.kind == "woken":
            latest = self._takes[other].latest
            if latest is not None and latest.later is None and latest.other.reader is None:
                latest.parked = True
        self._stories[event.group].tell(event)

    def _place(self, story: GroupHistory, taken: GroupEvent | None = None) -> GroupPlace:
        """Where a group stands; `taken`: the event that says with what priority it was taken."""
        entry = story.entry
        number, came = story.first()
        if taken is not None:
            priority = UNRAISED if taken.priority is None else taken.priority
            if priority != entry.priority:  # the raise is not kept any more
                entry = NO_ENTRY if priority == UNRAISED else Entry(priority, came, number)
        raised = entry.priority != UNRAISED
        held = taken is None and story.token is not None
        counts = entry if self._queue.ordered else NO_ENTRY
        stands = standing(counts, came, number, held, self._queue.step)
        return GroupPlace(
            *(story.name, story.tenant, stands if number else NO_ENTRY, came if number else None),
            entry.priority if raised else None,
            story.raiser if raised and entry == story.entry else None,
            story.reader if held else None,
            story.since,
        )

    def _check(self) -> None:
        """Raises what keeps anything from being said."""
        pruned = self._database.run("pruned")[0][1]
        for name, story in self._stories.items():
            latest = self._takes[name].latest
            lost = latest is not None and latest.taken.came is None
            if story.known and not (lost and pruned):
                continue
            if pruned:
                ((time,),) = self._database.run("first_kept")
                raise PrunedError(
                    f"explain: found too few events of group {name!r} in queue "
                    f"{self._queue.name!r}, allowed: what happened since {moment(time)}; what was "
                    "before is kept no more"
                )
            raise MessageError(
                f"explain: found {name!r}, allowed: a group of queue {self._queue.name!r}, or a "
                "dialog such as d-17"
            )

    def _decided(self, decision: TakeDecision) -> OrderExplanation:
        one, two, step = decision.taken, decision.other, self._queue.step
        a, b = visible(one.story), visible(two.story)
        if decision.off:
            why = f"{a} before {b}: tenant {visible(two.tenant)} was switched off then"
        elif one.tenant != two.tenant:
            x, y = (visible(place.tenant) or "without a name" for place in (one, two))
            why = (
                f"{a} before {b}: tenant {x} was next, not tenant {y}: who has been charged less "
                "for its weight; the journal does not have what they were charged"
            )
        elif key(one.entry, step) < key(two.entry, step):
            why = compared(a, one.entry, b, two.entry, step)
        else:
            why = (
                f"{a} was taken out of turn ({compared(b, two.entry, a, one.entry, step)}): by its "
                "name, or the queue was ordered otherwise then"
            )
        return self._explained(decision, why)

    def _uncontested(self, decision: TakeDecision) -> OrderExplanation:
        a, b = visible(decision.taken.story), visible(decision.other.story)
        if decision.other.reader is not None:
            why = f"{b} was in the hands of a reader when {a} was taken"
        elif decision.parked:
            why = f"the delay of {b}, which was released, was not over when {a} was taken"
        else:
            why = f"nothing of {b} waited when {a} was taken"
        return self._explained(decision, why)

    def _explained(self, decision: TakeDecision, why: str) -> OrderExplanation:
        mine = self._shown(decision.taken, (decision.time, decision.by))
        other = self._shown(decision.other, decision.later, parked=decision.parked)
        as_asked = decision.taken.story == self._names[0]
        pair = (mine, other) if as_asked else (other, mine)
        return OrderExplanation(self._queue.name, *pair, as_asked, seconds(self._queue.step), why)

    def _waiting(self) -> OrderExplanation:
        """Neither was taken: what would be, as they stand now."""
        one, two = (self._place(self._stories[name]) for name in self._names)
        step = self._queue.step
        if NOTHING in (one.entry.number, two.entry.number):
            why = "neither was taken, and they do not both wait now"
        else:
            if key(two.entry, step) < key(one.entry, step):
                one, two = two, one
            names = visible(one.story), visible(two.story)
            why = f"as they stand now: {compared(names[0], one.entry, names[1], two.entry, step)}"
        a, b = (self._shown(self._place(self._stories[name]), None) for name in self._names)
        return OrderExplanation(self._queue.name, a, b, False, seconds(step), why)

    def _shown(
        self, place: GroupPlace, taken: tuple[int, str] | None, *, parked: bool = False
    ) -> ComparedGroup:
        raised, raised_by = place.raiser or (None, "")
        at, by = taken or (None, "")
        return ComparedGroup(
            group=place.story,
            tenant=place.tenant,
            came=None if place.came is None else seconds(place.came),
            priority=place.raised_to,
            raised=None if raised is None else seconds(raised),
            raised_by=raised_by,
            reader=place.reader or "",
            held_since=None if place.reader is None else seconds(place.since),
            parked=parked,
            taken=None if at is None else seconds(at),
            taken_by=by,
            takes=self._takes[place.story].count,
        )


def _when(time: float) -> str:
    return moment(micros(time) or 0)
