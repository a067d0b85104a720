"""Draws a pool's cluster, and those who ask for it."""

from dataclasses import dataclass, field
from typing import Any

from tests.oracle import Row

from .deciding_worlds import GROUPS, LEAST, POLICIES, a_cluster, destination_change
from .draws import Draws
from .driver import Step
from .pool import PoolModel

POOLED = [each for each in POLICIES if each not in ("broadcast", "ibm-mq", "smartsockets")]


@dataclass
class PoolWorld:
    """A cluster with readers and an order of work."""

    cluster: Row
    shares: tuple[int, ...]
    """How often somebody asks, leaves, tries again, gives up, raises; and the cluster changes."""
    features: frozenset[str] = field(default_factory=frozenset)

    def model(self) -> PoolModel:
        return PoolModel(self.cluster)

    def next_step(self, draws: Draws, model: PoolModel) -> Step:
        inside = [job["number"] for job in model.requests if job["block"] is not None]
        asking = [job["number"] for job in model.requests if job["asked"]]
        asks, leaves, again, gives_up, raises, changes = self.shares
        verbs = ["acquire"] * asks + ["at", "later"] + ["prioritise"] * raises + ["apply"] * changes
        verbs += (["leave"] * leaves + ["retry"] * again) if inside else []
        verbs += ["give_up"] * gives_up if asking else []
        verb = draws.pick(verbs)
        if verb in ("leave", "retry"):
            said: Row = {"number": draws.pick(inside)}
            return Step(
                verb, said | ({"failed": draws.whole(0, 4) == 0} if verb == "leave" else {})
            )
        if verb == "give_up":
            return Step(verb, {"number": draws.pick(asking)})
        if verb == "prioritise":
            priority = draws.pick([None, 0, 3, 255])
            return Step(verb, {"group": draws.pick(["g", "h", "é"]), "priority": priority})
        if verb in ("at", "later"):
            due = [time for time in (model.cluster.next(),) if time is not None]
            time = model.clock + draws.pick([*LEAST, 0]) if draws.whole(0, 2) or not due else due[0]
            return Step(verb, {"time": time + draws.pick([0, 0, 0, -1])})
        if verb == "apply":
            return Step(verb, {"changes": self.changes(draws, model)})
        return Step(verb, self.request(draws, model))

    def request(self, draws: Draws, model: PoolModel) -> Row:
        said: Row = {}
        key = self.cluster.get("options", {}).get("key", "group")
        if key != "group" and draws.whole(0, 1):
            said[key] = draws.pick(GROUPS)
        group = draws.pick([*GROUPS, "", "g"])
        tenants = "tenants" in self.features
        tenant = draws.pick(["", "t"]) if tenants and not group else ("t" if group == "h" else "")
        if draws.whole(0, 30) == 0:
            tenant = "u"
        return {
            "group": group,
            "tenant": tenant if tenants else "",
            "priority": draws.pick([None, None, None, 0, 5, 255]),
            "timeout": draws.pick([None, None, *LEAST]) if draws.whole(0, 3) == 0 else None,
            "cost": draws.pick([1, 1, 2, 5]) if tenants else 1,
            "said": said,
            "id": f"r{len(model.requests)}",
        }

    def changes(self, draws: Draws, model: PoolModel) -> list[Row]:
        found = []
        for _ in range(draws.pick([1, 1, 2, 3])):
            target, attribute, value = destination_change(draws, self.cluster, [], narrow=False)
            if draws.whole(0, 2) == 0:
                attribute = draws.pick(["readers", "state", "state", "capacity"])
                values: dict[str, list[Any]] = {"readers": [0, 1, 2, 3], "capacity": [0, 1, 2]}
                value = draws.pick(values.get(attribute, ["failed", "up"]))
            time = draws.pick([0, 0, 0, model.clock, model.clock + 10_000_000])
            found.append({"target": target, "attribute": attribute, "value": value, "time": time})
        return found


def a_pool(draws: Draws) -> PoolWorld:
    cluster = a_cluster(draws, "c", POOLED)
    if isinstance(cluster["policy"], dict) and cluster["policy"]["choose"] == "everyone":
        cluster["policy"]["choose"] = "circular"
    order: Row = {}
    if draws.whole(0, 3):
        order["discipline"] = "priority"
        if draws.whole(0, 2) == 0:
            order["ageing"] = draws.pick([0.5, 1, 0.000002])
        if draws.whole(0, 3) == 0:
            order["default_priority"] = draws.pick([0, 3, 255])
    features = {"tenants"} if draws.whole(0, 2) == 0 else set()
    if features and draws.whole(0, 1):
        order["weights"] = {"t": draws.pick([1, 2, 3])}
    for row in cluster["destination"]:
        row["readers"] = draws.pick([1, 1, 1, 2, 0])
    shares = draws.pick([(6, 4, 1, 1, 1, 2), (10, 3, 2, 3, 3, 3), (8, 4, 2, 1, 2, 6)])
    return PoolWorld(
        {**cluster, **({"order": order} if order else {})}, shares, frozenset(features)
    )
