"""Stores of every kind, and what may happen to one: drawn, the same for the same draws."""

from copy import deepcopy

from .deciding_worlds import a_cluster, destination_change, subscriber_change
from .draws import Draws
from .driver import Refused, Step
from .queues import SECOND, Row
from .store import StoreModel

START = 2_000_000_000 * SECOND
"""After a server of PostgreSQL started: work of before is blameless when its holder is gone."""
GROUPS = ["", "a", "b", "c"]
LATE = "late"
"""A group of which all messages are delayed, so that it is often empty."""
TENANTS = {"a": "x", "b": "x", "c": "y", "": ""}
"""Whose a group is, in a world with tenants."""
PRIORITIES = [None, None, 0, 1, 100, 255]
EDGES = [-1, 0, 1]
"""Microseconds around a moment at which something is due."""


KNOWN = {
    "events of clusters stand at the time of the clock": (
        "a clock goes back a little: what comes after a decision is older than what came before",
        "reference/store-promises.md",
    ),
    "nothing was given of it": (
        "work is accepted or rejected of which nothing was read: something happens to a message",
        "how-to/failures.md",
    ),
}
"""Faults that are not mended yet: what happens, the page that says otherwise. No world has them."""


class Clock:
    """The time of a world, in microseconds."""

    def __init__(self) -> None:
        self.now = START


