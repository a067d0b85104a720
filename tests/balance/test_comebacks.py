"""Slow start and fail-back delay: what is refused, what is told, and the live balancer's time."""

import json
import pickle
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import engines

from fairlead import Balancer, Change, Cluster
from fairlead.balance.changes import resolve_one
from fairlead.balance.policies.slow_start import per_mille
from fairlead.compiled.plan import Plan
from fairlead.errors import ConfigError

AB = [{"name": "A", "weight": 100}, {"name": "B", "weight": 100}]
RING = {"eliminate": ["down"], "choose": "ready-ring"}


def cluster(options: Any, *, policy: Any = "weighted", destination: Any = AB) -> Cluster:
    plain = {"policy": policy, "options": options, "destination": destination}
    return Cluster.from_dict(plain, default_name="c")


def picks(balancer: Balancer, n: int) -> str:
    return "".join(str(balancer.choose().destination) for _ in range(n))


def recovering(**options: Any) -> Balancer:
    """B has just come back to A, at 100 s; A has got 100 messages."""
    balancer = Balancer(cluster({"slow_start": 10, **options}))
    balancer.apply(Change("B", "state", "down", 0))
    assert picks(balancer, 100) == 100 * "A"
    balancer.apply(Change("B", "state", "up", 100))
    return balancer


