"""Explanations of the cases in which the rule is not all there is to say."""

from typing import Any

import pytest

from fairlead import Balancer, Change, Cluster

ABC = [{"name": name} for name in "ABC"]
WARM = {"subject": "/a", "connected": "warm"}
SOCKETS = [{"name": "R1", **WARM}, {"name": "R2", **WARM}, {"name": "R3", "subject": "/b"}]
MQ: dict[str, Any] = {
    "queue_manager": {"name": "HUB", "clusters": ["C"]},
    "remote": [{"name": "QM1"}, {"name": "QM2"}],
    "channel": [{"name": "TO.QM1", "queue_manager": "QM1"}],
    "queue": [
        {"name": "ORDERS", "queue_manager": "QM1"},
        {"name": "FAR", "queue_manager": "QM2"},
        {"name": "SHUT", "queue_manager": "QM1", "put_enabled": False},
    ],
}


def explained(balancer: Balancer, **message: str) -> list[str]:
    return str(balancer.choose(message).explain()).splitlines()


def test_what_becomes_of_a_group() -> None:
    cluster = Cluster.of("round-robin", options={"affinity": "group"}, destination=ABC)
    balancer = Balancer(cluster)
    assert explained(balancer, group="g")[-1].startswith("it is the first of group g")
    assert explained(balancer, group="g") == ["bound: 1 left", "  1. A: where group g is", FOLLOWS]
    balancer.apply(Change("A", "draining", True))
    assert explained(balancer, group="g")[-2:] == [
        FOLLOWS,
        "A is draining: nothing new starts there, but what is there goes on",
    ]
    balancer.apply(Change("A", "enabled", False))
    assert (
        explained(balancer, group="g")[-1] == "group g was at A, which has dropped out since then"
    )
    assert "  1. B: where group g is" in explained(balancer, group="g")
    balancer.apply([Change("B", "enabled", False), Change("C", "enabled", False)])
    assert explained(balancer, group="new")[-1] == "no-destination: no candidate is left"


FOLLOWS = "it follows group g"


def test_what_becomes_of_an_openers_messages() -> None:
    balancer = Balancer(Cluster.of("ibm-mq", **MQ))
    message = {"queue": "ORDERS", "bind": "on-open"}
    assert "the first of producer p" in explained(balancer, **message, producer="p")[-1]
    assert explained(balancer, **message, producer="p")[-1] == "it follows producer p"
    explained(balancer, **message)
    assert "opened, whose name is not given" in explained(balancer, **message)[-1]


def test_a_key_is_named() -> None:
    balancer = Balancer(Cluster.of("rendezvous", destination=ABC))
    assert explained(balancer, group="a\nb")[-1] == r"its key is the group 'a\nb'"
    assert not any("its key" in line for line in explained(balancer))


@pytest.mark.parametrize("policy", ["broadcast", "smartsockets"])
def test_nobody_is_the_first_of_everyone(policy: str) -> None:
    everyone = [{**each, "subject": "/s"} for each in ABC]
    tables = {"destination": ABC} if policy == "broadcast" else {"subscriber": everyone}
    decision = Balancer(Cluster.of(policy, **tables)).choose()
    assert decision.explain().ranks == [("A", "everyone gets it")]
    assert decision.explain().also == ("A", "B", "C")


def test_why_a_message_is_lost() -> None:
    balancer = Balancer(Cluster.of("smartsockets", subscriber=SOCKETS))
    lost = "it is lost: all subscribers are warm, and only what is guaranteed is kept for them"
    assert explained(balancer, subject="/a", mode="round-robin")[-1] == lost
    kept = explained(balancer, subject="/a", mode="round-robin", delivery="all")
    assert lost not in kept


@pytest.mark.parametrize(
    ("policy", "tables", "message", "line"),
    [
        ("smartsockets", {"subscriber": SOCKETS}, {"subject": "/x"}, "to the subject '/x'"),
        ("smartsockets", {"subscriber": SOCKETS}, {}, "names no subject, and there are several"),
        ("ibm-mq", MQ, {"queue": "NONE"}, "unknown-queue: there is no queue 'NONE'"),
        ("ibm-mq", MQ, {"queue": "SHUT"}, "no instance of the queue 'SHUT' is put-enabled"),
        ("ibm-mq", MQ, {"queue": "FAR"}, "no channel leads to an instance of the queue 'FAR'"),
        ("ibm-mq", MQ, {"queue_manager": "QM9"}, "nothing leads to the queue manager 'QM9'"),
        ("ibm-mq", MQ, {}, "a queue nor a queue manager, and there are several queues"),
        ("ibm-mq", {**MQ, "queue": []}, {}, "a queue nor a queue manager, and there is no queue"),
    ],
)
def test_why_there_is_no_candidate(policy: str, tables: Any, message: Any, line: str) -> None:
    assert line in explained(Balancer(Cluster.of(policy, **tables)), **message)[-1]


def test_an_alias_in_no_cluster_of_ours_is_dropped_and_says_so() -> None:
    alias = [
        {"name": "EAST", "queue_manager": "QM1", "clusters": ["D"]},
        {"name": "EAST", "queue_manager": "HUB"},
    ]
    lines = explained(Balancer(Cluster.of("ibm-mq", **MQ, alias=alias)), queue_manager="EAST")
    assert lines[:3] == [
        "candidates: 2 left",
        "alias-cluster-not-shared: 1 left",
        f"    dropped TO.QM1 of QM1 by alias EAST: {OUTSIDE}",
    ]


OUTSIDE = "the alias is in none of the local queue manager's clusters"


def test_a_message_that_names_no_cluster_of_several() -> None:
    balancer = Balancer([Cluster.of("broadcast", name=name, destination=ABC) for name in "xy"])
    assert explained(balancer) == ["it names no cluster of several"]
    assert explained(balancer, cluster="z") == ["there is no cluster 'z'"]


def test_a_break_in_a_name_breaks_no_line() -> None:
    balancer = Balancer(Cluster.of("round-robin", destination=[{"name": "a\nb"}]))
    assert explained(balancer) == ["candidates: 1 left", "  1. a\\nb: ready since event 1", ALONE]


ALONE = "the only one left"