class StoreWorld:
    """A store with one or two queues, and what each step of its history may be."""

    def __init__(self, draws: Draws, without: frozenset[str] = frozenset()) -> None:
        """`without`: features that no door of this history has."""
        every = [*FEATURES]
        chosen = {each for each in every if each not in without and draws.pick([True, False])}
        self.features = frozenset(chosen)
        self.clock = Clock()
        self.clusters = [self._cluster(draws)] if "clusters" in self.features else []
        published = [name for plain in self.clusters for name in queues_of(plain)]
        alone = bool(published) and draws.pick([True, False])
        """Whether all that is in a queue was published, so that clusters see more of it."""
        self.names = [] if alone else ["q", "r"] if draws.pick([False, True]) else ["q"]
        self.names += published
        self.groups = draws.pick([GROUPS, GROUPS, ["a"], ["a", "b"], ["", "a"]])
        kinds = [*MIX, *(kind for name in sorted(chosen) for kind in MORE.get(name, ()))]
        kinds = [kind for kind in kinds if kind not in OTHERS] if alone else kinds
        self.kinds = kinds + [draws.pick(kinds) for _ in range(3)] * 5
        """What each step is drawn from. Some happens often, so that things are done in a row."""
        self.bodies = 0
        self.leases = 0
        self.unseen = False
        """Whether the time has gone on, and nothing that is due has happened yet."""
        weights = {"x": draws.whole(1, 3)} if "tenants" in self.features else {}
        self.fixed = {name: self._fixed(draws, weights) for name in self.names}
        self.settings = {name: self._settings(draws, name) for name in self.names}
        self.schedules = self._schedules(draws)

    def __str__(self) -> str:
        return f"{sorted(self.features)} {self.settings} {self.schedules} {self.clusters}"

    def model(self) -> StoreModel:
        found = StoreModel(self.clock, self.clusters)
        found.declare([*self.settings.values()], self.schedules)
        return found

    # how queues and schedules are set

    def _fixed(self, draws: Draws, weights: Row) -> Row:
        """What a queue is for all its life."""
        discipline = draws.pick(["priority", "priority", "fifo"])
        return {"discipline": discipline, **({"weights": weights} if weights else {})}

    def _settings(self, draws: Draws, name: str) -> Row:
        said: Row = {"name": name, **self.fixed[name]}
        if said["discipline"] == "priority":
            said["default_priority"] = draws.pick([100, 7])
            said["ageing"] = draws.pick([0, 0, 3, 0.5])
        said["max_failures"] = draws.pick([3, 1, 2, 2, 0])
        if "poison" in self.features:
            said["poison"] = draws.pick(["dead-letters", "off"])
        if "causes" in self.features:
            causes = [["error"], ["lease"], ["error", "lease"], ["error", "process"]]
            said["count_as_failure"] = draws.pick(causes)
        if "full" in self.features:
            said["max_waiting"] = draws.pick([3, 5, 8])
        if "retry" in self.features:
            base, factor = draws.pick([2, 5]), draws.pick([1, 3])
            said["retry"] = {"base": base, "factor": factor, "limit": draws.pick([9, 60])}
        if "limits" in self.features:
            said["limit"] = self._limits(draws)
        return said

    def _limits(self, draws: Draws) -> list[Row]:
        kinds: list[Row] = [{}, {"of": "group", "match": "a"}, {"of": "group", "match": "?"}]
        if "tenants" in self.features:
            kinds += [{"of": "tenant", "match": "*"}, {"of": "tenant", "match": "x"}]
        limits = []
        for kind in kinds:
            if draws.pick([False, True]):
                held = {"in_work": draws.pick([1, 2])}
                rate = {"rate": draws.pick([1, 2]), "per": draws.pick([1, 4])}
                burst = draws.pick([{}, {"burst": 3}])
                limits.append(kind | draws.pick([held, rate | burst, held | rate]))
        return limits

    def _cluster(self, draws: Draws) -> Row:
        if draws.pick([True, False]):
            return a_cluster(draws, "c", PENDING)
        options: Row = {"subscribers": draws.pick(["any", "listed"])}
        options["delivery_timeout"] = draws.pick([0, 9, 30])
        options["reconnect_timeout"] = draws.pick([0, 20])
        options["on_receiver_failure"] = draws.pick(["reroute", "reroute", "reroute", "nack"])
        options["zero_receivers"] = draws.pick(["success", "failure"])
        rows = [
            {"name": name, "subject": SUBJECT, "load_balanced": draws.whole(0, 3) > 0}
            | {"disconnect_mode": draws.pick(WAYS)}
            for name in SUBSCRIBERS[: draws.whole(1, 3)]
        ]
        if draws.pick([False, True]):
            rows[0]["queue"] = "own"
        return {"name": "c", "policy": "smartsockets", "options": options, "subscriber": rows}

    def _schedules(self, draws: Draws) -> list[Row]:
        if "schedules" not in self.features:
            return []
        return [
            {
                "name": name,
                "queue": draws.pick(self.names),
                # Hours are missed where the clock is wrong: a few ticks are enough.
                "every": draws.pick([1800, 60] if "wrong clock" in self.features else [5, 60, 7]),
                "missed": draws.pick(["once", "all", "skip"]),
                "body": name,
                **({"group": draws.pick(GROUPS[1:])} if draws.pick([False, True]) else {}),
                **({"tenant": "x"} if "tenants" in self.features and draws.whole(0, 3) else {}),
                **({"priority": draws.pick([3, 200])} if draws.pick([False, True]) else {}),
            }
            for name in ("s1", "s2")[: draws.whole(1, 2)]
        ]

    # what happens

    def next_step(self, draws: Draws, model: StoreModel) -> Step:
        step: Step | None = None
        kinds = ["take"] if self.unseen and draws.pick([True, False]) else self.kinds
        while step is None:
            step = getattr(self, f"_{draws.pick(kinds)}")(draws, model)
        self.unseen = not step.seen
        return step

    def message(self, draws: Draws) -> Row:
        self.bodies += 1
        group = draws.pick(self.groups)
        said: Row = {"body": f"m{self.bodies}", "group": group, "priority": draws.pick(PRIORITIES)}
        if "tenants" in self.features:
            said["tenant"] = TENANTS[group] if draws.whole(0, 19) else "z"
            said["cost"] = draws.pick([1, 1, 2, 7])
        if "ids" in self.features and draws.pick([False, False, True]):
            said["id"] = draws.pick(IDS[:2])
            said["body"] = draws.pick([f"of {said['id']}"] * 5 + [said["body"]])
        if "delays" in self.features and draws.pick([False, False, True]):
            said["delay"] = draws.pick([1, 7])
            if "tenants" in self.features:  # whose a group is shows when it comes
                said["group"], said["tenant"] = draws.pick([group, LATE]), draws.pick(["x", "y"])
        if "expiry" in self.features and draws.pick([False, False, True]):
            said["expires"] = said.get("delay", 0) + draws.pick([3, 9, 20])
        return said

    def _send(self, draws: Draws, model: StoreModel) -> Step:
        many = [self.message(draws) for _ in range(draws.pick([1, 1, 2, 4, 4]))]
        if many[0]["group"] == LATE:  # the other tenant's comes with it
            shared = {key: many[0][key] for key in ("group", "delay", "priority", "cost")}
            other = "y" if many[0]["tenant"] == "x" else "x"
            many.append({**shared, "body": self.message(draws)["body"], "tenant": other})
        return Step("send", {"queue": draws.pick(self.names), "messages": many, **self._who(draws)})

    def _queue(self, draws: Draws, model: StoreModel) -> str:
        """One with something in it, mostly."""
        full = [name for name in self.names if model.queues[name].queue]
        return draws.pick(full if full and draws.whole(0, 5) else self.names)

    # what happens to clusters

    def _publish(self, draws: Draws, model: StoreModel) -> Step:
        (plain,) = self.clusters
        said = {"body": "", **self.message(draws), "cost": 1}
        if "id" in said:
            said["id"] = draws.pick(IDS[2:])
            said["body"] = draws.pick([f"of {said['id']}"] * 5 + [said["body"]])
        if plain["policy"] == "smartsockets":
            said["subject"] = draws.pick([SUBJECT] * 6 + ["/other"])
            said["mode"] = draws.pick(["none", "round-robin", "sorted", "weighted", "sorted"])
            said["delivery"] = draws.pick(["", "some", "all", "all"])
        return Step("publish", {"cluster": "c", "message": said, **self._who(draws)})

    def _change(self, draws: Draws, model: StoreModel) -> Step:
        (plain,) = self.clusters
        subjects = plain["policy"] == "smartsockets"
        change = subscriber_change if subjects else destination_change
        of = (
            (draws, plain, False) if subjects else (draws, plain, draws.pick([[], ["state"]]), True)
        )
        target, attribute, value = change(*of)  # type: ignore[operator]
        found = {"target": target, "attribute": attribute, "value": value}
        return Step("change", {"cluster": "c", "changes": [found]})

    def _subscriber(self, draws: Draws, model: StoreModel) -> Step | None:
        if self.clusters[0]["policy"] != "smartsockets":
            return None
        names = [*SUBSCRIBERS, "D"]
        own = model.clusters["c"]
        queues = {name: own.queue_for(SUBJECT, name) for name in names}
        verb = draws.pick(["subscribe", "subscribe", "unsubscribe", "reroute", "reroute"])
        if verb != "subscribe" and draws.whole(0, 3):  # mostly of one for whom something waits
            waiting = [name for name in names if _waits(model, queues[name])]
            names = waiting or names
        who = {"cluster": "c", "subject": SUBJECT, "name": draws.pick(names)}
        more = {"balanced": draws.whole(0, 3) > 0, "way": draws.pick(WAYS)}
        return Step(verb, who | (more if verb == "subscribe" else {}))

    def _who(self, draws: Draws) -> Row:
        return {"actor": draws.whole(0, 1)}

    def _take(self, draws: Draws, model: StoreModel) -> Step:
        self.leases += 1
        return Step(
            "take",
            {
                "queue": self._queue(draws, model),
                "group": draws.pick([None, None, None, "a", "b"]),
                "most": draws.pick([1, 1, 2, 3]),
                "lease": draws.pick([5, 20, 300]) * SECOND + self.leases,
                **self._who(draws),
            },
        )

    def _work(self, draws: Draws, model: StoreModel) -> int | None:
        """Of somebody; seldom of somebody who has lost it."""
        held = [work for work in model.work if model.held(work)]
        gone = [work for work in model.work if not model.held(work)]
        if gone and not draws.whole(0, 9):
            return draws.pick(gone[-3:])
        return draws.pick(held) if held else None

    def _read(self, draws: Draws, model: StoreModel) -> Step | None:
        held = [work for work in model.work if model.held(work)]  # others read what is at hand
        most = draws.pick([2, 3, 5] if "parts" in self.features else [1, 1, 2, 5])
        return Step("read", {"work": draws.pick(held), "most": most}) if held else None

    def _settle(self, draws: Draws, model: StoreModel) -> Step | None:
        work = self._work(draws, model)
        if work is None:
            return None
        verb = draws.pick(["accept", "accept", "reject"])
        found = model.held(work)
        if found and not found[1].received:  # nothing was given of it: see KNOWN
            return Step("read", {"work": work, "most": 1})
        return Step(verb, {"work": work})

    def _reject_one(self, draws: Draws, model: StoreModel) -> Step | None:
        work = self._work(draws, model)
        found = model.held(work) if work else None
        if not found or not found[1].received or found[1].received[-1] in found[1].bad:
            return None
        return Step("reject_one", {"work": work})

    def _release(self, draws: Draws, model: StoreModel) -> Step | None:
        work = self._work(draws, model)
        if work is None:
            return None
        found = model.held(work)
        given = len(found[1].received) if found else 0
        if found and "parts" in self.features and given < 2 <= len(found[1].read):
            return Step("read", {"work": work, "most": 2})
        return Step(
            "release",
            {
                "work": work,
                "delay": draws.pick([None, None, 0, 4]),
                "error": draws.pick([True, True, False]),
                "done": draws.whole(0, max(given - 1, 0)) if "parts" in self.features else 0,
            },
        )

    def _extend(self, draws: Draws, model: StoreModel) -> Step | None:
        work = self._work(draws, model)
        self.leases += 1
        return work and Step(
            "extend", {"work": work, "lease": draws.pick([5, 20]) * SECOND + self.leases}
        )

    def _prioritise(self, draws: Draws, model: StoreModel) -> Step:
        group, priority = draws.pick(GROUPS[1:]), draws.pick(PRIORITIES)
        return Step(
            "prioritise", {"queue": draws.pick(self.names), "group": group, "priority": priority}
        )

    def _dead(self, draws: Draws, model: StoreModel) -> Step:
        queue = draws.pick(self.names)
        ids = [row["id"] for row in model.queues[queue].dead if row["id"] in IDS]
        some = [None, None, *([each] for each in ids), ["no such id"]]
        return Step(
            draws.pick(["requeue", "requeue", "discard"]), {"queue": queue, "ids": draws.pick(some)}
        )

    def _switch(self, draws: Draws, model: StoreModel) -> Step:
        return Step(
            "switch", {"queue": draws.pick(self.names), "on": draws.pick([True, True, False])}
        )

    def _switch_tenant(self, draws: Draws, model: StoreModel) -> Step | None:
        if "tenants" not in self.features:
            return None
        where = {"queue": draws.pick(self.names), "tenant": draws.pick(["x", "x", "y"])}
        return Step("switch_tenant", {**where, "on": draws.pick([True, False])})

    def _declare(self, draws: Draws, model: StoreModel) -> Step:
        name = draws.pick(self.names)
        self.settings[name] = self._settings(draws, name)
        schedules = self._schedules(draws) if draws.pick([False, False, True]) else []
        return Step("declare", {"queues": [self.settings[name]], "schedules": schedules})

    def _pause(self, draws: Draws, model: StoreModel) -> Step:
        return Step(
            "pause",
            {"schedule": draws.pick(sorted(model.schedules)), "paused": draws.pick([True, False])},
        )

    def _tick(self, draws: Draws, model: StoreModel) -> Step:
        return Step("tick", {})

    def _advance(self, draws: Draws, model: StoreModel) -> Step:
        """To a moment at which something is due, just before or after; or somewhere, also back."""
        moments = [hold.deadline for queue in model.queues.values() for hold in queue.holds]
        for queue in model.queues.values():
            moments += [row["due"] for row in queue.delayed] + [*queue.parked.values()]
            moments += [row["expires"] for row in queue.queue if row["expires"]]
            moments += [*queue.charged_until.values()]
        moments += [each.next for each in model.schedules.values()]
        for own in model.clusters.values():
            moments += [each["due"] for each in own.guaranteed if each["due"]]
            moments += [due] if (due := own.deciding.next()) is not None else []
        coming = sorted(at for at in moments if at > self.clock.now)[:4]
        if coming and draws.whole(0, 2):
            by = draws.pick(coming) + draws.pick(EDGES) - self.clock.now
            return Step("advance", {"by": by}, seen=draws.pick([True, False]))
        by = [1, 3, 6, -1, -4, 61] + [7200, -7200] * ("wrong clock" in self.features)
        by = [each for each in by if each > 0 or not self.clusters]  # see KNOWN
        return Step("advance", {"by": draws.pick(by) * SECOND})

    def _transaction(self, draws: Draws, model: StoreModel) -> Step | None:
        """A few things in one transaction that commits, or does not."""
        ahead = deepcopy(model)
        steps = []
        for _ in range(draws.whole(1, 3)):
            kinds = ["send", "prioritise", "settle", "release"]
            kind = draws.pick(kinds + ["publish"] * (2 if self.clusters else 0))
            step = getattr(self, f"_{kind}")(draws, ahead)
            if step is None or step.verb not in IN_TRANSACTIONS:
                continue
            step.said.pop("actor", None)
            if isinstance(getattr(ahead, step.verb)(**step.said), Refused):
                return None
            steps.append(step)
        answers = deepcopy(model).together(steps, False)
        if any(isinstance(answer, Refused) for answer in answers):
            return None
        joined = draws.pick([True, False])
        verb = draws.pick(["together", "together", "undone"])
        return Step(verb, {"steps": steps, "joined": joined}) if steps else None

    def _crash(self, draws: Draws, model: StoreModel) -> Step | None:
        held = any(hold.actor for queue in model.queues.values() for hold in queue.holds)
        return Step("crash", {}) if held else None

    def _reopen(self, draws: Draws, model: StoreModel) -> Step | None:
        held = any(queue.holds for queue in model.queues.values())
        return None if held else Step("reopen", {"actor": draws.whole(0, 1)})


