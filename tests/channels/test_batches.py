"""Batches between two stores: once, in order, whatever ends in the middle; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fairlead.errors import MessageError, NoDestinationError
from fairlead.store.channels.rows import IN, OUT
from tests.channels.sites import Sites, sites_of, written

TO = "TO.QM2"
ONE = '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM2"\nbind = "not-fixed"\n'


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sites]:
    with sites_of(tmp_path, request.param, written(tmp_path, ONE)) as found:
        yield found.declare()


def moved(sites: Sites, most: int = 1000, longest: int = 0) -> int:
    """Form a batch, take it in and confirm it; its messages."""
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    batch = sender.moving.form_batch(TO, "QM2", sites.claim("QM1"), most, longest)
    if batch is None:
        return 0
    end, claim = sites.end("QM2", "QM1"), sites.claim("QM2")
    receiver.moving.receive_batch(end, claim, batch.number, batch.token, batch.content)
    sender.moving.confirm_batch(TO, "QM2", batch.number, batch.token)
    return batch.messages


def test_messages_arrive_as_they_were_put(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    every: list[Any] = [b"\x00\xff", "ein Satz", {"item": [1, None]}, "", "x" * 100_000]
    for place, body in enumerate(every):
        decision = sender.put(
            "ORDERS", body, group="kim", id=f"id-{place}", type="Order", cost=3, tenant="t"
        )
        assert (decision.destination, decision.outcome) == (TO, "routed")
    assert [message.body for message in sender.peek(f"channel:{TO}")] == every
    assert moved(sites) == len(every)
    with receiver.take("ORDERS") as work:  # type: ignore[union-attr]
        got = list(work)
    assert [message.body for message in got] == every
    assert {(m.group, m.type, m.cost, m.tenant) for m in got} == {("kim", "Order", 3, "t")}
    assert [message.id for message in got] == [f"id-{place}" for place in range(len(every))]
    assert sites.count("QM1", f"channel:{TO}") == 0


def test_a_queue_that_no_cluster_has_is_put_to_here_or_is_unknown(sites: Sites) -> None:
    store = sites.stores["QM1"]
    store.send("own", "before")
    assert store.put("own", "o", id="o-1").destination == "local"
    assert sites.bodies("QM1", "own") == ["before", "o"]
    with pytest.raises(NoDestinationError, match="unknown-queue"):
        store.put("none", "o")


def test_a_batch_that_comes_twice_is_taken_once(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    sender.put("ORDERS", "o")
    batch = sender.moving.form_batch(TO, "QM2", sites.claim("QM1"), 10, 0)
    assert batch is not None
    end, claim = sites.end("QM2", "QM1"), sites.claim("QM2")
    for _ in range(2):
        assert (
            receiver.moving.receive_batch(end, claim, batch.number, batch.token, batch.content) == 0
        )
    assert sites.bodies("QM2", "ORDERS") == ["o"]
    with pytest.raises(MessageError, match="found batch 3 of QM1, allowed: 2, the next"):
        receiver.moving.receive_batch(end, claim, 3, "x", batch.content)
    with pytest.raises(MessageError, match="found batch 1 of QM1, allowed: 2"):
        receiver.moving.receive_batch(end, claim, 1, "another", batch.content)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_a_batch_has_as_many_messages_as_it_may(sites: Sites, most: int) -> None:
    sender = sites.stores["QM1"]
    for number in range(5):
        sender.put("ORDERS", number, group="kim" if number % 2 else None)
    found = []
    while batch := sender.moving.form_batch(TO, "QM2", sites.claim("QM1"), most, 0):
        found.append(batch.messages)
    assert found == {1: [1] * 5, 3: [3, 2], 5: [5]}[most]


def test_a_raised_group_stays_raised(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    sender.put("ORDERS", 1, group="slow")
    sender.put("ORDERS", 2, group="quick", priority=200)
    moved(sites)
    assert [rank.group for rank in receiver.waiting("ORDERS").ranks] == ["quick", "slow"]


def test_what_is_refused_becomes_a_dead_letter_and_the_rest_goes_on(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    sender.put("PRIVATE@QM2", "nobody knows this queue")
    sender.put("ORDERS", "o")
    sender.put("ORDERS", "again", id="one")
    assert moved(sites) == 3
    assert sites.bodies("QM2", "ORDERS") == ["o", "again"]
    (dead,) = receiver.dead(f"channel:{TO}")
    assert dead.body == "nobody knows this queue"
    assert dead.reason == "queue: found 'PRIVATE', allowed: one that there is here"
    receiver.send("PRIVATE", "now there is one")
    receiver.requeue(f"channel:{TO}", [dead.id])
    assert receiver.moving.retry_own(sites.end("QM2", "QM2"), sites.claim("QM2")) == 1
    assert sites.bodies("QM2", "PRIVATE") == ["now there is one", "nobody knows this queue"]


@pytest.mark.parametrize("queue", ["fairlead:temporary", f"channel:{TO}", "outbox:ORDERS"])
def test_nobody_puts_to_what_servers_keep_for_themselves(sites: Sites, queue: str) -> None:
    store = sites.stores["QM1"]
    store.send(queue, "there is one")
    for address in (queue, f"{queue}@QM2"):
        with pytest.raises(MessageError, match=rf"^queue: found '{queue}', allowed: one that is"):
            store.put(address, "o")
    assert sites.bodies("QM1", queue) == ["there is one"]


def test_nor_does_another_site(sites: Sites) -> None:
    """Whatever the other site lets its programs do."""
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    there = "channel:TO.QM1"
    sender.put("P" * len(there) + "@QM2", "o")
    batch = sender.moving.form_batch(TO, "QM2", sites.claim("QM1"), 10, 0)
    assert batch is not None
    content = batch.content.replace(b"P" * len(there), there.encode())
    end, claim = sites.end("QM2", "QM1"), sites.claim("QM2")
    assert receiver.moving.receive_batch(end, claim, batch.number, batch.token, content) == 1
    assert sites.count("QM2", there) == 0
    (dead,) = receiver.dead(f"channel:{TO}")
    assert dead.reason == f"queue: found '{there}', allowed: one that is not the servers' own"


def test_a_full_queue_there_takes_what_fits(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    receiver.send("ORDERS", 0)
    receiver.set_limits("ORDERS", max_waiting=2)
    for body in (1, 2, 3):
        sender.put("ORDERS", body)
    moved(sites)
    assert sites.bodies("QM2", "ORDERS") == [0, 1]
    assert [
        (dead.body, "max_waiting" in dead.reason) for dead in receiver.dead(f"channel:{TO}")
    ] == [
        (2, True),
        (3, True),
    ]


def test_what_is_too_long_for_the_other_end_stays_here_as_a_dead_letter(sites: Sites) -> None:
    sender = sites.stores["QM1"]
    sender.put("ORDERS", "x" * 5000, group="kim")
    sender.put("ORDERS", "short", group="kim")
    assert moved(sites, longest=1000) == 1
    assert sites.bodies("QM2", "ORDERS") == ["short"]
    (dead,) = sender.dead(f"channel:{TO}")
    assert "allowed by the other end of the channel: at most 1000" in dead.reason
    sender.requeue(f"channel:{TO}", [dead.id])
    assert moved(sites) == 1
    assert sites.bodies("QM2", "ORDERS") == ["x" * 5000]


def test_two_ends_that_disagree_wait_for_an_operator(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    for body in range(3):
        sender.put("ORDERS", body)
        moved(sites)
    number, token = receiver.moving.last_batch(sites.end("QM2", "QM1"))
    assert number == 3
    for wrong in ((2, token), (3, "other"), (5, token)):
        with pytest.raises(MessageError, match="channels reset"):
            sender.moving.agree(TO, "QM2", *wrong)
    assert sender.moving.agree(TO, "QM2", number, token) == []
    sender.put("ORDERS", "later")
    batch = sender.moving.form_batch(TO, "QM2", sites.claim("QM1"), 10, 0)
    assert batch is not None
    (anew,) = sender.moving.go_on_behind(TO, "QM2", 7, "there")
    assert (anew.number, anew.content) == (8, batch.content)
    assert sender.moving.agree(TO, "QM2", 7, "there") == [anew]


def test_a_message_goes_on_from_a_site_without_an_instance(tmp_path: Path) -> None:
    """Put to QM2 by name, which has no instance of the queue: it is chosen for anew there."""
    with sites_of(tmp_path, "sqlite", written(tmp_path, ONE)) as found:
        sites = found.declare()
        sites.stores["QM1"].put("ORDERS@QM2", "o")
        assert sites.count("QM1", "channel:TO.QM2") == 1
        with pytest.raises(NoDestinationError, match="no-destination"):
            sites.stores["QM1"].put("ORDERS@QM3", "o")


def test_announcements_change_what_the_others_choose(sites: Sites) -> None:
    sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
    assert receiver.change_own("put_enabled", False, "ORDERS") == 2
    batch = receiver.moving.form_batch("TO.QM1", "QM1", sites.claim("QM2"), 10, 0)
    assert batch is not None
    end, claim = sites.end("QM1", "QM2"), sites.claim("QM1")
    assert sender.moving.receive_batch(end, claim, batch.number, batch.token, batch.content) == 0
    with pytest.raises(NoDestinationError, match="put-inhibited"):
        sender.put("ORDERS", "o")


def test_a_store_that_is_no_queue_managers(tmp_path: Path) -> None:
    with sites_of(tmp_path, "sqlite") as sites:
        store = sites.stores["QM1"]
        with pytest.raises(MessageError, match="put: found a store that is no queue manager's"):
            store.put("ORDERS", "o")
        sites.declare()
        with pytest.raises(MessageError, match="allowed: 'QM1', whose store"):
            store.serve_queue_manager("QM2", "sites@QM2")


class Crashes(RuleBasedStateMachine):
    """One program moves batches, and may end after each step; it knows nothing afterwards."""

    folder: Path
    dialect: str

    @initialize()
    def begin(self) -> None:
        file = written(self.folder, ONE)
        self.sites = sites_of(self.folder, self.dialect, file).declare()
        self.sent: dict[str, list[int]] = {}
        self.got: dict[str, list[int]] = {}
        self.count = 0
        self.pending: list[Any] = []
        self.at_receiver: list[Any] = []

    def teardown(self) -> None:
        if hasattr(self, "sites"):
            self.drain()
            assert self.got == self.sent
            self.sites.__exit__(None, None, None)

    @rule(group=st.sampled_from("abc"), count=st.integers(1, 4))
    def put(self, group: str, count: int) -> None:
        with self.sites.stores["QM1"].transaction() as tx:
            for _ in range(count):
                self.count += 1
                tx.put("ORDERS", self.count, group=group)
                self.sent.setdefault(group, []).append(self.count)

    @rule(most=st.integers(1, 5))
    def form(self, most: int) -> None:
        sender = self.sites.stores["QM1"]
        batch = sender.moving.form_batch(TO, "QM2", self.sites.claim("QM1"), most, 0)
        if batch is not None:
            self.pending.append(batch)

    @rule()
    def crash(self) -> None:
        """The program has ended; it begins by asking what the other end has."""
        receiver = self.sites.stores["QM2"]
        number, token = receiver.moving.last_batch(self.sites.end("QM2", "QM1"))
        self.pending = self.sites.stores["QM1"].moving.agree(TO, "QM2", number, token)
        self.at_receiver = []

    @rule(confirms=st.booleans(), twice=st.booleans())
    def deliver(self, confirms: bool, twice: bool) -> None:
        if not self.pending:
            return
        batch = self.pending.pop(0)
        end, claim = self.sites.end("QM2", "QM1"), self.sites.claim("QM2")
        for _ in range(1 + twice):
            self.sites.stores["QM2"].moving.receive_batch(
                end, claim, batch.number, batch.token, batch.content
            )
        if confirms and not self.at_receiver:
            self.sites.stores["QM1"].moving.confirm_batch(TO, "QM2", batch.number, batch.token)
        else:
            self.at_receiver.append(batch)

    @rule()
    def read(self) -> None:
        work = self.sites.stores["QM2"].take("ORDERS")
        if work is not None:
            with work:
                for message in work:
                    self.got.setdefault(message.group, []).append(message.body)

    def drain(self) -> None:
        self.crash()
        while True:
            self.form(1000)
            if not self.pending:
                break
            while self.pending:
                self.deliver(confirms=True, twice=False)
        while self.sites.count("QM2", "ORDERS"):
            self.read()

    @invariant()
    def order_is_kept(self) -> None:
        for group, bodies in getattr(self, "got", {}).items():
            assert bodies == self.sent[group][: len(bodies)]


@pytest.mark.costly
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_each_arrives_once_in_order_whatever_crashes(dialect: str, tmp_path: Path) -> None:
    machine = type("Machine", (Crashes,), {"folder": tmp_path, "dialect": dialect})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=20, stateful_step_count=25, deadline=None),
    )


def test_counts_are_shown(sites: Sites) -> None:
    sites.stores["QM1"].put("ORDERS", 1)
    moved(sites)
    (out,) = [row for row in sites.stores["QM1"].channels() if row.messages]
    (into,) = [row for row in sites.stores["QM2"].channels() if row.direction == IN]
    assert (out.direction, out.number, out.messages, out.under_way) == (OUT, 1, 1, 0)
    assert (into.peer, into.number, into.token) == ("QM1", 1, out.token)
