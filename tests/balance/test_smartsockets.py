"""Subscribers that fail and are remembered, in the live balancer."""

import json
from dataclasses import replace
from typing import Any

from fairlead import Balancer, Change, Cluster

WORK = {"mode": "weighted", "delivery": "all"}
STANDBY = {"mode": "sorted", "delivery": "all"}
FAILED = Change("A", "state", "failed", 10)


def balancer(**options: Any) -> Balancer:
    a = {"name": "A", "subject": "/s", "disconnect_mode": "warm"}
    b = {"name": "B", "subject": "/s"}
    return Balancer(Cluster.of("smartsockets", options=options, subscriber=[a, b]))


def chosen(found: Balancer, message: dict[str, str]) -> str | None:
    return found.choose(message).destination


def test_who_fails_warm_is_due_to_be_disconnected() -> None:
    found = balancer(reconnect_timeout=5)
    found.apply(FAILED)
    assert found.next_change() == 15
    assert chosen(found, STANDBY) == "B"
    found.apply(Change("B", "connected", False, 14))
    assert chosen(found, STANDBY) == "A"
    found.at(15)
    assert chosen(found, STANDBY) is None
    assert found.next_change() is None


def test_who_comes_back_is_not() -> None:
    for attribute, value in (("state", "up"), ("connected", True)):
        found = balancer()
        found.apply([FAILED, Change("A", attribute, value, 11)])
        assert found.next_change() is None
        assert chosen(found, STANDBY) == "A"


def test_who_fails_again_while_it_is_remembered_has_no_more_time() -> None:
    found = balancer()
    found.apply([FAILED, replace(FAILED, time=20)])
    assert found.next_change() == 40


def test_nobody_is_remembered_who_was_not_there_or_whose_publishers_are_told_at_once() -> None:
    gone = Change("A", "connected", False, 9)
    for options, changes in (
        ({}, [gone, FAILED]),
        ({"reconnect_timeout": 0}, [FAILED]),
        ({"on_receiver_failure": "nack"}, [FAILED]),
    ):
        found = balancer(**options)
        found.apply([*changes, Change("B", "connected", False, 10)])
        assert found.next_change() is None
        assert chosen(found, STANDBY) is None


def test_who_is_remembered_can_acknowledge_what_it_held() -> None:
    found = balancer()
    held = found.choose(STANDBY)
    found.apply([FAILED, Change("A", "state", "up", 11)])
    found.completed(held)
    assert [chosen(found, WORK) for _ in range(2)] == ["A", "B"]


def test_who_has_failed_cannot() -> None:
    found = balancer(reconnect_timeout=1)
    held = found.choose(STANDBY)
    found.apply([FAILED, Change("A", "state", "up", 12)])
    assert chosen(found, STANDBY) == "A"
    found.completed(held)
    assert chosen(found, WORK) == "B"


def test_a_snapshot_knows_what_is_to_come() -> None:
    found, other = balancer(), balancer()
    found.apply(FAILED)
    other.restore(json.loads(json.dumps(found.snapshot())))
    assert other.next_change() == 40
    other.apply(Change("B", "connected", False, 40))
    assert chosen(other, STANDBY) is None


def test_it_is_told_how_long_a_subscriber_is_remembered() -> None:
    a = {"name": "A", "subject": "/s", "disconnect_mode": "warm"}
    cluster = Cluster.of("smartsockets", options={"reconnect_timeout": 7}, subscriber=[a])
    assert "A: warm for 7 s when it fails" in cluster.start().describe.effective()