def _waits(model: StoreModel, queue: str) -> bool:
    return queue in model.queues and bool(model.queues[queue].queue)


def queues_of(plain: Row) -> list[str]:
    """The queues of all who are in a cluster, or may join it."""
    if plain["policy"] != "smartsockets":
        return [row["name"] for row in plain["destination"]]
    listed = [row.get("queue") or row["name"] for row in plain["subscriber"]]
    return [*listed, *(f"c:{SUBJECT}:{name}" for name in [*SUBSCRIBERS, "D"])]


IDS = ["k1", "k2", "p1", "p2"]
"""Of messages that were sent, and of published ones."""
PENDING = [*["fewest-pending"] * 4, "priority-failover", "round-robin", "weighted"]
SUBJECT, SUBSCRIBERS = "/s", ["A", "B", "C"]
WAYS = ["failure", "failure", "success", "warm"]
IN_TRANSACTIONS = ("send", "prioritise", "accept", "reject", "release", "publish")
FEATURES = ("tenants", "limits", "full", "retry", "causes", "poison", "ids", "delays", "expiry")
FEATURES += (
    "schedules",
    "transactions",
    "settings",
    "wrong clock",
    "switch",
    "clusters",
    "parts",
    "crashes",
)
MIX = ["send"] * 5 + ["take"] * 5 + ["read"] * 4 + ["settle"] * 4 + ["release"] * 4
MIX += ["advance"] * 3 + ["prioritise"] * 2 + ["dead", "reopen"]
OTHERS = ("send", "prioritise", "tick", "pause", "declare", "switch", "switch_tenant", "dead")
"""What is not drawn where all was published."""
MORE = {
    "crashes": ["crash"] * 2,
    "parts": ["reject_one", "extend"],
    "schedules": ["tick"] * 3 + ["pause"],
    "transactions": ["transaction"] * 3,
    "settings": ["declare"],
    "clusters": ["publish"] * 6 + ["change", "subscriber", "subscriber", "subscriber"],
    "switch": ["switch", *["switch_tenant"] * 3],
    "poison": ["switch"],
}
