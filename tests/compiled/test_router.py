"""A router that goes on where another one stood decides as that one would have."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import engines
from tests.golden_cases import POLICIES
from tests.strategies import Scenario, scenarios

from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.intake.whole import whole
from fairlead.compiled.plan import Plan
from fairlead.compiled.router import Router


def routed(scenario: Scenario, cuts: Sequence[int] = ()) -> tuple[list[int], list[int]]:
    """Codes and sequences; at each cut a new router takes over, from plain data."""
    cluster, messages, changes = scenario
    given = Plan([engines.cluster_of(cluster)], engines.changes_of(changes))
    rows = engines.table(engines.in_order(messages))
    taken = whole(rows, given, trust_ids=True, worked=False)
    rows, times, services = taken.table, taken.times, taken.services
    plan, codes = classified(rows, given)
    bound, numbers = bindings(rows, plan, codes), keys(rows, plan, codes)
    router, decided, sequences = Router(plan), [], []
    for start, stop in pairwise([0, *sorted(cuts), len(codes)]):
        state = json.loads(json.dumps(router.dump()))
        router = Router(plan)
        router.load(state)
        part = slice(start, stop)
        decided += router.feed(
            codes[part],
            times[part],
            services[part],
            None if bound is None else bound.at(part),
            None if numbers is None else numbers[part],
        ).tolist()
        sequences += router.sequence(codes[part]).tolist()
    return decided, sequences


@pytest.mark.parametrize("system", POLICIES)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_it_goes_on_from_wherever_another_stood(system: str, data: st.DataObject) -> None:
    cluster, messages, changes = data.draw(scenarios(system))
    if not messages:
        return
    for row in cluster.get("destination", []):
        moment = data.draw(st.sampled_from(messages))["time"]
        move = {"attribute": "address", "value": data.draw(st.sampled_from(["", "x", "y"]))}
        changes = [*changes, {"time": moment, "target": row["name"], **move}]
    cuts = data.draw(st.lists(st.integers(0, len(messages)), min_size=1, max_size=3))
    scenario = cluster, messages, changes
    assert routed(scenario, cuts) == routed(scenario)


@pytest.mark.parametrize("first", [4, 6])
def test_it_goes_past_messages_as_if_it_had_routed_them(first: int) -> None:
    """Of one set of candidates some messages are chosen for, and some are not asked about."""
    cluster = {
        "policy": "ibm-mq",
        "queue_manager": {"name": "HUB", "clusters": ["PLANT"], "use_queue": "any"},
        "remote": [{"name": "A"}],
        "channel": [{"name": "TO.A", "queue_manager": "A"}],
        "queue": [
            {"name": "ORDERS", "queue_manager": "HUB", "bind": "not-fixed"},
            {"name": "ORDERS", "queue_manager": "A", "bind": "not-fixed", "put_enabled": False},
        ],
    }
    change = {"time": 10, "target": "queue:ORDERS@A", "attribute": "put_enabled", "value": True}
    messages = [
        {"id": f"m{n:02}", "time": n, "queue": "ORDERS", "via_cluster_channel": n < first}
        for n in range(20)
    ]
    given = Plan([engines.cluster_of(cluster)], engines.changes_of([change]))
    rows = engines.table(messages)
    plan, codes = classified(rows, given)
    times = whole(rows, given, trust_ids=True, worked=False).times
    early = times < 10_000_000
    through, past = Router(plan), Router(plan)
    decided = through.feed(codes, times)[~early]
    assert past.advance(None, Counter(codes[early].tolist()))
    assert past.feed(codes[~early], times[~early]).tolist() == decided.tolist()
    assert len(np.unique(decided)) == 2
