"""A SetPriority is no work: a store chooses nothing for it, as the live balancer does."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from fairlead import Balancer, Cluster, Store
from fairlead.store.journal.export import decisions
from tests.stores import made_url

Open = Callable[..., Store]
AB = [{"name": "a"}, {"name": "b"}]
MESSAGES: list[dict[str, Any]] = [
    {},
    {"type": "SetPriority", "group": "g"},
    {"group": "g"},
    {"type": "SetPriority"},
    {"type": "other"},
    {},
]
CLUSTERS = {
    "plain SQL knows it": Cluster.of("round-robin", name="pool", destination=AB),
    "with bindings": Cluster.of(
        "round-robin", name="pool", options={"affinity": "group"}, destination=AB
    ),
    "with pending work": Cluster.of("fewest-pending", name="pool", destination=AB),
    "for everybody": Cluster.of("broadcast", name="pool", destination=AB),
}


def told(decision: Any) -> tuple[Any, ...]:
    copies = [each[0] for each in decision.copies]
    return decision.destination, decision.outcome, decision.sequence, copies


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return CLUSTERS[request.param]


@pytest.fixture
def live(cluster: Cluster) -> list[tuple[Any, ...]]:
    balancer = Balancer([cluster])
    return [told(balancer.choose(each)) for each in MESSAGES]


def test_a_store_decides_as_the_balancer_does(
    cluster: Cluster, live: list[tuple[Any, ...]], store: Store
) -> None:
    store.keep_clusters([cluster])
    found = [store.next_destination("pool", **each) for each in MESSAGES]
    assert [told(each) for each in found] == live
    assert live[1][1] == "control"
    written = [event for event in store.journal() if event.kind == "decided"]
    seen = dict.fromkeys((event.outcome, event.sequence) for event in written)
    assert list(seen) == list(dict.fromkeys((each[1], each[2]) for each in live))
    for each, (destination, outcome, sequence, _) in zip(found, live, strict=True):
        again = store.decision(each.number)
        assert (again.destination, again.outcome, again.sequence) == (
            destination,
            outcome,
            sequence,
        )
        assert again.explain()


def test_in_a_transaction_too(cluster: Cluster, live: list[tuple[Any, ...]], store: Store) -> None:
    store.keep_clusters([cluster])
    with store.transaction() as tx:
        found = [tx.next_destination("pool", **each) for each in MESSAGES]
    assert [told(each) for each in found] == live


@pytest.mark.parametrize("delay", [None, 5])
def test_what_is_no_work_is_not_enqueued(
    cluster: Cluster, live: list[tuple[Any, ...]], store: Store, delay: float | None
) -> None:
    store.keep_clusters([cluster])
    more = {} if delay is None else {"delay": delay}
    sent = [store.publish("pool", n, id=f"m{n}", **each, **more) for n, each in enumerate(MESSAGES)]
    assert [told(each) for each in sent] == live
    assert [each.messages for each in sent] == [
        tuple(f"m{n}" for _ in copies) for n, (*_, copies) in enumerate(live)
    ]
    held = sum(each.messages + each.delayed for each in store.queues())
    assert held == sum(len(copies) for *_, copies in live)
    again = [store.publish("pool", n, id=f"m{n}", **each) for n, each in enumerate(MESSAGES)]
    assert [told(each) for each in again] == live  # of each known id the first decision


def test_its_journal_is_a_table_of_decisions(cluster: Cluster, store: Store) -> None:
    store.keep_clusters([cluster])
    for each in MESSAGES:
        store.next_destination("pool", **each)
    rows = list(decisions(store.journal(), "pool"))
    assert [row["outcome"] for row in rows].count("control") == 2


def test_plain_sql_does_as_python_does(opened: Open) -> None:
    url = made_url("postgresql")
    opened(url).keep_clusters([CLUSTERS["plain SQL knows it"]])
    choose = "SELECT destination, outcome, sequence FROM fairlead.next_destination(%s, %s, %s)"
    send = "SELECT destination, sequence, message FROM fairlead.publish(%s, 'o'::text, type => %s)"
    with psycopg.connect(url) as connection:
        values = [["pool", each.get("group"), each.get("type")] for each in MESSAGES]
        found = [connection.execute(choose, each).fetchone() for each in values]
        assert found == [
            ("a", "routed", 0),
            (None, "control", None),
            ("b", "routed", 1),
            (None, "control", None),
            ("a", "routed", 2),
            ("b", "routed", 3),
        ]
        assert connection.execute(send, ["pool", "SetPriority"]).fetchall() == [(None, None, None)]
        ((destination, sequence, message),) = connection.execute(send, ["pool", None]).fetchall()
        assert (destination, sequence) == ("a", 4)
        assert message is not None


def test_of_a_known_id_the_first_decision_is_told_whoever_was_chosen(store: Store) -> None:
    subscribers = [
        {"name": name, "subject": "/x", "load_balanced": shared}
        for name, shared in (("z", False), ("m", True), ("a", False), ("n", True))
    ]
    plain = {
        "policy": "smartsockets",
        "subscriber": subscribers,
        "message_type": [{"name": "t", "mode": "round-robin"}],
    }
    store.keep_clusters([Cluster.from_dict(plain, default_name="pool")])
    first = [
        store.publish("pool", n, {"subject": "/x"}, type="t", id=f"m{n}", group="g")
        for n in range(3)
    ]
    assert {each.destination for each in first} == {"m", "n"}
    for n, each in enumerate(first):
        again = store.publish("pool", n, {"subject": "/x"}, type="t", id=f"m{n}", group="g")
        assert told(again) == told(each)
        assert again == each


def test_a_known_id_tells_whom_a_completion_is_for(store: Store) -> None:
    plain = {
        "policy": "smartsockets",
        "subscriber": [{"name": name, "subject": "/x", "load_balanced": True} for name in "ab"],
        "message_type": [{"name": "t", "mode": "weighted"}],
    }
    store.keep_clusters([Cluster.from_dict(plain, default_name="pool")])
    said = {"subject": "/x", "delivery": "all"}
    sent = [store.publish("pool", n, said, type="t", id=f"m{n}") for n in range(2)]
    assert [each.destination for each in sent] == ["a", "b"]
    again = store.publish("pool", 1, said, type="t", id="m1")
    assert again == sent[1]
    store.completed(again)
    assert store.publish("pool", 2, said, type="t", id="m2").destination == "b"
