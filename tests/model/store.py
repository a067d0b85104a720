"""The plainest model of a store: its queues, its schedules, its journal, and who holds what.

The verbs are those of a history (see `driver`): each answers in plain data, and what is refused is
an answer, too. Work is named by the number in which it was taken.
"""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from .driver import Refused, Step
from .publishing import Nobody, Publishing
from .queues import ERROR, SECOND, Full, Hold, Other, Queue, Row, Settings, name_of

HOUR = 3600 * SECOND
LATE = 60 * SECOND
"""A tick that could not be sent for longer than this was missed."""
TICKS = 100
"""So many at most are sent at once."""
SETTLING = ("accept", "reject", "release")
STALE, FULL, OTHER, UNKNOWN = (Refused(why) for why in ("stale", "full", "other", "unknown"))
NOBODY = Refused("nobody")


class Schedule:
    """What is sent each so many seconds, and how far it has come."""

    def __init__(self, said: Row, now: int) -> None:
        self.paused = False
        self.last: int | None = None
        self.begin(said, now)

    def begin(self, said: Row, now: int) -> None:
        self.said = said
        self.next = self.after(now)
        self.looked = now
        self.failed = False

    def after(self, now: int) -> int:
        """The first tick after a time: ticks are the whole multiples since 1970."""
        every: int = self.said["every"] * SECOND
        return (now // every + 1) * every

    def ticks(self, now: int, most: int) -> list[int]:
        """Those that are sent now; the next one is noted down when they were."""
        every = self.said["every"] * SECOND
        due = list(range(self.next, now + 1, every))
        if self.said.get("missed") == "all":
            return due[:most]
        late = now - due[-1] > LATE
        return [] if late and self.said.get("missed") == "skip" else due[-1:]

    def next_after(self, ticks: list[int], now: int) -> int:
        if self.said.get("missed") == "all":
            return self.after(ticks[-1])
        return self.after(now)


class StoreModel:
    """All queues and schedules of a store, and the numbers of events that they share."""

    name = "the model"

    def __init__(self, clock: Any, clusters: list[Row]) -> None:
        self.clock = clock
        """`now`: microseconds; the history moves it."""
        self.clusters = {plain["name"]: Publishing(self, plain) for plain in clusters}
        self.latest = 0
        self.events = 0
        self.kinds: Counter[tuple[str, str]] = Counter()
        self.queues: dict[str, Queue] = {}
        self.schedules: dict[str, Schedule] = {}
        self.work: dict[int, tuple[Queue, Hold]] = {}
        self.taken = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> "StoreModel":
        """A copy of all but the clock."""
        copy = StoreModel(self.clock, [])
        memo[id(self)] = copy
        copy.__dict__ |= deepcopy(
            {key: value for key, value in self.__dict__.items() if key != "clock"}, memo
        )
        return copy

    def all_or_nothing(self, what: Callable[[], Any]) -> Any:
        """What it answers; if it is refused, nothing has happened."""
        mine = {key: value for key, value in self.__dict__.items() if key != "clock"}
        before = deepcopy(mine, {id(self): self, id(self.clock): self.clock})
        try:
            return what()
        except (Full, Other, Nobody) as error:
            self.__dict__ |= before
            return {Full: FULL, Other: OTHER, Nobody: NOBODY}[type(error)]

    @property
    def now(self) -> int:
        now: int = self.clock.now
        return now

    @property
    def moment(self) -> int:
        """When what happens now has happened: a clock that goes back a little is not believed."""
        return max(self.now, self.latest) if self.latest <= self.now + HOUR else self.now

    def event(self) -> int:
        self.events += 1
        return self.events

    def log(self, queue: str, kind: str, count: int = 1) -> None:
        if count:
            self.kinds[queue, kind] += count
            self.latest = self.moment

    # settings and operators

    def declare(self, queues: list[Row], schedules: list[Row]) -> Any:
        """What a file says; what it does not name stays as it is."""
        for said in queues:
            found = self.queues.setdefault(said["name"], Queue(self, said["name"]))
            found.settings = Settings(said)
        for said in schedules:
            name = said["name"]
            if name not in self.schedules:
                self.schedules[name] = Schedule(said, self.now)
            elif self.schedules[name].said != said:
                self.schedules[name].begin(said, self.now)

    def prioritise(self, queue: str, group: str, priority: int | None) -> Any:
        found = self.queues[queue]
        to = found.settings.default_priority if priority is None else priority
        raised = found.prioritise(group, to)
        if raised:
            self.log(queue, "raised")
        return raised

    def switch(self, queue: str, on: bool) -> Any:
        return self.queues[queue].switch(on)

    def switch_tenant(self, queue: str, tenant: str, on: bool) -> Any:
        return self.queues[queue].switch_tenant(tenant, on)

    def requeue(self, queue: str, ids: list[str] | None) -> Any:
        answer = self.all_or_nothing(lambda: self.queues[queue].requeue(ids))
        return UNKNOWN if answer == OTHER else answer

    def discard(self, queue: str, ids: list[str] | None) -> Any:
        answer = self.all_or_nothing(lambda: self.queues[queue].discard(ids))
        return UNKNOWN if answer == OTHER else answer

    def pause(self, schedule: str, paused: bool) -> Any:
        found = self.schedules[schedule]
        if found.paused == paused:
            return False
        found.paused = paused
        found.looked = self.now
        if not paused:
            found.next = found.after(self.now)
        self.log(found.said["queue"], "schedule-paused" if paused else "schedule-resumed")
        return True

    def tick(self) -> Any:
        """Send what is due; seconds until the next tick."""
        done = True
        for name in sorted(self.schedules):
            done = self._tick(self.schedules[name]) and done
        coming = [each.next for each in self.schedules.values() if not each.paused]
        return max((min(coming) - self.now) / SECOND, 0.0 if done else 1.0) if coming else None

    def _tick(self, schedule: Schedule) -> bool:
        """Whether one schedule is done for now."""
        if schedule.paused:
            return True
        if schedule.looked > self.now + HOUR:  # a clock was wrong then
            schedule.next, schedule.looked = schedule.after(self.now), self.now
            schedule.failed = False
        elif schedule.next <= self.now:
            for most in (TICKS, 1):  # where one of many is refused, they go one by one
                ticks = schedule.ticks(self.now, most)
                rows = [message_of(schedule.said, tick) for tick in ticks]
                to = schedule.said["queue"]  # one after another, but all or none
                answer = self.all_or_nothing(lambda: [self.queues[to].send([r]) for r in rows])  # noqa: B023
                schedule = self.schedules[schedule.said["name"]]
                if answer == FULL:
                    return False
                schedule.failed = answer == OTHER
                if not schedule.failed:
                    schedule.last = ticks[-1] if ticks else schedule.last
                    break
            schedule.next = schedule.next_after(ticks, self.now)
            schedule.looked = self.now
        return True

    # senders and readers

    def send(self, queue: str, messages: list[Row], actor: int = 0) -> Any:
        """All or none of them."""
        return self.all_or_nothing(
            lambda: self.queues[queue].send([self.row(message) for message in messages])
        )

    def row(self, said: Row) -> Row:
        until = said.get("expires")
        return {
            "body": said["body"],
            "group": said.get("group", ""),
            "priority": said.get("priority"),
            "tenant": said.get("tenant", ""),
            "cost": said.get("cost", 1),
            "id": said.get("id"),
            "delay": said.get("delay", 0) * SECOND,
            "expires": None if until is None else self.now + until * SECOND,
        }

    def take(self, queue: str, group: str | None, most: int, lease: int, actor: int = 0) -> Any:
        """Group, tenant, priority and attempt of each that was taken."""
        found = self.queues[queue]
        taken = []
        for hold in found.take(group, most, lease):
            self.taken += 1
            self.work[self.taken] = (found, hold)
            hold.actor = actor
            priority = hold.entry["priority"] if hold.entry else None
            taken.append((name_of(hold.group), hold.tenant, priority, hold.attempt))
        return taken

    def held(self, work: int) -> tuple[Queue, Hold] | None:
        """What was taken under a number, if its reader holds it still."""
        queue, hold = self.work[work]
        return (queue, hold) if any(each is hold for each in queue.holds) else None

    def read(self, work: int, most: int) -> Any:
        """The next bodies; None where there is no more."""
        found = self.held(work)
        if found is None:
            return STALE
        rows = [found[0].give(found[1]) for _ in range(most)]
        return [row and row["body"] for row in rows]

    def reject_one(self, work: int) -> Any:
        """Of what was read the last message is bad; the others of the group go on."""
        found = self.held(work)
        if found is None:
            return STALE
        found[1].bad.append(found[1].received[-1])
        return None

    def accept(self, work: int) -> Any:
        found = self.held(work)
        return STALE if found is None else found[0].accept(found[1])

    def reject(self, work: int) -> Any:
        found = self.held(work)
        return STALE if found is None else found[0].reject(found[1])

    def release(self, work: int, delay: int | None, error: bool, done: int) -> Any:
        """`delay`: seconds; None: what the queue says."""
        found = self.held(work)
        if found is None:
            return STALE
        cause = ERROR if error else ""
        wait = None if delay is None else delay * SECOND
        return found[0].give_back(found[1], cause, wait, done)

    def extend(self, work: int, lease: int) -> Any:
        found = self.held(work)
        if found is None:
            return STALE
        found[1].deadline = self.now + lease
        return None

    # clusters

    def queue(self, name: str) -> Queue:
        """A queue; one that was not there is made."""
        return self.queues.setdefault(name, Queue(self, name))

    def publish(self, cluster: str, message: Row, actor: int = 0) -> Any:
        """The outcome, who was chosen, the place in the stream, and all who get it."""
        return self.all_or_nothing(lambda: self.clusters[cluster].publish(message))

    def change(self, cluster: str, changes: list[Row]) -> Any:
        return self.clusters[cluster].change(changes)

    def subscribe(self, cluster: str, subject: str, name: str, balanced: bool, way: str) -> Any:
        """The queue from which it gets its messages."""
        return self.clusters[cluster].subscribe(subject, name, balanced, way)

    def unsubscribe(self, cluster: str, subject: str, name: str) -> Any:
        return self.clusters[cluster].unsubscribe(subject, name)

    def reroute(self, cluster: str, subject: str, name: str) -> Any:
        return self.clusters[cluster].reroute(subject, name)

    # transactions, time and people

    def together(self, steps: list[Step], joined: bool) -> Any:
        """All of it in one transaction, of the user's own connection if `joined`.

        What settles is done at its end, queue by queue.
        """
        answers: dict[int, Any] = {}
        queues = [self.work[step.said["work"]][0].name for step in steps if step.verb in SETTLING]
        for at_its_end in ("", *dict.fromkeys(queues)):
            for number, step in enumerate(steps):
                settles = step.verb in SETTLING
                queue = self.work[step.said["work"]][0].name if settles else ""
                if queue == at_its_end:
                    answers[number] = getattr(self, step.verb)(**step.said)
        return [answers[number] for number in range(len(steps))]

    def undone(self, steps: list[Step], joined: bool) -> Any:
        """A transaction that is rolled back: nothing has happened."""

    def advance(self, by: int) -> Any:
        self.clock.now += by

    def reopen(self, actor: int) -> Any:
        """A program ends without work in anybody's hands, and begins again."""
        self.work = {}

    def crash(self) -> Any:
        """The second program is killed, and begins again."""
        for queue in self.queues.values():
            queue.look()
            queue.crash(1)

    # what can be looked at

    def look(self) -> dict[str, Any]:
        for queue in self.queues.values():
            queue.look()
        shown: dict[str, Any] = {}
        for name, queue in self.queues.items():
            shown |= {
                f"waiting {name}": queue.outlook(),
                f"later {name}": queue.later(),
                f"working {name}": sorted(name_of(hold.group) for hold in queue.holds),
                f"metrics {name}": queue.metrics(),
                f"dead {name}": sorted(
                    ((row["body"], row["priority"]) for row in queue.dead), key=repr
                ),
                f"on {name}": queue.on,
                f"off {name}": sorted(queue.off),
            }
        shown["journal"] = +self.kinds
        shown["deliveries"] = [each.deliveries() for each in self.clusters.values()]
        shown["schedules"] = [
            (name, each.next, each.last, each.paused, each.failed)
            for name, each in sorted(self.schedules.items())
        ]
        return shown

    def close(self) -> None:
        """Nothing is to be done."""


def message_of(said: Row, tick: int) -> Row:
    """What a schedule sends at a tick; its id names the tick."""
    return {
        "body": said.get("body", ""),
        "group": said.get("group", ""),
        "priority": said.get("priority"),
        "tenant": said.get("tenant", ""),
        "cost": 1,
        "id": f"{said['name']} at {tick}",
        "delay": 0,
        "expires": None,
    }
