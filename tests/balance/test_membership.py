"""Who is added while it is not there, and who is removed after it has left, changes no choice."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from fairlead import Change, Cluster
from fairlead.balance.changes import resolve
from fairlead.balance.decision import Decision
from fairlead.balance.membership import with_destination, without_destination
from fairlead.balance.runtime import ClusterRuntime
from fairlead.errors import MessageError

KEYS: dict[str, list[str]] = {
    "msmq": ["weight"],
    "weighted": ["weight"],
    "round-robin": [],
    "hot-standby": [],
    "fewest-pending": [],
    "nanomsg": ["priority"],
    "priority-failover": ["priority", "weight"],
    "rendezvous": ["weight"],
    "broadcast": [],
}
OPTIONS: dict[str, dict[str, Any]] = {"rendezvous": {"options": {"key": "group"}}}
AFFINITY, SLOW_START, FAILBACK = {"affinity": "group"}, {"slow_start": 20}, {"failback_delay": 5}
BESIDE: dict[str, list[dict[str, Any]]] = {
    "msmq": [{}, AFFINITY],
    "nanomsg": [{}, AFFINITY],
    "weighted": [{}, AFFINITY, SLOW_START, FAILBACK],
    "round-robin": [{}, AFFINITY, FAILBACK],
    "hot-standby": [{}, FAILBACK],
    "fewest-pending": [{}, FAILBACK],
    "priority-failover": [{}, AFFINITY, SLOW_START, FAILBACK],
}
"""Options that remember who was chosen, or what is still to come."""
NAMES, OTHERS = "bdfh", "acegi"


class Grown:
    """A cluster to which destinations are added, and from which they are removed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.runtime = ClusterRuntime("pool", cluster.start())

    def add(self, table: dict[str, Any]) -> None:
        changed = with_destination(self.cluster, self.runtime.settled(), table)
        self.cluster, self.runtime = changed.cluster, self.runtime.with_destinations(changed)

    def remove(self, name: str) -> None:
        changed = without_destination(self.cluster, self.runtime.settled(), name)
        self.cluster, self.runtime = changed.cluster, self.runtime.with_destinations(changed)

    def at(self, time: int) -> None:
        """What is due by then happens."""
        self.runtime.apply([], time * 1_000_000)

    def change(self, target: str, attribute: str, value: object, time: int) -> None:
        change = Change(target, attribute, value, time)
        for _, _, resolved in resolve({"pool": self.runtime.cluster}, [change]):
            self.runtime.apply(resolved, time * 1_000_000)


@pytest.mark.costly
@pytest.mark.parametrize("servers", [[""], ["near", "far"]], ids=["one server", "two"])
def test_a_subscriber_that_is_not_there_changes_no_choice(servers: list[str]) -> None:
    for seed in range(60):
        random = Random(seed)  # noqa: S311 - a history, no secret
        pair = Subscribed(random, servers)
        for time in range(80):
            act = random.choices(
                [pair.publish, pair.acknowledge, pair.join, pair.leave, pair.change],
                [50, 15, 10, 5, 20],
            )
            act[0](time)


