"""Everyday policies: what is refused, and that documented systems are compositions themselves."""

from random import Random
from typing import Any

import pytest
from tests import engines
from tests.strategies import random_scenario

from fairlead import Balancer, Change, Cluster
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.composed import PRESETS, compose, nearest
from fairlead.balance.policies.priority_failover import Health, shares
from fairlead.errors import ChangeError, ConfigError

AB = [{"name": "A"}, {"name": "B"}]
SEEDS = 150


def cluster(policy: Any, *, options: Any = None, destination: Any = AB) -> Cluster:
    plain = {"policy": policy, "destination": destination}
    return Cluster.from_dict(
        {**plain, **({"options": options} if options else {})}, default_name="c"
    )


@pytest.mark.parametrize(
    ("eliminate", "choose", "line"),
    [
        (["up"], "circular", "policy.eliminate: found 'up', allowed: disabled, down"),
        (["dwon"], "circular", "did you mean 'down'"),
        (["down", "down"], "circular", "found 'down' twice"),
        (["worse-priority", "down"], "circular", "allowed: 'worse-priority' last"),
        (["down"], "least-served", "found no 'weight-zero'"),
        (["worse-priority"], "ready-ring", "which ready-ring does itself"),
        ([], "circulars", "policy.choose: found 'circulars', allowed: least-served, circular"),
    ],
)  # fmt: skip
def test_a_composition_that_cannot_work_is_refused(
    eliminate: list[str], choose: str, line: str
) -> None:
    with pytest.raises(ConfigError) as error:
        cluster({"eliminate": eliminate, "choose": choose})
    assert line in str(error.value)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ({"eliminate": ["down"]}, "policy.choose: found nothing"),
        ({"eliminate": "down", "choose": "circular"}, "policy.eliminate: found 'down'"),
        (
            {"eliminate": [], "choose": "circular", "then": 1},
            "policy.then: found an unknown key",
        ),
        ("wieghted", "did you mean 'weighted'"),
        (None, "policy: found nothing"),
    ],
)
def test_a_policy_that_is_none_is_refused(policy: Any, line: str) -> None:
    with pytest.raises(ConfigError) as error:
        cluster(policy)
    assert line in str(error.value)


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        ("round-robin", "weight", 2),
        ("round-robin", "priority", 2),
        ("hot-standby", "weight", 2),
        ("fewest-pending", "priority", 2),
        ("weighted", "priority", 2),
        ("weighted", "capacity", 2),
        ({"eliminate": [], "choose": "circular"}, "enabled", True),
        ({"eliminate": ["disabled"], "choose": "circular"}, "state", "up"),
    ],
)
def test_a_key_that_the_policy_would_ignore_is_refused(policy: Any, key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        cluster(policy, destination=[{"name": "A", key: value}])


@pytest.mark.parametrize("name", ["overprovisioning", "panic_threshold"])
def test_without_spill_its_options_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"options.{name}: found 100.*ignored"):
        cluster("priority-failover", options={"spill": "none", name: 100})


@pytest.mark.parametrize("policy", ["round-robin", "hot-standby", "fewest-pending"])
def test_where_nothing_is_counted_there_is_no_reset(policy: str) -> None:
    with pytest.raises(ChangeError, match="counts nothing"):
        Balancer(cluster(policy)).apply(Change("*", "reset"))


def test_msmq_is_a_composition() -> None:
    for seed in range(SEEDS):
        plain, messages, changes = random_scenario("msmq", Random(seed))  # noqa: S311
        for change in changes:
            if change["attribute"] == "state":  # it says nothing there, and is no attribute here
                change.update(attribute="readers", value=1)
        policy = {"eliminate": ["disabled", "draining", "weight-zero"], "choose": "least-served"}
        options = {"newcomer": "catch-up", **plain.get("options", {})}
        same = {**plain, "policy": policy, "options": options}
        assert engines.live(same, messages, changes) == engines.live(plain, messages, changes)


def test_nanomsg_is_a_composition() -> None:
    for seed in range(SEEDS):
        plain, messages, changes = random_scenario("nanomsg", Random(seed))  # noqa: S311
        same = {**plain, "policy": {"eliminate": ["down", "draining"], "choose": "ready-ring"}}
        assert engines.live(same, messages, changes) == engines.live(plain, messages, changes)


