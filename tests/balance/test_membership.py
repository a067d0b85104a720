"""Who is added while it is not there, and who is removed after it has left, changes no choice."""

from random import Random
from typing import Any

import pytest

from fairlead import Change, Cluster
from fairlead.balance.changes import resolve
from fairlead.balance.membership import with_destination, without_destination
from fairlead.balance.runtime import ClusterRuntime

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
NAMES, OTHERS = "bdfh", "acegi"


class Grown:
    """A cluster to which destinations are added, and from which they are removed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.runtime = ClusterRuntime("pool", cluster.start())

    def add(self, table: dict[str, Any]) -> None:
        changed = with_destination(self.cluster, self.runtime.settled(), table)
        self.cluster, self.runtime = changed.cluster, self.runtime.with_state(changed.state)

    def remove(self, name: str) -> None:
        changed = without_destination(self.cluster, self.runtime.settled(), name)
        self.cluster, self.runtime = changed.cluster, self.runtime.with_state(changed.state)

    def change(self, target: str, attribute: str, value: object, time: int) -> None:
        change = Change(target, attribute, value, time)
        for _, _, resolved in resolve({"pool": self.runtime.cluster}, [change]):
            self.runtime.apply(resolved, time * 1_000_000)


@pytest.mark.parametrize("policy", KEYS)
def test_who_is_not_there_changes_no_choice(policy: str) -> None:
    for seed in range(40):
        live_through(policy, Random(seed))  # noqa: S311 - a history, no secret


def live_through(policy: str, random: Random) -> None:
    def table(name: str) -> dict[str, Any]:
        return {"name": name, **{key: random.randint(1, 3) for key in KEYS[policy]}}

    plain = {"policy": policy, **OPTIONS.get(policy, {})}
    listed, others = [table(name) for name in NAMES], [table(name) for name in OTHERS]
    absent = [{**each, "present": False} for each in others]
    whole, grown = (
        Grown(Cluster.from_dict({**plain, "destination": each}, default_name="pool"))
        for each in ([*listed, *absent], listed)
    )
    held = []
    for time in range(80):
        what = random.random()
        if what < 0.5:
            message = {"group": random.choice("xyz")}
            found = [each.runtime.choose(message) for each in (whole, grown)]
            assert found[0].destination == found[1].destination, time
            held.append(found)
        elif what < 0.7 and held:
            found = held.pop(random.randrange(len(held)))
            for each, decision in zip((whole, grown), found, strict=True):
                for copy in decision.copies:
                    each.runtime.completed(decision, copy.destination)
        elif what < 0.8 and others:
            grown.add(others.pop(0))
        elif what < 0.85 and (there := [*grown.runtime.cluster.named.keys() - set(NAMES)]):
            grown.remove(random.choice(sorted(there)))
        else:
            change = random.choice(NAMES), "present"
            value = random.random() < 0.6
            for each in (whole, grown):
                each.change(*change, value, time)
