"""The ring: who is chosen, and that its journal, replayed through the policy, says the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from fairlead.balance.cluster import Cluster
from fairlead.balance.decision import Decision
from fairlead.errors import ConfigError
from fairlead.sockets.ring import Ring

NAMES = "ABCDE"


def ring_of(policy: str, *tables: dict[str, Any]) -> Ring:
    ring = Ring({"policy": policy}, journal=True)
    ring.add(*tables)
    return ring


def sends(ring: Ring, n: int) -> str:
    found = [ring.choose(0) for _ in range(n)]
    return "".join(each.destination or "" if each else "-" for each in found)


def test_the_document_in_one_run() -> None:
    ring = ring_of("nanomsg", *({"name": name, "priority": 1} for name in "ABC"))
    assert sends(ring, 2) == "--"
    ring.add({"name": "L", "priority": 2})
    ring.let_in()
    for name in "ABCL":
        ring.joined(0, name)
    assert sends(ring, 10) == "ABCABCABCA"
    ring.failed(0, "B")
    assert sends(ring, 5) == "CACAC"
    ring.joined(0, "B")
    assert sends(ring, 7) == "ACBACBA"
    for name in "ABC":
        ring.failed(0, name)
    assert sends(ring, 3) == "LLL"
    ring.joined(0, "C")
    assert sends(ring, 3) == "CCC"
    ring.joined(0, "A")
    assert sends(ring, 5) == "CACAC"
    for name in "ACL":
        ring.failed(0, name)
    assert sends(ring, 1) == "-"


def test_who_is_let_in_changes_no_turn_of_the_others() -> None:
    ring = ring_of("weighted", {"name": "A"}, {"name": "B"})
    for name in "AB":
        ring.joined(0, name)
    assert sends(ring, 3) == "ABA"
    ring.add({"name": "C"})
    ring.let_in()
    assert sends(ring, 3) == "BAB"


def test_a_group_waits_for_a_busy_peer_and_goes_elsewhere_when_that_is_gone() -> None:
    ring = Ring({"policy": "round-robin", "options": {"affinity": "group"}})
    ring.add({"name": "A"}, {"name": "B"})
    for name in "AB":
        ring.joined(0, name)
    message = {"group": "g"}

    def went() -> str:
        found = ring.choose(0, message)
        return found.destination or "" if found else "-"

    assert went() == "A"
    ring.busy(0, "A")
    assert went() == "-"
    assert ring.hurdle(message) == "A"
    ring.failed(0, "A")
    assert ring.hurdle(message) != "A"
    assert went() == "B"
    ring.joined(0, "A")
    assert went() == "B"


def test_a_busy_peer_stands_at_the_tail_when_it_is_ready() -> None:
    ring = ring_of(
        "nanomsg",
        {"name": "A", "priority": 1, "capacity": 2},
        {"name": "B", "priority": 1, "capacity": 1},
        {"name": "L", "priority": 2},
    )
    for name in "ABL":
        ring.joined(0, name)
    held: dict[str, list[Decision]] = {"A": [], "B": [], "L": []}

    def send(n: int) -> str:
        found = ""
        for _ in range(n):
            decision = ring.choose(0)
            assert decision is not None
            assert decision.destination is not None
            held[decision.destination].append(decision)
            found += decision.destination
        return found

    assert send(5) == "ABALL"
    ring.completed(0, held["A"].pop())
    assert send(2) == "AL"
    ring.completed(0, held["B"].pop())
    ring.completed(0, held["A"].pop())
    assert send(3) == "BAL"


def test_what_a_peer_held_is_lost_with_it() -> None:
    ring = ring_of("nanomsg", {"name": "A", "capacity": 1})
    ring.joined(0, "A")
    decision = ring.choose(0)
    assert decision is not None
    ring.failed(0, "A")
    ring.joined(0, "A")
    assert sends(ring, 2) == "A-"
    ring.completed(0, decision)  # of what it held before it failed
    assert sends(ring, 1) == "-"


def test_a_message_that_waits_counts_once() -> None:
    ring = ring_of("nanomsg", {"name": "A"})
    assert ring.choose(0) is None
    ring.joined(0, "A")
    decision = ring.choose(0)
    assert decision is not None
    assert decision.sequence == 0


def test_a_policy_without_a_list_of_destinations_is_refused() -> None:
    ring = Ring({"policy": "smartsockets"})
    with pytest.raises(ConfigError, match="destination"):
        ring.add({"name": "A"})


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "send", "complete", "joined", "failed", "busy", "ready"]),
        st.sampled_from(NAMES),
        st.integers(0, 3),
    ),
    max_size=60,
)
POLICIES = st.sampled_from(["nanomsg", "round-robin", "msmq", "fewest-pending", "hot-standby"])
NUMBERS = st.lists(st.integers(1, 3), min_size=len(NAMES), max_size=len(NAMES))
CAPACITIES = st.lists(st.integers(0, 3), min_size=len(NAMES), max_size=len(NAMES))


@given(POLICIES, NUMBERS, CAPACITIES, st.integers(1, len(NAMES)), STEPS)
def test_a_journal_replayed_through_the_policy_gives_the_same_choices(
    policy: str,
    numbers: list[int],
    capacities: list[int],
    listed: int,
    steps: list[tuple[str, str, int]],
) -> None:
    tables: list[dict[str, Any]] = [{"name": name} for name in NAMES]
    for table, number, capacity in zip(tables, numbers, capacities, strict=True):
        if policy == "nanomsg":
            table |= {"priority": number, "capacity": capacity}
        if policy == "msmq":
            table["weight"] = number
    ring = ring_of(policy, *tables[:listed])
    if listed < len(tables):
        ring.add(*tables[listed:])
        ring.let_in()
    held: list[Decision] = []
    sent = []
    for step, name, n in steps:
        if step == "complete":
            if held:
                ring.completed(0, held.pop(n % len(held)))
        elif step == "send":
            decision = ring.choose(0)
            if decision is not None:
                held.append(decision)
                sent.append(decision.destination)
        else:
            {"joined": ring.joined, "failed": ring.failed, "busy": ring.busy, "ready": ring.ready}[
                step
            ](0, name)
    journal = ring.recorded(end=True)
    assert [row["destination"] for row in journal.messages] == sent
    assert ring.cluster is not None
    assert replayed(ring.cluster, journal.messages, journal.changes) == sent


def replayed(
    cluster: Cluster, messages: list[dict[str, Any]], changes: list[dict[str, Any]]
) -> list[str | None]:
    """Where the plain program sends the messages of a journal."""
    asked = [{**row, "cluster": ""} for row in messages]
    return [each.destination for each in oracle.route(cluster.to_dict(), asked, changes)]