@pytest.mark.parametrize(
    ("policy", "options", "line"),
    [
        ("weighted", {"slow_start": 0}, "options.slow_start: found 0, allowed: seconds from 0.001"),
        ("weighted", {"slow_start": Decimal("NaN")}, "slow_start: found NaN, allowed: seconds"),
        ("weighted", {"slow_start": 0.0001}, "with at most 3 decimals"),
        ("weighted", {"slow_start": True}, "options.slow_start: found true, allowed: a number"),
        ("weighted", {"slow_start": 1, "slow_start_min": 0}, "an integer from 1 to 99"),
        ("weighted", {"slow_start": 1, "slow_start_aggression": 0.01}, "a number from 0.1 to 10"),
        ("weighted", {"slow_start_min": 10}, "without slow_start it would be ignored"),
        ("weighted", {"slow_start_aggression": 1}, "without slow_start it would be ignored"),
        (
            "weighted",
            {"slow_start": 1, "newcomer": "catch-up"},
            'gets everything at first; allowed: with newcomer = "level"',
        ),
        ("weighted", {"failback_delay": -1}, "options.failback_delay: found -1, allowed: seconds"),
        ("priority-failover", {"failback_delay": 1e7}, "from 0.001 to 1000000"),
        ("hot-standby", {"slow_start": 1}, "a key of weighted, priority-failover, which would be"),
        ("msmq", {"slow_start": 1}, "a key of weighted, priority-failover, which would be"),
        ("nanomsg", {"failback_delay": 1}, "would be ignored here"),
        (
            {"eliminate": ["weight-zero"], "choose": "least-served"},
            {"failback_delay": 1},
            "options.failback_delay: found a key of round-robin, weighted, ",
        ),
    ],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(policy: Any, options: Any, line: str) -> None:
    with pytest.raises(ConfigError) as error:
        cluster(options, policy=policy, destination=[{"name": "A"}])
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@given(step=st.integers(0, 9), thousandths=st.integers(100, 10_000))
def test_the_paces_are_the_exact_powers_rounded(step: int, thousandths: int) -> None:
    found = per_mille(step, Decimal(thousandths) / 1000)
    # found - 1/2 <= 1000 x (step/10)^(1/aggression) < found + 1/2, without a root
    wanted = Fraction(step, 10) ** 1000
    assert found == 0 or Fraction(2 * found - 1, 2000) ** thousandths <= wanted
    assert wanted < Fraction(2 * found + 1, 2000) ** thousandths


def test_half_a_per_mille_is_rounded_up() -> None:
    assert per_mille(5, Decimal("0.25")) == 63  # 62.5


def test_what_comes_back_is_told() -> None:
    state = cluster({"slow_start": 10, "slow_start_min": 25, "failback_delay": 2.5}).start()
    slow, held = state.describe.effective()[-2:]
    assert slow == (
        "slow start beside others, in per cent of the weight: 25 from 0 s, 30 from 3 s, "
        "40 from 4 s, 50 from 5 s, 60 from 6 s, 70 from 7 s, 80 from 8 s, 90 from 9 s, "
        "100 from 10 s"
    )
    assert held == (
        "fail-back delay: one that was down gets messages again 2.5 s after it is up, unless it "
        "goes down before that"
    )


def test_a_slow_start_is_explained() -> None:
    balancer = recovering()
    text = str(balancer.choose().explain())
    assert "2. B: 10 served / weight 10 (10 % of 100: slow start) = 1\n" in text
    assert "equal at 1; A has the larger weight: 100 > 10" in text
    assert "B would have been chosen if A had been gone" in text
    balancer.at(102)
    assert "B: 20 served / weight 20 (20 % of 100: slow start)" in str(balancer.choose().explain())
    balancer.at(110)
    assert "slow start" not in str(balancer.choose().explain())


def test_who_is_held_back_is_told() -> None:
    balancer = Balancer(cluster({"failback_delay": 30}))
    balancer.apply([Change("B", "state", "down", 0)])
    assert "dropped B: state is down" in str(balancer.choose().explain())
    balancer.apply(Change("B", "state", "up", 5))
    reason = "dropped B: it is up again, but for less than its fail-back delay of 30 s"
    before = balancer.choose()
    assert reason in str(before.explain())
    balancer.at(35)
    assert reason not in str(balancer.choose().explain())
    assert reason in str(before.explain())


def test_weights_are_told_as_they_count_now() -> None:
    state = cluster({"slow_start": 10}).start()
    assert state.expected() == {"A": 1 / 2, "B": 1 / 2}
    state.apply([resolve_one(state, Change("B", "present", False))], 0)
    state.apply([resolve_one(state, Change("B", "present", True))], 1)
    assert state.weights() == {"A": 100, "B": 100}
    assert state.in_effect() == {"A": 10, "B": 1}
    assert state.expected() == {"A": 10 / 11, "B": 1 / 11}


# --- the live balancer's time ----------------------------------------------------------------


def test_time_makes_what_is_due_and_nothing_twice() -> None:
    balancer = recovering()
    assert balancer.next_change() == 102  # at 101 s it is still a tenth
    balancer.at(101.999999)
    before = balancer.snapshot()
    assert before["clusters"]["c"]["parts"][0][1]["version"] == 2
    balancer.at(102)
    after = balancer.snapshot()
    assert after["clusters"]["c"]["parts"][0][1]["version"] == 3
    for time in (102, 0, 102.999999):
        balancer.at(time)
        assert balancer.snapshot()["clusters"] == after["clusters"]
    balancer.at(1_000)
    assert balancer.next_change() is None
    assert balancer.snapshot()["clusters"]["c"]["parts"][0][1]["version"] == 11
    assert picks(balancer, 4) in ("ABAB", "BABA")


def test_a_later_change_makes_what_is_due_before() -> None:
    stepped, jumped = recovering(), recovering()
    for time in range(100, 108):
        stepped.at(time)
    for balancer in (stepped, jumped):
        balancer.apply(Change("A", "weight", 50, 107.000001))
    assert stepped.snapshot() == jumped.snapshot()
    assert jumped.next_change() == 108


def test_a_change_without_a_time_is_made_now() -> None:
    balancer = Balancer(cluster({"slow_start": 10}))
    balancer.at(1_700_000_000)
    balancer.apply(Change("B", "state", "down"))
    balancer.apply(Change("B", "state", "up"))
    assert balancer.next_change() == 1_700_000_002


def test_changes_that_come_late_stay_steps_of_their_own() -> None:
    balancer = Balancer(cluster({"slow_start": 10}))
    balancer.at(60)
    both = ("A", "B")
    balancer.apply([Change(name, "state", "down", 1) for name in both])
    balancer.apply([Change("A", "state", "up", 2), Change("B", "state", "up", 3)])
    assert balancer.snapshot()["clusters"]["c"]["parts"][0][1]["paces"] == [
        [["destination", "B", ""], 100]
    ]


def test_a_snapshot_holds_what_is_still_to_come() -> None:
    balancer = recovering(failback_delay=5)
    balancer.at(107)
    balancer.apply(Change("A", "state", "down", 108))
    balancer.apply(Change("A", "state", "up", 109))
    other = Balancer(cluster({"slow_start": 10, "failback_delay": 5}))
    other.restore(json.loads(json.dumps(balancer.snapshot())))
    assert other.snapshot() == balancer.snapshot()
    assert other.next_change() == balancer.next_change() == 110
    for second in range(109, 126):
        for each in (balancer, other):
            each.at(second)
        assert picks(balancer, 7) == picks(other, 7)
    assert other.snapshot() == balancer.snapshot()


def test_clusters_keep_apart_in_one_time() -> None:
    clusters = [
        Cluster.from_dict({**cluster({"slow_start": w}).to_dict(), "name": name}, default_name="")
        for name, w in (("x", 10), ("y", 20))
    ]
    balancer = Balancer(clusters)
    for state in ("down", "up"):
        balancer.apply([Change(f"B@{name}", "state", state, 1) for name in "xy"])
        balancer.at(2)
    assert balancer.next_change() == 4
    balancer.at(12)
    paces = {n: c["parts"][0][1]["paces"] for n, c in balancer.snapshot()["clusters"].items()}
    assert paces == {"x": [], "y": [[["destination", "B", ""], 500]]}


# --- plans -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thousand_recoveries() -> None:
    slow = cluster({"slow_start": 10, "failback_delay": 1}, destination=[*AB, {"name": "C"}])
    changes = [
        Change("ABC"[k % 3], "state", state, (40 * k + second))
        for k in range(1_000)
        for second, state in ((0, "down"), (10, "up"))
    ]
    plan = Plan([slow], changes)
    assert len(plan.times) == 1_000 * (1 + 1 + 1 + 9)
    copied = pickle.loads(pickle.dumps(plan))  # noqa: S301
    assert (copied.steps, copied.times) == (plan.steps, plan.times)
    messages = [{"id": f"{k:06}", "time": 2 * k} for k in range(20_000)]
    happened = [{**change.to_dict(), "time": change.time} for change in changes]
    found = engines.compiled({**slow.to_dict()}, messages, happened)
    assert Counter(outcome for _, outcome, _ in found) == {"routed": 20_000}


def test_a_ring_waits_for_its_fail_back() -> None:
    plain: dict[str, Any] = {
        "policy": RING,
        "options": {"failback_delay": 2},
        "destination": [{"name": "A", "priority": 1, "capacity": 2}, {"name": "B"}],
    }
    messages = [{"id": str(k), "time": k, "service_time": 1.5} for k in range(8)]
    changes = [
        {"time": time, "target": "A", "attribute": "state", "value": state}
        for time, state in ((1, "failed"), (2, "up"), (6, "down"), (7, "up"))
    ]
    live = engines.live(plain, messages, changes)
    assert [name for name, _, _ in live] == list("ABBBAABB")
    assert engines.compiled(plain, messages, changes) == live


def test_who_is_said_to_be_up_again_waits_no_longer() -> None:
    balancer = Balancer(cluster({"failback_delay": 10}))
    for state, time in [("down", 0), ("up", 100), ("up", 105)]:
        balancer.apply(Change("B", "state", state, time))
    balancer.at(109)
    assert picks(balancer, 2) == "AA"
    balancer.at(110)
    assert "B" in picks(balancer, 2)


def test_who_leaves_in_a_slow_start_has_its_whole_weight_where_it_is_alone() -> None:
    def after(*events: tuple[str, str, int]) -> str:
        balancer = Balancer(cluster({"slow_start": 10}))
        for name, state, time in events:
            balancer.apply(Change(name, "state", state, time))
        return picks(balancer, 60)

    began = ("B", "down", 0)
    alone = ("A", "down", 103), ("B", "up", 104), ("A", "up", 105)
    assert after(began, ("B", "up", 100), ("B", "down", 102), *alone) == after(began, *alone)
