"""The live balancer: threads, snapshots, explanations, changes, the journal."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines import Scenario, changes_of, cluster_of, in_order, micros
from tests.golden_cases import POLICIES
from tests.strategies import scenarios

from fairlead import Balancer, Change, Cluster, Decision
from fairlead.balance.balancer import NOTHING
from fairlead.balance.journal import EventRow, JournalRow
from fairlead.errors import ChangeError, ConfigError, MessageError
from fairlead.rows import JOURNAL

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
SEVERAL = settings(max_examples=60, suppress_health_check=SLOW)

THREE = [{"name": name} for name in "ABC"]
CHANNELS = {"TO.A": 50, "TO.B": 25, "TO.C": 7}
CLUSTERS = {
    "msmq": Cluster.of(
        "msmq",
        destination=[
            {"name": "DEV1", "weight": 100, "address": "first"},
            {"name": "DEV2", "weight": 200},
            {"name": "DEV3", "weight": 37},
        ],
    ),
    "ibm-mq": Cluster.of(
        "ibm-mq",
        queue_manager={"name": "HUB", "clusters": ["C1"]},
        remote=[{"name": name[3:]} for name in CHANNELS],
        channel=[
            {"name": name, "queue_manager": name[3:], "weight": weight}
            for name, weight in CHANNELS.items()
        ],
        queue=[
            {"name": "ORDERS", "queue_manager": name[3:], "bind": "not-fixed"} for name in CHANNELS
        ],
    ),
    "nanomsg": Cluster.of(
        "nanomsg",
        destination=[
            {"name": "A", "priority": 1},
            {"name": "B", "priority": 1},
            {"name": "C", "priority": 2},
        ],
    ),
    "round-robin": Cluster.of("round-robin", destination=THREE),
    "weighted": Cluster.of("weighted", destination=[{**each, "weight": 3} for each in THREE]),
    "fewest-pending": Cluster.of("fewest-pending", destination=THREE),
    "hot-standby": Cluster.of("hot-standby", destination=THREE),
    "rendezvous": Cluster.of("rendezvous", destination=THREE),
    "priority-failover": Cluster.of(
        "priority-failover",
        destination=[{"name": "D", "state": "down"}, *THREE, {"name": "E", "priority": 1}],
    ),
    "broadcast": Cluster.of("broadcast", destination=THREE),
    "smartsockets": Cluster.of(
        "smartsockets",
        subscriber=[
            *({"name": name, "subject": "/s"} for name in "ABC"),
            {"name": "ALL", "subject": "/s", "load_balanced": False},
        ],
    ),
    "composed": Cluster.from_dict(
        {
            "policy": {"eliminate": ["weight-zero"], "choose": "least-served"},
            "destination": [{"name": "A", "weight": 2}, {"name": "B"}],
        },
        default_name="own",
    ),
}
MESSAGES: dict[str, dict[str, object]] = {
    "ibm-mq": {"queue": "ORDERS"},
    "smartsockets": {"subject": "/s", "mode": "round-robin"},
}


def names(decisions: list[Decision]) -> list[str | None]:
    return [decision.destination for decision in decisions]


# --- threads ---------------------------------------------------------------------------------


@pytest.mark.parametrize("system", POLICIES)
@pytest.mark.parametrize("each_time", [True, False])
def test_threads_get_the_totals_of_one_caller(system: str, each_time: bool) -> None:
    threads, calls = 8, 250
    message = MESSAGES.get(system, {}) if each_time else {**MESSAGES.get(system, {}), "id": "x"}
    shared = Balancer(CLUSTERS[system])

    def work(_: int) -> list[Decision]:
        found = []
        for _ in range(calls):
            found.append(shared.choose(message))
            if system == "nanomsg" and each_time:
                shared.completed(found[-1])
        return found

    with ThreadPoolExecutor(threads) as pool:
        decisions = [decision for part in pool.map(work, range(threads)) for decision in part]
    alone = Balancer(CLUSTERS[system])
    expected = [alone.choose(message) for _ in range(threads * calls)]
    assert Counter(names(decisions)) == Counter(names(expected))
    assert sorted(d.sequence or 0 for d in decisions) == list(range(threads * calls))
    by_sequence = sorted(decisions, key=lambda d: d.sequence or 0)
    assert names(by_sequence) == names(expected)


def test_threads_that_explain_see_their_own_moment() -> None:
    balancer = Balancer(CLUSTERS["msmq"])

    def work(_: int) -> list[tuple[Decision, str]]:
        return [(d, str(d.explain())) for d in (balancer.choose() for _ in range(50))]

    with ThreadPoolExecutor(4) as pool:
        pairs = [each for part in pool.map(work, range(4)) for each in part]
    alone = Balancer(CLUSTERS["msmq"])
    for decision, text in sorted(pairs, key=lambda pair: pair[0].sequence or 0):
        expected = alone.choose()
        assert (decision.destination, text) == (expected.destination, str(expected.explain()))


# --- decisions made ahead --------------------------------------------------------------------

SHARED = ("outcome", "cluster", "values", "stream", "place", "binding", "key", "also", "copies")


def all_of(decision: Decision) -> dict[str, object]:
    names = ("destination", "address", "sequence", *SHARED)
    found = {name: getattr(decision, name) for name in names}
    return {**found, "version": decision.frame.version if decision.frame else None}


@pytest.mark.parametrize("system", POLICIES)
def test_decisions_made_ahead_are_those_made_one_by_one(system: str) -> None:
    message = MESSAGES.get(system, {})
    ahead = Balancer(CLUSTERS[system])
    alone = Balancer(CLUSTERS[system], journal=lambda row: None)  # with it none is made ahead
    first, present = ahead.choose(message).destination, True
    alone.choose(message)
    for calls in (1, 30, 1_000, 300):  # each ends inside a stretch
        pairs = [(ahead.choose(message), alone.choose(message)) for _ in range(calls)]
        assert [all_of(ours) for ours, _ in pairs] == [all_of(other) for _, other in pairs]
        ours, other = pairs[-1]
        assert ours.explain() == other.explain()
        present = not present
        for each in (ahead, alone):
            each.apply(Change(str(first), "present", present))


# --- snapshots -------------------------------------------------------------------------------


def events(scenario: Scenario) -> list[tuple[str, Any]]:
    """Messages, and the steps of changes before them, in the order of time."""
    _, messages, changes = scenario
    found: list[tuple[str, Any]] = []
    waiting = sorted(changes_of(changes), key=lambda change: change.micros)
    for message in in_order(messages):
        while waiting and waiting[0].micros <= micros(message["time"]):
            at = waiting[0].micros
            found.append(("step", [change for change in waiting if change.micros == at]))
            waiting = [change for change in waiting if change.micros != at]
        found.append(("message", message))
    return found


@pytest.mark.parametrize("system", POLICIES)
@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_taking_a_snapshot_disturbs_nothing(system: str, n: int) -> None:
    message = MESSAGES.get(system, {})
    watched, alone = Balancer(CLUSTERS[system]), Balancer(CLUSTERS[system])
    for _ in range(n):
        watched.choose(message)
        alone.choose(message)
    assert watched.snapshot() == alone.snapshot()
    assert names([watched.choose(message) for _ in range(600)]) == names(
        [alone.choose(message) for _ in range(600)]
    )


def test_a_snapshot_changes_no_later_explanation() -> None:
    message = MESSAGES["ibm-mq"]
    alone, other = Balancer(CLUSTERS["ibm-mq"]), Balancer(CLUSTERS["ibm-mq"])
    for _ in range(60):
        expected = str(alone.choose(message).explain())
        assert str(other.choose(message).explain()) == expected
        snapshot = other.snapshot()
        other = Balancer(CLUSTERS["ibm-mq"])
        other.restore(snapshot)


def test_a_snapshot_of_other_clusters_is_refused() -> None:
    snapshot = Balancer(CLUSTERS["msmq"]).snapshot()
    with pytest.raises(ConfigError, match="other objects"):
        Balancer(Cluster.of("msmq", destination=[{"name": "X", "weight": 1}])).restore(snapshot)
    named = Cluster.of("msmq", name="elsewhere", destination=[{"name": "X", "weight": 1}])
    with pytest.raises(ConfigError, match="allowed: elsewhere"):
        Balancer(named).restore(snapshot)
    with pytest.raises(ConfigError, match="found format 2, allowed: 1"):
        Balancer(CLUSTERS["msmq"]).restore({**snapshot, "format": 2})


def test_a_snapshot_that_is_refused_restores_nothing() -> None:
    def both(second: str) -> list[Cluster]:
        names = {"one": "A", "two": second}
        return [
            Cluster.of("msmq", name=name, destination=[{"name": each, "weight": 1}])
            for name, each in names.items()
        ]

    made = Balancer(both("B"))
    made.choose({"cluster": "one"})
    balancer = Balancer(both("C"))
    with pytest.raises(ConfigError, match="other objects"):
        balancer.restore(made.snapshot())
    assert balancer.choose({"cluster": "one"}).sequence == 0


# --- explanations ----------------------------------------------------------------------------


def test_a_decision_explains_itself() -> None:
    cluster = Cluster.of(
        "msmq",
        destination=[
            {"name": "A", "weight": 100},
            {"name": "B", "weight": 200},
            {"name": "C", "weight": 5, "enabled": False},
            {"name": "D", "weight": 0},
        ],
    )
    why = Balancer(cluster).choose().explain()
    assert [(step.name, step.kept) for step in why.steps] == [
        ("candidates", 4),
        ("disabled", 3),
        ("weight-zero", 2),
    ]
    dropped = [(drop.candidate, drop.because) for step in why.steps for drop in step.dropped]
    assert dropped == [("C", "enabled is false"), ("D", "weight is 0")]
    assert [name for name, _ in why.ranks] == ["B", "A"]
    assert why.decided == "equal at 0; B has the larger weight: 200 > 100"
    assert (why.deciding_step, why.runner_up) == ("least-served", "A")
    assert why.otherwise == "A would have been chosen with a weight of 200 or more"


def test_nobody_left_is_explained() -> None:
    cluster = Cluster.of("nanomsg", destination=[{"name": "A", "state": "down"}])
    decision = Balancer(cluster).choose()
    why = decision.explain()
    assert (decision.destination, decision.outcome) == (None, "no-destination")
    assert why.ranks == []
    assert why.runner_up is None
    assert why.deciding_step == "down"
    assert "dropped A: state is down" in str(why)


@pytest.mark.parametrize("system", POLICIES)
def test_an_explanation_stays_the_same_whatever_happens_later(system: str) -> None:
    message = MESSAGES.get(system, {})
    balancer = Balancer(CLUSTERS[system])
    decisions = [balancer.choose(message) for _ in range(300)]
    explained = [str(decision.explain()) for decision in decisions]
    first = str(decisions[0].destination)
    balancer.apply(Change(first, "present", False))
    later = [balancer.choose(message) for _ in range(1_500)]
    explained_later = [str(decision.explain()) for decision in later[:20]]
    balancer.apply(Change(first, "present", True))
    for _ in range(500):
        balancer.choose(message)
    balancer.restore(Balancer(CLUSTERS[system]).snapshot())
    assert [str(decision.explain()) for decision in decisions] == explained
    assert [str(decision.explain()) for decision in later[:20]] == explained_later
    if system != "ibm-mq":  # there nobody sees a channel that is not in the cluster
        assert all(f"dropped {first}: present is false" in text for text in explained_later)


@pytest.mark.parametrize("system", POLICIES)
@given(data=st.data())
@SEVERAL
def test_the_first_in_an_explanation_is_who_was_chosen(system: str, data: Any) -> None:
    scenario = data.draw(scenarios(system))
    balancer = Balancer(cluster_of(scenario[0]))
    for kind, what in events(scenario):
        if kind == "step":
            balancer.apply(what)
            continue
        decision = balancer.choose(what)
        why = decision.explain()
        assert why.deciding_step
        if decision.destination is not None:
            assert why.ranks[0][0] == decision.destination
        if len(why.ranks) > 1:
            assert why.runner_up == why.ranks[1][0]
            assert why.decided
            assert why.otherwise or decision.destination is None  # nothing is said of what is lost
        dropped = {drop.candidate for step in why.steps for drop in step.dropped}
        if system == "msmq":  # elsewhere what was dropped may still be shown
            assert dropped.isdisjoint(name for name, _ in why.ranks)


@given(
    weights=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    before=st.integers(0, 60),
)
@SEVERAL
def test_what_would_have_made_it_win_is_true(weights: list[int], before: int) -> None:
    cluster = Cluster.of(
        "msmq", destination=[{"name": f"D{i}", "weight": w} for i, w in enumerate(weights)]
    )
    balancer = Balancer(cluster)
    for _ in range(before):
        balancer.choose()
    why = balancer.choose().explain()
    enough = re.search(r"with a weight of (\d+) or more", why.otherwise)
    above = re.search(r"with a weight above (\d+)", why.otherwise)
    if not enough and not above:
        return
    needed = int(enough[1]) if enough else int(above[1]) + 1 if above else 0
    assert won_by(cluster, before, why.runner_up, needed) == why.runner_up
    # One less is not enough, unless the tie would be won anyhow.
    if enough and needed > 1:
        less = won_by(cluster, before, why.runner_up, needed - 1)
        assert less != why.runner_up or won_a_tie(cluster, before, why.runner_up, needed - 1)


def won_by(cluster: Cluster, before: int, who: str | None, weight: int) -> str | None:
    fresh = Balancer(cluster)
    for _ in range(before):
        fresh.choose()
    fresh.apply(Change(str(who), "weight", weight))
    return fresh.choose().destination


def won_a_tie(cluster: Cluster, before: int, who: str | None, weight: int) -> bool:
    fresh = Balancer(cluster)
    for _ in range(before):
        fresh.choose()
    fresh.apply(Change(str(who), "weight", weight))
    return fresh.choose().explain().decided.startswith("equal")


def test_being_served_before_would_have_helped_only_where_it_is_said() -> None:
    """What the hint on an unserved winner says must be enough for the runner-up to win."""
    cluster = Cluster.of(
        "msmq", destination=[{"name": "A", "weight": 1000}, {"name": "B", "weight": 1}]
    )
    balancer = Balancer(cluster)
    balancer.apply(Change("A", "enabled", False))
    for _ in range(5):
        balancer.choose()
    balancer.apply(Change("A", "enabled", True))
    why = balancer.choose().explain()
    assert (why.ranks[0][0], why.runner_up) == ("A", "B")
    served_once_more = balancer.choose()  # A has been served before, and wins again
    assert served_once_more.destination == "A"
    assert why.otherwise != "B would have been chosen if A had been served before"


# --- changes ---------------------------------------------------------------------------------


def several() -> Balancer:
    return Balancer(
        [
            Cluster.of(
                "msmq",
                name="m",
                destination=[{"name": "A", "weight": 1}, {"name": "B", "weight": 2}],
            ),
            Cluster.of("nanomsg", name="n", destination=[{"name": "X"}, {"name": "Y"}]),
        ]
    )


@pytest.mark.parametrize(
    "bad",
    [
        Change("A", "weight", -1),
        Change("A", "wait", 1),
        Change("Z", "weight", 1),
        Change("X", "priority", 3),
        Change("X", "state", "sideways"),
        Change("nobody", "reset"),
        Change("n", "reset"),
        Change("*", "reset"),
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_changes_are_made_all_or_none(bad: Change, place: int) -> None:
    balancer = several()
    for cluster in "mmmnn":
        balancer.choose({"cluster": cluster})
    before = balancer.snapshot()
    changes = [Change("A", "enabled", False), Change("X", "state", "down")]
    changes.insert(place, bad)
    with pytest.raises(ChangeError):
        balancer.apply(changes)
    assert balancer.snapshot() == before


def test_changes_of_one_time_are_one_step() -> None:
    balancer = several()
    balancer.apply([Change("A", "weight", 5, 1), Change("B", "weight", 5, 1)])
    assert balancer.snapshot()["clusters"]["m"]["parts"][0][1]["version"] == 1
    balancer.apply([Change("A", "weight", 6, 3), Change("B", "weight", 6, 2)])
    assert balancer.snapshot()["clusters"]["m"]["parts"][0][1]["version"] == 3
    assert balancer.snapshot()["clusters"]["n"]["parts"][0][1]["version"] == 0


# --- the journal -----------------------------------------------------------------------------


def test_the_journal_has_a_row_for_each_decision_and_change() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["ibm-mq"], journal=rows.append)
    balancer.choose({"id": "m1", "time": 17, "queue": "ORDERS"})
    balancer.apply(Change("TO.A", "weight", 99))
    balancer.choose({"id": "m2", "queue": "ORDERS"})
    balancer.choose({"id": "m3", "queue": "NONE"})
    balancer.choose({"type": "SetPriority"})
    assert rows[0].to_dict() == {
        "queue": "ORDERS",
        "position": 0,
        "time": 17,
        "id": "m1",
        "cluster": "default",
        "version": 0,
        "stream": "default/ORDERS",
        "sequence": 0,
        "destination": "TO.A",
        "address": None,
        "outcome": "routed",
        "attempt": 1,
    }
    assert rows[0].runner_up == "TO.B"
    assert [row.position for row in rows] == [0, 1, 1, 2, 3]
    assert [row.version for row in rows[:4]] == [0, 1, 1, 1]
    assert [row.sequence for row in rows] == [0, None, 1, 0, None]
    outcomes = ["routed", "changed", "routed", "unknown-queue", "control"]
    assert [row.outcome for row in rows] == outcomes
    assert [row.time for row in rows] == [17, 0, None, None, None]
    assert rows[0].step


def test_a_journal_row_keeps_what_the_message_said_then() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["msmq"], journal=rows.append)
    message: dict[str, object] = {}
    for name in ("m1", "m2"):
        message |= {"id": name, "group": f"of {name}", "priority": None}
        balancer.choose(message)
    assert [row.to_dict()["group"] for row in rows] == ["of m1", "of m2"]
    assert list(rows[0].to_dict()) == ["group", "priority", *JOURNAL]


@pytest.mark.parametrize("system", POLICIES)
def test_a_journal_row_explains_itself_whenever_it_is_asked(system: str) -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS[system], journal=rows.append)
    told = []
    for _ in range(30):
        why = balancer.choose(MESSAGES.get(system, {})).explain()
        told.append((why.deciding_step, why.runner_up))
    balancer.apply(Change(str(rows[-1].destination), "present", False))
    balancer.choose(MESSAGES.get(system, {}))
    by_message = {row.position: (row.step, row.runner_up) for row in rows}
    assert [by_message[k] for k in range(30)] == told


def test_the_journal_has_a_row_for_each_destination_of_a_message() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["smartsockets"], journal=rows.append)
    news = balancer.choose({"delivery": "all"})
    balancer.choose({"delivery": "all"})
    assert [row.destination for row in rows[:4]] == [copy.destination for copy in news.copies]
    assert [(row.position, row.sequence) for row in rows] == [(0, 0)] * 4 + [(1, 1)] * 4


def test_streams_of_unknown_clusters_are_told_apart_by_their_names() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["ibm-mq"], journal=rows.append)
    for queue in ("A", "B", "A"):
        balancer.choose({"cluster": "else", "queue": queue})
    assert [(row.stream, row.sequence) for row in rows] == [
        ("else/A", 0),
        ("else/B", 0),
        ("else/A", 1),
    ]


def test_what_the_journal_cannot_tell_is_refused_and_nothing_is_counted() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["msmq"], journal=rows.append)
    before = balancer.snapshot()
    with pytest.raises(MessageError, match=r"message id: found 1.5"):
        balancer.choose({"id": 1.5})
    assert (balancer.snapshot(), rows) == (before, [])


def test_journal_positions_go_on_after_a_snapshot() -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS["msmq"], journal=rows.append)
    balancer.choose()
    other = Balancer(CLUSTERS["msmq"], journal=rows.append)
    other.restore(balancer.snapshot())
    other.choose()
    assert [(row.position, row.sequence) for row in rows] == [(0, 0), (1, 1)]


# --- messages that are refused ---------------------------------------------------------------


BAD = [
    ("ibm-mq", {"bind": "sometimes"}),
    ("ibm-mq", {"pcf": "maybe"}),
    ("ibm-mq", {"via_cluster_channel": "1"}),
    ("ibm-mq", {"pcf": True, "queue": "ORDERS"}),
    ("ibm-mq", {"pcf": "true", "queue_manager": "A"}),
    ("smartsockets", {"mode": "wheighted"}),
    ("smartsockets", {"delivery": "guaranteed"}),
]


@pytest.mark.parametrize(("system", "bad"), BAD, ids=str)
def test_a_bad_attribute_is_refused_and_nothing_is_counted(
    system: str, bad: dict[str, object]
) -> None:
    rows: list[JournalRow | EventRow] = []
    balancer = Balancer(CLUSTERS[system], journal=rows.append)
    balancer.choose(MESSAGES.get(system, {}))
    before = balancer.snapshot()
    message = {**MESSAGES.get(system, {}), **bad}
    if bad.get("pcf") == "true":
        message.pop("queue", None)
    with pytest.raises(MessageError, match=r"^message "):
        balancer.choose(message)
    assert balancer.snapshot() == before
    assert {row.position for row in rows} == {0}


@pytest.mark.parametrize(("system", "bad"), BAD, ids=str)
def test_what_no_policy_reads_may_be_anything(system: str, bad: dict[str, object]) -> None:
    own = Balancer([CLUSTERS["msmq"]])
    assert own.choose(bad).outcome == "routed"
    beside = {"msmq": CLUSTERS["msmq"], system: CLUSTERS[system]}
    both = Balancer([replace(cluster, name=name) for name, cluster in beside.items()])
    with pytest.raises(MessageError, match=r"^message "):
        both.choose({**MESSAGES[system], **bad, "cluster": "msmq"})


# --- messages that go to several --------------------------------------------------------------


def test_each_of_several_completes_for_itself() -> None:
    balancer = Balancer(CLUSTERS["smartsockets"])
    news = balancer.choose({"delivery": "all"})
    assert [copy.destination for copy in news.copies] == ["A", "ALL", "B", "C"]
    with pytest.raises(MessageError, match="went to 4 destinations, allowed: by = one of A, ALL"):
        balancer.completed(news)
    with pytest.raises(MessageError, match="by: found 'D', allowed: A, ALL, B, C"):
        balancer.completed(news, by="D")
    balancer.completed(news, by="C")
    balancer.completed(news, by="ALL")
    work = {"mode": "weighted", "delivery": "some"}
    assert names([balancer.choose(work) for _ in range(3)]) == ["C", "A", "B"]


def test_an_acknowledgement_counts_where_the_message_was_published() -> None:
    balancer = Balancer(CLUSTERS["smartsockets"])
    work = {"mode": "weighted", "delivery": "some"}
    here = [balancer.choose(work) for _ in range(3)]
    for _ in range(3):
        balancer.choose({**work, "server": "far"})
    balancer.completed(here[1], by="B")
    assert names([balancer.choose(work) for _ in range(2)]) == ["B", "C"]
    assert names([balancer.choose({**work, "server": "far"}) for _ in range(2)]) == ["A", "B"]


def test_addresses_of_copies_are_those_of_the_moment() -> None:
    balancer = Balancer(
        Cluster.of("broadcast", destination=[{"name": "A", "address": "old"}, {"name": "B"}])
    )
    before = balancer.choose()
    balancer.apply(Change("A", "address", "new"))
    assert [copy.address for copy in before.copies] == ["old", None]
    assert [copy.address for copy in balancer.choose().copies] == ["new", None]


def test_a_channel_called_like_a_queue_manager_completes_and_so_does_the_local_queue() -> None:
    clusters = {"clusters": ["C"]}
    queues = [{"name": "Q", "queue_manager": name, "bind": "not-fixed"} for name in ("HUB", "M")]
    manager = {"name": "HUB", "use_queue": "any", **clusters}
    cluster = Cluster.of(
        "ibm-mq",
        queue_manager=manager,
        remote=[{"name": "M", **clusters}],
        channel=[{"name": "M", "queue_manager": "M"}],
        queue=queues,
    )
    balancer = Balancer(cluster)
    balancer.apply(Change("queue_manager:M", "state", "failed"))
    decisions = [balancer.choose({"queue": "Q"}) for _ in range(2)]
    assert sorted(names(decisions)) == ["M", "local"]
    for decision in decisions:
        balancer.completed(decision)


def test_completed_needs_a_destination() -> None:
    balancer = Balancer(Cluster.of("nanomsg", destination=[{"name": "A", "state": "down"}]))
    with pytest.raises(MessageError, match="no-destination"):
        balancer.completed(balancer.choose(NOTHING))


@pytest.mark.parametrize("clusters", ["pool.toml", 5, [CLUSTERS["msmq"], "pool.toml"]])
def test_what_is_no_cluster_is_refused(clusters: Any) -> None:
    with pytest.raises(ConfigError, match=r"^clusters: found .*allowed: a fairlead\.Cluster"):
        Balancer(clusters)


def test_what_is_no_message_no_decision_and_no_change_is_refused() -> None:
    balancer = Balancer(CLUSTERS["msmq"])
    wrong: Any
    for wrong in ("x", 5, ["group"], None, "", np.zeros(2)):
        with pytest.raises(MessageError, match=r"^message: found .*allowed: attributes by name"):
            balancer.choose(wrong)
        with pytest.raises(MessageError, match="allowed: what choose returned"):
            balancer.completed(wrong)
        with pytest.raises(ChangeError, match=r"allowed: a fairlead\.Change"):
            balancer.apply(wrong)
    assert balancer.choose().sequence == 0


def test_attributes_that_no_policy_reads_mean_nothing() -> None:
    decision = Balancer(CLUSTERS["msmq"]).choose({"size": 1.5, "group": b"x"})
    assert decision.outcome == "routed"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gruop", r"'gruop', allowed: already_sent, .*, via_cluster_channel; did you mean 'group'"),
        ("Group", r"'Group', allowed: .*; did you mean 'group'"),
        ("destination", "'destination', allowed: "),
        (7, "7, allowed: "),
    ],
)
@pytest.mark.parametrize("system", ["msmq", "ibm-mq"])
def test_a_name_that_no_message_has_is_refused_and_nothing_is_counted(
    system: str, name: Any, expected: str
) -> None:
    balancer = Balancer(CLUSTERS[system])
    before = balancer.snapshot()
    with pytest.raises(MessageError, match=f"^message: attribute: found {expected}"):
        balancer.choose({"id": "m1", name: "kim"})
    assert balancer.snapshot() == before


def test_two_clusters_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="found twice, allowed: once"):
        Balancer([CLUSTERS["msmq"], CLUSTERS["msmq"]])
