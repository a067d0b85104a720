"""Epochs: in each a group goes one way, so its first message tells where the others go."""

from bisect import bisect_right
from random import Random
from typing import Any

import pytest
from tests import engines, oracle

from fairlead.compiled.plan import Plan
from fairlead.pipeline.routing.class_counts import eligible_rows

POLICIES = ["hot-standby", "msmq", "priority-failover", "round-robin", "weighted"]
GOES_AND_COMES = {"present": [True, False], "state": ["up", "failed"], "draining": [True, False]}
"""What takes a destination out, and what lets it keep its groups; both are needed at once."""


def scenario(policy: str, random: Random) -> engines.Scenario:
    """One or two destinations that come and go all the time: often nobody is there."""
    names = "AB"[: random.randint(1, 2)]
    options = {"affinity": "group"}
    can = [name for name in GOES_AND_COMES if policy != "msmq" or name != "draining"]
    changes = [
        {"time": time, "target": random.choice(names), "attribute": name, "value": value}
        for time in range(1, 12)
        for name in random.sample(can, random.randint(0, 2))
        for value in [random.choice(GOES_AND_COMES[name])]
    ]
    messages: list[dict[str, Any]] = [
        {"id": f"m{time:02}", "time": time, "group": random.choice("gh")} for time in range(12)
    ]
    more = {"weight": 1} if policy == "msmq" else {}
    destinations = [{"name": name, **more} for name in names]
    return {"policy": policy, "options": options, "destination": destinations}, messages, changes


@pytest.mark.costly
@pytest.mark.parametrize("policy", POLICIES)
def test_a_group_goes_one_way_in_an_epoch(policy: str) -> None:
    random = Random()  # noqa: S311 - not for secrets
    for _ in range(200):
        plain, messages, changes = drawn = scenario(policy, random)
        cluster = engines.cluster_of(plain)
        given = Plan([cluster], engines.changes_of(changes))
        plan = given.classified([given.message_class(cluster.name, {}, control=False)])
        epochs = {version: epoch for version, _, _, _, _, epoch in eligible_rows(plan)}
        went: dict[tuple[str, int], tuple[str | None, str]] = {}
        for message, decision in zip(messages, oracle.route(*drawn), strict=True):
            epoch = epochs[bisect_right(plan.times, engines.micros(message["time"]))]
            way = (decision.destination, decision.outcome)
            assert went.setdefault((message["group"], epoch), way) == way, drawn