def test_the_nearest_preset_is_named() -> None:
    own = compose("own", ("down", "weight-zero", "worse-priority"), "least-served")
    differences = "also worse-priority, without disabled, without draining"
    assert nearest(own) == f"nearest preset: weighted ({differences})"
    ring = compose("own", ("down", "draining"), "ready-ring")
    assert nearest(ring) == "nearest preset: nanomsg, the same"
    for preset in PRESETS:
        assert nearest(preset) == f"nearest preset: {preset.name}, the same"


def test_every_policy_says_when_to_choose_it() -> None:
    for policy in POLICIES.values():
        assert policy.about
        assert policy.choose_when
        assert policy.choose_when_not


@pytest.mark.parametrize(
    ("levels", "wanted"),
    [
        ([(1, 2), (2, 2)], [70, 30]),
        ([(1, 4), (1, 4), (4, 4)], [35, 35, 30]),
        ([(3, 4), (4, 4)], [100, 0]),
        ([(0, 4), (1, 4)], [0, 100]),
        ([(1, 3), (1, 3), (0, 3)], [50, 50, 0]),
        ([(1, 3), (1, 5), (0, 3)], [63, 37, 0]),
        ([(0, 1), (1, 4), (1, 3)], [0, 44, 56]),
        ([(0, 3), (0, 1)], [75, 25]),
    ],
)
def test_shares_of_levels(levels: list[tuple[int, int]], wanted: list[int]) -> None:
    found = shares([Health(*each) for each in levels], 140, 50)
    assert [level.share for level in found] == wanted


def test_what_was_lost_in_a_failure_is_not_completed_later() -> None:
    balancer = Balancer(cluster("fewest-pending"))
    lost, *_ = [balancer.choose() for _ in range(2)]
    balancer.apply([Change("A", "state", "failed")])
    balancer.apply([Change("A", "state", "up")])
    assert balancer.choose().destination == "A"
    snapshot = balancer.snapshot()
    balancer.completed(lost)
    assert balancer.snapshot()["clusters"] == snapshot["clusters"]
    balancer.restore(snapshot)
    balancer.completed(lost)
    assert balancer.snapshot()["clusters"] == snapshot["clusters"]


@pytest.mark.parametrize("change", ["A", ("A", "state", "down", 1)])
def test_a_change_that_is_none_is_refused(change: Any) -> None:
    with pytest.raises(ChangeError, match=r"allowed: a fairlead\.Change"):
        Balancer(cluster("weighted")).apply([change])


def test_shares_are_told_as_shares() -> None:
    servers = [{"name": "n1", "weight": 2}, {"name": "n2", "state": "down"}]
    far = {"name": "far", "priority": 1, "weight": 7}
    why = str(
        Balancer(cluster("priority-failover", destination=[*servers, far])).choose().explain()
    )
    assert "1. n1: 0 served / share 7 = 0" in why
    assert "n1 has the larger share: 7 > 3" in why
    assert "far would have been chosen if n1 had been gone" in why


@pytest.mark.parametrize("options", [{"spill": "none"}, {"panic_threshold": 0}])
def test_panic_is_told_only_where_there_can_be_any(options: Any) -> None:
    assert "panic" not in str(
        cluster("priority-failover", options=options).start().describe.effective()
    )
    assert "panic" in str(cluster("priority-failover").start().describe.effective())


# --- what weights say ------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["msmq", "weighted", "priority-failover"])
def test_groups_that_stay_are_held_against_no_weight(policy: str) -> None:
    weighed = [{"name": "A", "weight": 3}, {"name": "B", "weight": 1}]
    free = cluster(policy, destination=weighed).start()
    assert free.expected() == {"A": 3 / 4, "B": 1 / 4}
    bound = cluster(policy, destination=weighed, options={"affinity": "group"}).start()
    assert bound.weights() == {"A": 3, "B": 1}
    assert bound.expected() == {}


def test_where_nobody_has_a_weight_none_is_told() -> None:
    for policy in ("round-robin", "fewest-pending", "hot-standby", "broadcast"):
        found = cluster(policy).start()
        assert found.weights() == found.expected() == {}


def test_levels_tell_the_files_weights_and_what_each_gets() -> None:
    levels = [
        {"name": "near", "weight": 5},
        {"name": "gone", "weight": 5, "state": "down"},
        {"name": "far", "weight": 9, "priority": 1},
    ]
    found = cluster("priority-failover", destination=levels).start()
    assert found.weights() == {"near": 5, "far": 9}
    assert found.expected() == {"near": 0.7, "far": 0.3}