class Subscribed:
    """One cluster lists all subscribers; the other has only those who are there, or were listed."""

    def __init__(self, random: Random, servers: list[str]) -> None:
        self.random, self.servers = random, servers
        every = [{"name": n, "subject": s} for n in "dAb" for s in ("/s", "/a", "/z")]
        random.shuffle(every)
        absent = [{**each, "present": False} for each in every]
        plain = {"policy": "smartsockets", "options": {"subscribers": "any"}}
        listed = absent[: random.choice([0, 0, 2])]
        self.whole, self.grown = (
            Grown(Cluster.from_dict({**plain, "subscriber": each}, default_name="pool"))
            for each in (absent, listed)
        )
        self.others = every[len(listed) :]
        self.held: list[list[Decision]] = []

    @property
    def known(self) -> list[str]:
        return [str(ref) for ref in self.grown.runtime.cluster.objects if ref.owner]

    def both(self, target: str, attribute: str, value: object, time: int) -> None:
        for each in (self.whole, self.grown):
            each.change(target, attribute, value, time)

    def publish(self, time: int) -> None:
        message = {
            "subject": self.random.choice(["/s", "/a", "/z", ""]),
            "mode": self.random.choice(["none", "round-robin", "weighted", "sorted"]),
            "delivery": self.random.choice(["", "all", "some"]),
            "server": self.random.choice(self.servers),
        }
        found = [each.runtime.choose(message) for each in (self.whole, self.grown)]
        told = [(each.destination, each.outcome, each.sequence, names(each)) for each in found]
        assert told[0] == told[1], (time, message)
        self.held.append(found)

    def acknowledge(self, time: int) -> None:
        if self.held:
            found = self.held.pop(self.random.randrange(len(self.held)))
            for name in names(found[0]):
                with suppress(MessageError):  # it has left for good
                    self.grown.runtime.completed(found[1], name)
                    self.whole.runtime.completed(found[0], name)

    def join(self, time: int) -> None:
        if self.others:
            table = self.others.pop(0)
            target = f"subscriber:{table['name']}@{table['subject']}"
            self.grown.add(table)
            for attribute in ("load_balanced", "connected", "present"):
                self.both(target, attribute, value=True, time=time)

    def leave(self, time: int) -> None:
        if self.known:
            target = self.random.choice(self.known)
            self.both(target, "present", value=False, time=time)
            self.grown.remove(target)
            name, _, subject = target.removeprefix("subscriber:").partition("@")
            self.others.append({"name": name, "subject": subject})

    def change(self, time: int) -> None:
        if self.known:
            attribute, value = self.random.choice(
                [
                    ("present", True),
                    ("connected", "warm"),
                    ("connected", True),
                    ("load_balanced", False),
                    ("load_balanced", True),
                    ("state", "failed"),
                ]
            )
            self.both(self.random.choice(self.known), attribute, value, time)


def names(decision: Decision) -> list[str | None]:
    return [copy.destination for copy in decision.copies]


@pytest.mark.costly
@pytest.mark.parametrize("policy", KEYS)
def test_who_is_not_there_changes_no_choice(policy: str) -> None:
    for seed in range(60):
        random = Random(seed)  # noqa: S311 - a history, no secret
        pair = Destinations(policy, random)
        acts = [pair.choose, pair.complete, pair.join, pair.leave, pair.change]
        for time in range(80):
            for each in pair.both:
                each.at(time)
            (act,) = random.choices(acts, [50, 20, 10, 5, 15])
            act(time)


class Destinations:
    """One cluster lists all, of whom some are not there; others are added to the other one."""

    def __init__(self, policy: str, random: Random) -> None:
        self.random = random

        def table(name: str) -> dict[str, Any]:
            return {"name": name, **{key: random.randint(1, 3) for key in KEYS[policy]}}

        plain = {"policy": policy, **OPTIONS.get(policy, {})}
        if policy in BESIDE:
            plain["options"] = random.choice(BESIDE[policy])
        listed, self.others = [table(name) for name in NAMES], [table(name) for name in OTHERS]
        absent = [{**each, "present": False} for each in self.others]
        self.both = [
            Grown(Cluster.from_dict({**plain, "destination": each}, default_name="pool"))
            for each in ([*listed, *absent], listed)
        ]
        self.held: list[list[Decision]] = []

    def choose(self, time: int) -> None:
        message = {"group": self.random.choice("xyz")}
        found = [each.runtime.choose(message) for each in self.both]
        assert found[0].destination == found[1].destination, time
        self.held.append(found)

    def complete(self, time: int) -> None:
        if self.held:
            found = self.held.pop(self.random.randrange(len(self.held)))
            for each, decision in zip(self.both, found, strict=True):
                for copy in decision.copies:
                    each.runtime.completed(decision, copy.destination)

    def join(self, time: int) -> None:
        if self.others:
            self.both[1].add(self.others.pop(0))

    def leave(self, time: int) -> None:
        there = self.both[1].runtime.cluster.named.keys() - set(NAMES)
        if there:
            self.both[1].remove(self.random.choice(sorted(there)))

    def change(self, time: int) -> None:
        name, value = self.random.choice(NAMES), self.random.random() < 0.6
        for each in self.both:
            each.change(name, "present", value, time)
