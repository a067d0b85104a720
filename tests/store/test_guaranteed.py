"""Guaranteed messages: publishers hear what became of them, and others get what one has failed."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from fairlead import Cluster, Store
from fairlead.errors import ChangeError, MessageError
from tests.stores import made_url

Options = dict[str, Any]
SUBJECT = "/s"


def cluster(**options: Any) -> Cluster:
    return Cluster.of("smartsockets", name="news", options={"subscribers": "any", **options})


def begun(store: Store, *names: str, **options: Any) -> None:
    store.keep_clusters([cluster(**options)])
    for name in names:
        store.subscribe("news", SUBJECT, name)


def publish(store: Store, body: object, mode: str = "sorted", delivery: str = "all") -> int:
    said = {"subject": SUBJECT, "mode": mode, "delivery": delivery}
    return store.publish("news", body, said).number


def queue(name: str) -> str:
    return f"news:{SUBJECT}:{name}"


def received(store: Store, name: str) -> list[tuple[Any, bool]]:
    """What a subscriber gets, and whether it is marked; it acknowledges all of it."""
    found = []
    while (work := store.take(queue(name))) is not None:
        with work:
            found += [(message.body, message.redelivered) for message in work]
    return found


def outcome(store: Store, number: int) -> str:
    return store.deliveries([number])[number].outcome


def test_some_is_done_at_the_first_acknowledgement_and_all_at_the_last(store: Store) -> None:
    begun(store, "A", "B")
    some, every = (publish(store, each, "none", each) for each in ("some", "all"))
    assert [outcome(store, each) for each in (some, every)] == ["open", "open"]
    assert received(store, "A") == [("some", False), ("all", False)]
    assert [outcome(store, each) for each in (some, every)] == ["acknowledged", "open"]
    received(store, "B")
    assert [outcome(store, each) for each in (some, every)] == ["acknowledged", "acknowledged"]


def test_what_a_receiver_rejects_has_failed_with_its_reason(store: Store) -> None:
    begun(store, "A", "B")
    some, every = (publish(store, each, "none", each) for each in ("some", "all"))
    while (work := store.take(queue("A"))) is not None:
        list(work)
        work.reject("no room")
    assert store.deliveries([every])[every] == ("nack", "no room")
    assert outcome(store, some) == "open"
    received(store, "B")
    assert outcome(store, some) == "acknowledged"
    assert store.deliveries([every])[every] == ("nack", "no room")  # it stays so


def test_what_is_not_guaranteed_nobody_is_told_of(store: Store) -> None:
    begun(store, "A")
    number = publish(store, "o", delivery="best-effort")
    assert store.deliveries([number, 10**9]) == {}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_not_acknowledged_in_time_has_failed_and_is_not_given_later(kind: str) -> None:
    now = [1000.0]
    with Store.open(made_url(kind), create=True, clock=lambda: now[0]) as store:
        begun(store, "A", "B", delivery_timeout=30)
        late, some = publish(store, "late"), publish(store, "some", "none", "some")
        now[0] += 29
        assert outcome(store, late) == "open"
        now[0] += 1
        assert store.deliveries([late])[late] == ("timeout", "nobody has acknowledged it in time")
        assert [body for body, _ in received(store, "A")] == ["some"]
        assert [each.reason for each in store.dead(queue("A"))] == ["it has expired"]
        assert [outcome(store, each) for each in (late, some)] == ["timeout", "timeout"]


@pytest.mark.parametrize("timeout", [0, 30])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_not_wanted_any_more_has_failed_then(kind: str, timeout: int) -> None:
    now = [1000.0]
    with Store.open(made_url(kind), create=True, clock=lambda: now[0]) as store:
        begun(store, "A", delivery_timeout=timeout)
        said = {"subject": SUBJECT, "delivery": "all"}
        number = store.publish("news", "o", said, expires=5).number
        now[0] += 4
        assert outcome(store, number) == "open"
        now[0] += 1
        assert outcome(store, number) == "timeout"
        assert received(store, "A") == []


def test_who_switched_balancing_off_keeps_nobody_from_getting_it(store: Store) -> None:
    begun(store, "A", "B")
    store.subscribe("news", SUBJECT, "O", load_balanced=False)
    number = publish(store, "o")
    store.change("news", f"subscriber:A@{SUBJECT}", "state", "failed")
    assert store.reroute("news", SUBJECT, "A")
    assert received(store, "B") == [("o", True)]
    assert received(store, "O") == [("o", False)]
    assert outcome(store, number) == "acknowledged"


def test_to_reroute_one_to_whom_nothing_was_sent_is_done_at_once(store: Store) -> None:
    begun(store, "A")
    assert store.reroute("news", SUBJECT, "nobody")


def test_what_a_queue_does_not_give_is_still_to_be_rerouted(store: Store) -> None:
    begun(store, "A", "B")
    publish(store, "o")
    store.switch(queue("A"), on=False)
    store.change("news", f"subscriber:A@{SUBJECT}", "state", "failed")
    assert not store.reroute("news", SUBJECT, "A")
    store.switch(queue("A"), on=True)
    assert store.reroute("news", SUBJECT, "A")
    assert received(store, "B") == [("o", True)]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_one_that_could_not_arrive_its_publisher_is_told(kind: str) -> None:
    now = [1000.0]
    with Store.open(made_url(kind), create=True, clock=lambda: now[0]) as store:
        begun(store, "A", delivery_timeout=0)
        said = {"subject": SUBJECT, "mode": "sorted", "delivery": "all", "group": "g"}
        number = store.publish("news", "o", said, group="g", delay=5).number
        store.send(queue("A"), "other", group="g", tenant="t")
        now[0] += 5
        assert [each.body for each in store.dead(queue("A"))] == []
        store.waiting(queue("A"))
        assert [each.body for each in store.dead(queue("A"))] == ["o"]
        assert store.deliveries([number])[number] == ("nack", "its group is another tenant's now")


def test_an_id_is_that_of_one_message_whatever_its_subject(store: Store) -> None:
    begun(store, "A")
    store.subscribe("news", "/z", "A")
    said = {"subject": SUBJECT, "delivery": "all"}
    first = store.publish("news", "o", said, id="x")
    assert store.publish("news", "o", said, id="x") == first
    with pytest.raises(MessageError, match="id: found 'x', which another message had before"):
        store.publish("news", "o", {**said, "subject": "/z"}, id="x")


def test_a_timeout_of_0_is_none(store: Store) -> None:
    begun(store, "A", delivery_timeout=0)
    number = publish(store, "o")
    assert outcome(store, number) == "open"
    assert received(store, "A") == [("o", False)]
    assert outcome(store, number) == "acknowledged"


def test_who_is_left_gets_what_another_has_failed_marked_with_its_place(store: Store) -> None:
    begun(store, "A", "B", "C")
    numbers = [publish(store, i, "round-robin") for i in range(6)]  # C A B C A B
    store.change("news", f"subscriber:B@{SUBJECT}", "state", "failed")
    assert store.reroute("news", SUBJECT, "B")
    assert received(store, "B") == []
    assert received(store, "C") == [(0, False), (3, False), (2, True)]
    assert received(store, "A") == [(1, False), (4, False), (5, True)]
    assert {outcome(store, each) for each in numbers} == {"acknowledged"}
    decided = [each for each in store.journal() if each.kind == "decided"]
    again = [each for each in decided if each.detail == "redelivered"]
    assert [(each.sequence, each.destination) for each in again] == [(2, "C"), (5, "A")]
    for each in decided:
        found = store.decision(each.position)
        assert (found.destination, found.sequence) == (each.destination, each.sequence)
    why = str(store.decision(again[0].position).explain())
    assert "dropped B: connected is false" in why


def test_a_message_that_comes_back_to_a_queue_where_it_was_is_not_lost(store: Store) -> None:
    begun(store, "A", "B")
    said = {"subject": SUBJECT, "mode": "sorted", "delivery": "all"}
    store.publish("news", "o", said, id="mine")
    for gone, left in (("A", "B"), ("B", "A"), ("A", "B")):
        store.unsubscribe("news", SUBJECT, gone)
        assert store.reroute("news", SUBJECT, gone)
        store.subscribe("news", SUBJECT, gone)
        assert store.waiting(queue(left)).waiting == 1
    assert received(store, "B") == [("o", True)]
    assert store.decision_about("news", "mine").destination == "B"


WAYS: list[tuple[Options, str, str, tuple[str, ...], str]] = [
    # options, the receiver's disconnect_mode, the mode, who is left, what becomes of it
    ({}, "failure", "sorted", ("B",), "redelivered"),
    ({}, "success", "sorted", ("B",), "acknowledged"),
    ({}, "failure", "none", ("B",), "nack"),
    ({}, "success", "none", ("B",), "open"),  # B has not acknowledged its own
    ({}, "failure", "sorted", (), "acknowledged"),
    ({"zero_receivers": "failure"}, "failure", "sorted", (), "nack"),
    ({"on_receiver_failure": "nack"}, "failure", "sorted", ("B",), "nack"),
    ({"on_receiver_failure": "nack"}, "success", "sorted", ("B",), "nack"),
    ({"on_receiver_failure": "nack"}, "warm", "sorted", ("B",), "nack"),
]


@pytest.mark.parametrize(("options", "way", "mode", "left", "wanted"), WAYS)
def test_what_becomes_of_it_is_as_the_options_say(
    options: Options, way: str, mode: str, left: tuple[str, ...], wanted: str, store: Store
) -> None:
    begun(store, *left, **options)
    store.subscribe("news", SUBJECT, "A", disconnect_mode=way)
    number = publish(store, "o", mode)
    store.change("news", f"subscriber:A@{SUBJECT}", "state", "failed")
    assert store.reroute("news", SUBJECT, "A")
    assert outcome(store, number) == ("open" if wanted == "redelivered" else wanted)
    got = [("o", True)] if wanted == "redelivered" else [("o", False)] if mode == "none" else []
    assert [each for name in left for each in received(store, name)] == got
    details = [each.detail or "" for each in store.journal() if each.kind == "dropped"]
    assert len(details) == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_for_who_is_warm_all_is_kept_until_its_time_is_over(kind: str) -> None:
    now = [1000.0]
    with Store.open(made_url(kind), create=True, clock=lambda: now[0]) as store:
        begun(store, "B", delivery_timeout=0, reconnect_timeout=30)
        store.subscribe("news", SUBJECT, "A", disconnect_mode="warm")
        number = publish(store, "o")
        store.change("news", f"subscriber:A@{SUBJECT}", "state", "failed")
        now[0] += 29
        assert not store.reroute("news", SUBJECT, "A")
        now[0] += 1
        assert store.reroute("news", SUBJECT, "A")
        assert received(store, "B") == [("o", True)]
        assert outcome(store, number) == "acknowledged"


def test_what_is_not_guaranteed_is_lost_and_what_a_reader_holds_waits_for_it(store: Store) -> None:
    begun(store, "A", "B")
    publish(store, "first")
    publish(store, "lost", delivery="best-effort")
    held = store.take(queue("A"))
    assert held is not None
    store.unsubscribe("news", SUBJECT, "A")
    assert not store.reroute("news", SUBJECT, "A")
    held.release()
    assert store.reroute("news", SUBJECT, "A")
    assert received(store, "A") == []
    assert received(store, "B") == [("first", True)]


def test_who_is_connected_keeps_its_messages(store: Store) -> None:
    begun(store, "A")
    publish(store, "o")
    with pytest.raises(ChangeError, match="found that the subscriber 'A' is connected, allowed: "):
        store.reroute("news", SUBJECT, "A")
    assert received(store, "A") == [("o", False)]


def test_envelopes_and_groups_stay_as_they_were(store: Store) -> None:
    begun(store, "A", "B")
    said = {"subject": SUBJECT, "mode": "sorted", "delivery": "all"}
    for i in range(150):
        store.publish("news", i, said, group="g", type="T")
    store.unsubscribe("news", SUBJECT, "A")
    assert store.reroute("news", SUBJECT, "A")
    with store.take(queue("B")) as work:
        found = [(each.group, each.type, each.body, each.redelivered) for each in work]
    assert found == [("g", "T", i, True) for i in range(150)]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_over_is_forgotten_after_a_week_and_what_waits_is_not(kind: str) -> None:
    now = [1000.0]
    with Store.open(made_url(kind), create=True, clock=lambda: now[0]) as store:
        begun(store, "A", "B", delivery_timeout=0)
        done = publish(store, "done")
        assert received(store, "A") == [("done", False)]
        waits = publish(store, "waits")
        for _ in range(3):
            now[0] += 8 * 86_400
            store._retention._due.clear()
            assert store.take(queue("B")) is None  # who takes forgets a little
        assert store.deliveries([done, waits]) == {waits: ("open", "")}
        with store.transaction() as tx:
            name = "fairlead_acknowledgements" if kind == "sqlite" else "fairlead.acknowledgements"
            assert [*tx.execute(f"SELECT count(*) FROM {name}")] == [(0,)]  # noqa: S608
        store.unsubscribe("news", SUBJECT, "A")
        assert store.reroute("news", SUBJECT, "A")
        assert received(store, "B") == [("waits", True)]
        assert outcome(store, waits) == "acknowledged"


def test_a_copy_that_somebody_deleted_by_hand_has_failed_when_the_store_is_mended(
    url: str, store: Store
) -> None:
    begun(store, "A")
    number = publish(store, "o")
    messages = "fairlead_messages" if url.startswith("sqlite") else "fairlead.messages"
    with store.transaction() as tx:
        tx.execute(f"DELETE FROM {messages}")  # noqa: S608
    assert "messages that a cluster waits for" in str(store.check())
    store.check(repair=True)
    assert outcome(store, number) == "nack"


class History:
    """Subscribers that fail and come back, while messages are published and acknowledged."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store, self.random = store, random
        self.there = {"A", "B", "C"}
        self.sent: dict[int, int] = {}
        self.got: Counter[tuple[str, int]] = Counter()
        self.acknowledged: set[int] = set()

    def publish(self, at: int) -> None:
        mode = self.random.choice(["round-robin", "sorted", "weighted"])
        self.sent[at] = publish(self.store, at, mode)

    def take(self, _: int) -> None:
        self.take_from(self.random.choice(sorted(self.there)))

    def take_from(self, name: str) -> bool:
        work = self.store.take(queue(name))
        if work is None:
            return False
        with work:
            for message in work:
                self.got[name, message.body] += 1
                assert self.got[name, message.body] == 1 or message.redelivered
                self.acknowledged.add(message.body)
        return True

    def fail_or_come(self, _: int) -> None:
        name = self.random.choice("ABC")
        if name not in self.there:
            self.store.subscribe("news", SUBJECT, name)
            self.there.add(name)
        elif len(self.there) > 1:
            self.there.remove(name)
            self.store.change("news", f"subscriber:{name}@{SUBJECT}", "state", "failed")
            assert self.store.reroute("news", SUBJECT, name)

    def check(self) -> None:
        told = self.store.deliveries(self.sent.values())
        for at, number in self.sent.items():
            wanted = "acknowledged" if at in self.acknowledged else "open"
            assert told[number].outcome == wanted


@pytest.mark.parametrize("seed", range(4))
def test_whoever_fails_each_message_is_told_of_and_none_comes_twice_unmarked(
    seed: int, store: Store
) -> None:
    random = Random(seed)  # noqa: S311 - a history, no secret
    begun(store, "A", "B", "C")
    history = History(store, random)
    for at in range(40):
        acts = [history.publish, history.take, history.fail_or_come]
        random.choices(acts, [60, 15, 25])[0](at)
    history.check()
    for name in history.there:
        while history.take_from(name):
            pass
    assert history.acknowledged == {*history.sent}
    history.check()
    for each in store.journal():
        if each.kind == "decided":
            assert store.decision(each.position).destination == each.destination
