"""The oracles hold to the documents, and the random scenarios are such as an oracle can run."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.golden_cases import FILES, POLICIES, SYSTEMS, Case, cases, check
from tests.model.histories import decide
from tests.oracle import Decision, duration, messages_in_order, microseconds, route
from tests.strategies import AWKWARD_NAMES, LETTERS, Row, Scenario, scenarios

GOLDEN = [
    pytest.param(case, id=f"{system}: {case.name}") for system in FILES for case in cases(system)
]
names = st.sampled_from(AWKWARD_NAMES) | st.text(LETTERS, min_size=1, max_size=3)
channel_weights = st.sampled_from([50, 25, 99, 1]) | st.integers(1, 99)
many = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def numbered(count: int, **attributes: Any) -> list[Row]:
    """So many messages alike, a second apart."""
    return [{"id": f"m{n:06d}", "time": Fraction(n), **attributes} for n in range(count)]


def destinations(decisions: list[Decision]) -> list[str | None]:
    return [decision.destination for decision in decisions]


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_case(case: Case) -> None:
    if case.cluster["policy"] == "ibm-mq":
        decisions, model = decide(case.cluster, case.messages, case.changes)
        (manager,) = model.clusters.values()
        check(case, [decision[1:] for decision in decisions], manager.own.factor)
    else:
        decisions = route(case.cluster, case.messages, case.changes)
        check(case, [decision[1:] for decision in decisions])


@pytest.mark.parametrize("policy", SYSTEMS)
def test_golden_cases_are_of_their_system(policy: str) -> None:
    assert {case.cluster["policy"] for case in cases(policy)} == {policy}


@pytest.mark.parametrize("policy", POLICIES)
@many
@given(data=st.data())
def test_every_message_gets_one_decision(policy: str, data: st.DataObject) -> None:
    cluster, messages, changes = data.draw(scenarios(policy))
    decisions = route(cluster, messages, changes)
    assert list(dict.fromkeys(decision.id for decision in decisions)) == [
        message["id"] for message in messages_in_order(messages)
    ]
    for decision in decisions:
        assert (decision.destination is not None) == (decision.outcome == "routed")
    copies = [(decision.id, decision.destination) for decision in decisions]
    assert len(set(copies)) == len(copies)
    by_id = {message["id"]: message for message in messages}
    place: Counter[object] = Counter()
    for decision in {decision.id: decision for decision in decisions}.values():
        message = by_id[decision.id]
        stream: tuple[str, ...] = (message.get("cluster") or cluster.get("name", ""),)
        if policy == "ibm-mq":
            queues = {row["name"] for row in cluster["queue"]}
            queue = message.get("queue", "")
            is_own = stream[0] == cluster.get("name", "")
            if is_own and not queue and not message.get("queue_manager") and len(queues) == 1:
                queue = "" if message.get("pcf") else next(iter(queues))
            stream = (*stream, queue)
        if policy == "smartsockets":
            subjects = {row["subject"] for row in cluster["subscriber"]}
            subject = message.get("subject", "")
            if stream[0] == cluster.get("name", "") and not subject and len(subjects) == 1:
                subject = next(iter(subjects))
            stream = (*stream, subject)
        assert decision.sequence == place[stream]
        place[stream] += 1


@pytest.mark.parametrize("policy", POLICIES)
@many
@given(data=st.data())
def test_the_order_of_the_table_does_not_matter(policy: str, data: st.DataObject) -> None:
    cluster, messages, changes = data.draw(scenarios(policy))
    shuffled = data.draw(st.permutations(messages))
    assert route(cluster, messages, changes) == route(cluster, shuffled, changes)


@pytest.mark.parametrize("policy", POLICIES)
@many
@given(data=st.data())
def test_later_changes_do_not_reach_back(policy: str, data: st.DataObject) -> None:
    cluster, messages, changes = data.draw(scenarios(policy))
    now = data.draw(st.integers(0, 7))
    before = [message for message in messages if message["time"] < now]
    known = [change for change in changes if change["time"] < now]
    decisions = route(cluster, messages, changes)
    ids = {message["id"] for message in before}
    assert route(cluster, before, known) == [d for d in decisions if d.id in ids]


# --- msmq ------------------------------------------------------------------------------------


def msmq_batch(weights: dict[str, int], sent: dict[str, int], count: int) -> list[str]:
    """The next choices at once: the keys of all future messages, sorted."""
    keys = [
        (Fraction(sent[name] + j, weight), -weight, name.encode(), name)
        for name, weight in weights.items()
        if weight > 0
        for j in range(count)
    ]
    return [key[3] for key in sorted(keys)[:count]]


weighted_machines = st.dictionaries(names, st.integers(1, 60), min_size=1, max_size=5)


@many
@given(weights=weighted_machines, count=st.integers(0, 120))
def test_msmq_batch_is_step_by_step(weights: dict[str, int], count: int) -> None:
    machines = [{"name": name, "weight": weight} for name, weight in weights.items()]
    decisions = route({"policy": "msmq", "destination": machines}, numbered(count), [])
    assert destinations(decisions) == msmq_batch(weights, dict.fromkeys(weights, 0), count)


@many
@given(before=weighted_machines, data=st.data())
def test_msmq_batch_goes_on_from_any_counts(before: dict[str, int], data: st.DataObject) -> None:
    """Machines change weights and are disabled for a while (both keep their counts)."""
    first, then = data.draw(st.integers(0, 60)), data.draw(st.integers(1, 60))
    after = {name: data.draw(st.integers(0, 60)) for name in before}
    changes = [
        {"time": Fraction(first), "target": name, "attribute": "weight", "value": weight}
        for name, weight in after.items()
    ]
    machines = [{"name": name, "weight": weight} for name, weight in before.items()]
    decisions = route({"policy": "msmq", "destination": machines}, numbered(first + then), changes)
    got = destinations(decisions)
    sent = {name: got[:first].count(name) for name in before}
    wanted = msmq_batch(after, sent, then) if any(after.values()) else [None] * then
    assert got[first:] == wanted


@many
@given(weights=st.dictionaries(names, st.integers(1, 12), min_size=1, max_size=4))
def test_msmq_repeats_itself(weights: dict[str, int]) -> None:
    machines = [{"name": name, "weight": weight} for name, weight in weights.items()]
    period = sum(weights.values()) // gcd(*weights.values())
    decisions = route({"policy": "msmq", "destination": machines}, numbered(3 * period), [])
    got = destinations(decisions)
    assert got[period:] == got[:-period]
    for name, weight in weights.items():
        assert got[:period].count(name) * gcd(*weights.values()) == weight


@many
@given(data=st.data())
def test_msmq_level_newcomers_make_no_burst(data: st.DataObject) -> None:
    """Of equals, at least two of them, nobody is chosen three times in a row, whoever returns."""
    every = data.draw(st.lists(names, min_size=2, max_size=5, unique=True))
    weight = data.draw(st.integers(1, 9))
    cluster: Row = {
        "policy": "msmq",
        "options": {"newcomer": "level"},
        "destination": [{"name": name, "weight": weight} for name in every],
    }
    messages = numbered(60)
    enabled = set(every)
    changes: list[Row] = []
    stretches: list[tuple[int, set[str]]] = [(0, set(enabled))]
    for time in sorted(data.draw(st.sets(st.integers(1, 59), max_size=8))):
        name = data.draw(st.sampled_from(every))
        enabled ^= {name}
        value = name in enabled
        changes.append({"time": time, "target": name, "attribute": "enabled", "value": value})
        stretches.append((time, set(enabled)))
    got = destinations(route(cluster, messages, changes))
    for (start, here), (end, _) in pairwise([*stretches, (60, set())]):
        for a, b, c in zip(
            got[start:end], got[start + 1 : end], got[start + 2 : end], strict=False
        ):
            assert len(here) < 2 or not a == b == c


# --- nanomsg ---------------------------------------------------------------------------------


@many
@given(scenario=scenarios("nanomsg"))
def test_nanomsg_without_changes_the_best_priority_takes_turns(scenario: Scenario) -> None:
    cluster, messages, _ = scenario
    peers = [
        {**peer, "capacity": 0}
        for peer in cluster["destination"]
        if peer.get("present", True) and peer.get("state", "up") == "up"
        if not peer.get("draining")
    ]
    decisions = route({"policy": "nanomsg", "destination": peers}, numbered(len(messages)), [])
    best = min((peer.get("priority", 8) for peer in peers), default=0)
    ring = [peer["name"] for peer in peers if peer.get("priority", 8) == best]
    wanted = [ring[n % len(ring)] if ring else None for n in range(len(messages))]
    assert destinations(decisions) == wanted


@many
@given(scenario=scenarios("nanomsg"))
def test_nanomsg_never_more_than_the_capacity(scenario: Scenario) -> None:
    """While nothing changes, no peer holds more than it may, and nobody better was left out."""
    cluster, messages, _ = scenario
    peers = {
        peer["name"]: peer
        for peer in cluster["destination"]
        if peer.get("present", True) and peer.get("state", "up") == "up"
        if not peer.get("draining")
    }
    by_id = {message["id"]: message for message in messages}
    own = cluster.get("name", "")
    held: list[tuple[str, int]] = []
    for decision in route(cluster, messages, []):
        message = by_id[decision.id]
        if (message.get("cluster") or own) != own:
            continue
        now = microseconds(message["time"])
        held = [(name, until) for name, until in held if until > now]
        load = Counter(name for name, _ in held)
        ready = {
            name
            for name, peer in peers.items()
            if not peer.get("capacity", 0) or load[name] < peer["capacity"]
        }
        name = decision.destination
        if name is None:
            assert not ready
            continue
        assert name in ready
        assert peers[name].get("priority", 8) == min(peers[n].get("priority", 8) for n in ready)
        if "service_time" in message:
            speed = Fraction(str(peers[name].get("speed", 1)))
            held.append((name, now + duration(message["service_time"], speed)))


# --- ibm-mq ----------------------------------------------------------------------------------


def ibm_batch(
    weights: dict[str, int], factors: dict[str, Fraction], numbers: dict[str, int], count: int
) -> list[str]:
    """The next choices among these channels at once."""
    keys: list[tuple[Any, ...]] = []
    for name, weight in weights.items():
        for j in range(count):
            value = factors[name] + j * Fraction(1000, weight)
            if j == 0:
                keys.append((value, 0, numbers[name], name.encode(), name))
            else:
                keys.append((value, 1, weight, j, numbers[name], name.encode(), name))
    return [key[-1] for key in sorted(keys)[:count]]


@many
@given(
    channels=st.dictionaries(
        names.filter(lambda name: name != "local"), channel_weights, min_size=1, max_size=5
    ),
    data=st.data(),
)
def test_ibm_mq_batch_is_step_by_step(channels: dict[str, int], data: st.DataObject) -> None:
    """From any factors and numbers: puts to queues that some of the channels lead to come first."""
    every = list(channels)
    managers = {name: f"QM{n}" for n, name in enumerate(every)}
    cluster: Row = {
        "policy": "ibm-mq",
        "queue_manager": {"name": "QM", "clusters": ["C"]},
        "remote": [{"name": managers[name]} for name in every],
        "channel": [
            {"name": name, "queue_manager": managers[name], "weight": channels[name]}
            for name in every
        ],
        "queue": [
            {"name": queue, "queue_manager": managers[name], "bind": "not-fixed"}
            for name in every
            for queue in ("ALL", f"ONLY {managers[name]}")
        ],
    }
    before = [
        {"queue": f"ONLY {managers[name]}"}
        for name in data.draw(st.lists(st.sampled_from(every), max_size=12))
    ]
    count = data.draw(st.integers(0, 60))
    rows = before + [{"queue": "ALL"}] * count
    messages = [{**row, **message} for row, message in zip(rows, numbered(len(rows)), strict=True)]
    manager = decide(cluster, messages[: len(before)], [])[1].clusters["cluster"].own
    decisions = route(cluster, messages, [])
    wanted = ibm_batch(channels, manager.factor, manager.number, count)
    assert destinations(decisions)[len(before) :] == wanted


@many
@given(scenario=scenarios("ibm-mq"))
def test_ibm_mq_bindings_hold(scenario: Scenario) -> None:
    """What is put on-open by one opener goes to one place."""
    cluster, messages, changes = scenario
    messages = [{**message, "bind": "on-open"} for message in messages]
    by_id = {message["id"]: message for message in messages}
    bound: dict[tuple[str, ...], set[str]] = {}
    for decision in route(cluster, messages, changes):
        message = by_id[decision.id]
        opener = tuple(
            str(message.get(key, "")) for key in ("queue", "queue_manager", "pcf", "producer")
        )
        if decision.destination is not None:
            bound.setdefault(opener, set()).add(decision.destination)
    assert all(len(places) == 1 for places in bound.values())


@many
@given(scenario=scenarios("ibm-mq"))
def test_ibm_mq_chooses_what_is_in_the_file(scenario: Scenario) -> None:
    cluster, messages, changes = scenario
    known = {row["name"] for row in cluster.get("channel", [])} | {"local", None}
    assert set(destinations(route(cluster, messages, changes))) <= known
