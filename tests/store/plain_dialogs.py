"""The plainest model of dialogs: ends, groups and queues as plain objects, and lists of messages.

Everything is looked through from the top, each time anew. Times are whole microseconds. What is due
happens when somebody takes, as in the store.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

LIFETIME, BODY, CONTRACT = -8489, -9615, -8408


class Refused(Exception):  # noqa: N818 - the store refuses it, too
    """What a verb may not do."""


@dataclass(eq=False)
class End:
    """One end of a dialog: what it is, what it has said, and who is at the other end."""

    dialog: str
    side: str
    """i or t."""
    queue: "PlainQueue"
    far_queue: "PlainQueue"
    group: str
    lifetime: int | None
    accepted: bool
    """Whether the target speaks the contract."""
    state: str = "open"
    sent: int = 0
    far: "End | None" = None

    @property
    def name(self) -> str:
        return f"{self.dialog}/{self.side}"


@dataclass(eq=False)
class Row:
    """A message."""

    number: int
    key: str
    type: str | None
    body: Any
    end: End | None
    """To which it comes; None: a plain message."""
    priority: int | None = None
    """Of a dead letter."""

    @property
    def place(self) -> int:
        """In its group: an Error of a conversation is read first."""
        return -self.number if self.end is not None and self.type == "Error" else self.number


@dataclass(eq=False)
class Hold:
    """A group in the hands of a reader."""

    group: "Group"
    was: tuple[int, int] | None
    deadline: int
    only: End | None
    page: list[Row]
    given: list[Row] = field(default_factory=list)
    asked: bool = False
    """Whether its reader asked for a message; one who did not may reject nothing."""
    alive: bool = True


@dataclass(eq=False)
class Group:
    """A group of a queue, and what waits in it."""

    name: str
    rows: list[Row] = field(default_factory=list)
    entry: tuple[int, int] | None = None
    """To what it was raised, and when."""
    hold: Hold | None = None
    until: int | None = None
    releases: int = 0
    failures: int = 0
    emptied: bool = False
    """Whether an end of it has ended; the next reader looks whether anything is left."""


@dataclass(eq=False)
class Timed:
    """A message that comes later."""

    due: int
    number: int
    key: str
    type: str
    body: Any
    end: End


class PlainQueue:
    """A queue."""

    def __init__(self, name: str, discipline: str, max_failures: int, poison: str) -> None:
        self.name = name
        self.fifo = discipline == "fifo"
        self.max_failures = max_failures
        self.poison = poison
        self.on = True
        self.groups: dict[str, Group] = {}
        self.delayed: list[Timed] = []
        self.dead: list[Row] = []


class PlainDialogs:
    """All queues and all ends."""

    def __init__(self, queues: list[PlainQueue], now: int) -> None:
        self.queues = {each.name: each for each in queues}
        self.now = now
        self.numbers = count(1)
        self.ends: list[End] = []
        self.said: list[str] = []
        """Keys of all that was sent and comes to somebody."""
        self.refused: list[str] = []
        """Keys of what was discarded when it was sent."""
        self.accepted: list[Row] = []
        self.dropped: list[Row] = []

    # what is said

    def begin(
        self,
        dialog: str,
        queues: tuple[str, str],
        group: str | None,
        lifetime: int | None,
        accepted: bool,
    ) -> End:
        near, far = (self.queues[each] for each in queues)
        until = None if lifetime is None else self.now + lifetime
        end = End(dialog, "i", near, far, group or f"{dialog}/i", until, accepted)
        self.ends.append(end)
        self.limit(end)
        return end

    def limit(self, end: End) -> None:
        if end.lifetime is not None:
            self.later(end, end.lifetime, "lifetime", "Error", {"code": LIFETIME})

    def later(self, end: End, due: int, what: str, type_: str, body: Any) -> None:
        key = f"{end.name}/{what}"
        end.queue.delayed.append(Timed(due, next(self.numbers), key, type_, body, end))

    def send(self, end: End, type_: str, body: Any, *, allowed: bool, valid: bool) -> str:
        far = end.far
        ended = far is not None and far.state == "ended"
        if not allowed or end.state != "open" or self.past(end) or ended:
            raise Refused
        key = f"{end.name}/{end.sent}"
        end.sent += 1
        if far is None and not end.accepted:
            self.fail(end, CONTRACT, key)
        elif not valid:
            self.fail(end, BODY, key)
        else:
            if far is None:
                group = f"{end.dialog}/t"
                far = End(end.dialog, "t", end.far_queue, end.queue, group, end.lifetime, True)
                end.far, far.far = far, end
                self.ends.append(far)
                self.comes(far, key, type_, body)
                self.limit(far)
            else:
                self.comes(far, key, type_, body)
            self.said.append(key)
        return key

    def fail(self, end: End, code: int, key: str) -> None:
        end.state = "failed"
        self.refused.append(key)
        self.comes(end, f"{end.name}/error", "Error", {"code": code})

    def end(self, end: End, error: int | None, *, cleanup: bool, given: list[Row]) -> None:
        if end.state == "ended":
            raise Refused
        end.state = "ended"
        key = f"{end.name}/{end.sent}"
        far = end.far
        if far is not None and far.state != "ended" and not cleanup:
            self.forget(far, "Error", after=self.now)
            if error is None:
                self.comes(far, key, "EndDialog", b"")
            else:
                self.comes(far, key, "Error", {"code": error})
            self.said.append(key)
        self.forget(end, "Error")
        self.forget(end, "DialogTimer")
        group = end.queue.groups.get(end.group)
        if group is not None:
            gone = [row for row in group.rows if row.end is end and row not in given]
            self.dropped += gone
            group.rows = [row for row in group.rows if row not in gone]
            group.emptied = group.emptied or not given

    def timer(self, end: End, seconds: int | None) -> None:
        if end.state != "open" or self.past(end):
            raise Refused
        self.forget(end, "DialogTimer")
        if seconds is not None:
            self.later(end, self.now + seconds, "timer", "DialogTimer", b"")

    def forget(self, end: End, type_: str, after: int = 0) -> None:
        end.queue.delayed = [
            each
            for each in end.queue.delayed
            if not (each.end is end and each.type == type_ and each.due > after)
        ]

    def plain(self, queue: str, group: str, type_: str, key: str) -> None:
        self.arrive(self.queues[queue], group, Row(0, key, type_, key, None))
        self.said.append(key)

    def past(self, end: End) -> bool:
        return end.lifetime is not None and end.lifetime <= self.now

    def state(self, end: End) -> str:
        if end.state == "ended":
            return "ended"
        if end.state == "failed" or self.past(end):
            return "failed"
        if end.far is None:
            return "started"
        return "ended-by-other" if end.far.state == "ended" else "conversing"

    # how it comes

    def comes(self, end: End, key: str, type_: str, body: Any) -> None:
        self.arrive(end.queue, end.group, Row(0, key, type_, body, end))

    def arrive(self, queue: PlainQueue, name: str, row: Row) -> None:
        row.number = next(self.numbers)
        group = queue.groups.setdefault(name, Group(name))
        group.rows.append(row)

    # what operators do

    def prioritise(self, queue: PlainQueue, name: str, priority: int) -> bool:
        if queue.fifo or name not in queue.groups:
            return False
        queue.groups[name].entry = priority, next(self.numbers)
        return True

    def prioritise_far(self, end: End, priority: int) -> bool:
        far = end.far
        if far is None or (end.state == "ended" and far.state == "ended"):
            return False
        return self.prioritise(far.queue, far.group, priority)

    def switch(self, queue: PlainQueue, *, on: bool) -> bool:
        changed = queue.on != on
        if changed and on:
            for group in queue.groups.values():
                if group.hold is None:
                    group.failures = 0
        queue.on = on
        return changed

    def requeue(self, queue: PlainQueue) -> int:
        again, queue.dead = sorted(queue.dead, key=lambda row: row.number), []
        for row in again:
            name = row.end.group if row.end is not None else row.key.partition(" ")[0]
            self.arrive(queue, name, row)
            if row.priority is not None:
                queue.groups[name].entry = row.priority, row.number
        return len(again)

    # what readers do

    def looks(self, queue: PlainQueue) -> None:
        """Whatever is due happens."""
        holds = [group.hold for group in queue.groups.values() if group.hold is not None]
        for hold in sorted(holds, key=lambda hold: hold.deadline):
            if hold.deadline <= self.now:
                hold.given = []
                self.release(queue, hold, failed=True)
        due = [each for each in queue.delayed if each.due <= self.now]
        for each in sorted(due, key=lambda each: (each.due, each.number)):
            queue.delayed.remove(each)
            self.comes(each.end, each.key, each.type, each.body)
        for group in list(queue.groups.values()):
            if group.hold is None:
                if group.emptied and not group.rows and group.entry is None:
                    del queue.groups[group.name]
                group.emptied = False
            if group.until is not None and group.until <= self.now:
                group.until = None

    def take(
        self, queue: PlainQueue, lease: int, name: str | None = None, only: End | None = None
    ) -> Hold | None:
        """The best group, or the one that is named, or what waits in one conversation of it."""
        if not queue.on:
            return None
        self.looks(queue)
        while queue.on:
            ready = [
                group
                for group in queue.groups.values()
                if group.hold is None
                and group.until is None
                and name in (None, group.name)
                and (only is None or any(row.end is only for row in group.rows))
            ]
            if not ready:
                return None
            group = min(ready, key=self.standing)
            read = [row for row in group.rows if only is None or row.end is only]
            for row in read:
                if row.end is not None and row.end.state == "ended":
                    group.rows.remove(row)
                    self.dropped.append(row)
            read = sorted((row for row in read if row in group.rows), key=lambda row: row.place)
            if read:
                hold = Hold(group, group.entry, self.now + lease, only, read)
                group.hold, group.entry = hold, None
                return hold
            if not group.rows:
                del queue.groups[group.name]
        return None

    def standing(self, group: Group) -> tuple[int, int]:
        if group.entry is not None:
            return -group.entry[0], group.entry[1]
        return 1, min(row.number for row in group.rows)

    def gives(self, hold: Hold) -> Row | None:
        """The group's next message; what was read at once comes before what came later."""
        hold.asked = True
        if (row := self.unread(hold)) is None:
            rows = [row for row in hold.group.rows if hold.only in (None, row.end)]
            new = [row for row in rows if row not in hold.page]
            hold.page += sorted(new, key=lambda row: row.place)
            row = self.unread(hold)
        if row is not None:
            hold.given.append(row)
        return row

    def unread(self, hold: Hold) -> Row | None:
        for row in hold.page:
            over = row.end is not None and row.end.state == "ended"
            if row not in hold.given and not over:
                return row
        return None

    def accept(self, queue: PlainQueue, hold: Hold) -> None:
        self.done(hold, hold.given)
        self.served(queue, hold)

    def done(self, hold: Hold, rows: list[Row]) -> None:
        self.accepted += rows
        hold.group.rows = [row for row in hold.group.rows if row not in rows]

    def reject(self, queue: PlainQueue, hold: Hold) -> None:
        self.bury(queue, hold, hold.given)
        self.served(queue, hold)

    def bury(self, queue: PlainQueue, hold: Hold, rows: list[Row]) -> None:
        for row in rows:
            if row in hold.group.rows:
                hold.group.rows.remove(row)
                row.priority = hold.was[0] if hold.was is not None else None
                queue.dead.append(row)

    def served(self, queue: PlainQueue, hold: Hold) -> None:
        """It was accepted or rejected; what is left goes to its place.

        A reader of one conversation has not served the others: they keep what they were raised to.
        """
        group = hold.group
        if hold.only is not None and group.rows and group.entry is None:
            group.entry = hold.was
        group.releases = group.failures = 0
        self.put_back(queue, hold)

    def release(
        self, queue: PlainQueue, hold: Hold, delay: int = 0, *, failed: bool, done: int = 0
    ) -> None:
        group = hold.group
        first, rest = hold.given[:done], hold.given[done:]
        group.failures = (0 if done else group.failures) + failed
        poison = failed and group.failures >= queue.max_failures
        if poison and queue.poison == "off":
            queue.on = False
            group.failures = 0
        elif poison:
            self.done(hold, first)
            if not hold.given:
                rest = sorted(group.rows, key=lambda row: row.place)[:1]
            self.bury(queue, hold, rest)
            self.served(queue, hold)
            return
        self.done(hold, first)
        group.entry = group.entry or hold.was
        group.releases = 1 if done else group.releases + 1
        group.until = self.now + delay if delay else None
        self.put_back(queue, hold)

    def put_back(self, queue: PlainQueue, hold: Hold) -> None:
        hold.alive, hold.group.hold = False, None
        hold.group.emptied = False
        if not hold.group.rows and hold.group.entry is None:
            del queue.groups[hold.group.name]
