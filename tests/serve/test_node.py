"""The node, held against the plainest model, on a real store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from fairlead.serve.wire import events as r
from tests.serve.plain import QUEUE, World


def run(folder: Path, seed: int, messages: int, **more: Any) -> World:
    with Store.open(f"sqlite:///{folder}/{seed}.db") as store:
        store.set_limits(QUEUE, max_failures=None)
        world = World(store, seed, **more)
        for _ in range(3):
            peer = world.connect()
            world.senders.append((peer, world.link(peer, sends=False)))
        for _ in range(2):
            world.coordinate()
        world.work()
        while len(world.groups) < messages:
            world.step()
        world.finish()
        assert world.accepted == set(world.groups)
        assert world.finished == world.accepted
        assert not world.discharges
        ((status),) = [each for each in store.queues() if each.queue == QUEUE]
        assert (status.messages, status.dead) == (0, len(store.dead(QUEUE, 10**6)))
        assert store.check() == []
        assert not world.node.state.busy
        return world


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_and_groups_keep_their_order(tmp_path: Path, seed: int) -> None:
    world = run(tmp_path, seed, 120)
    assert world.seen == world.finished


@pytest.mark.parametrize("seed", range(6, 10))
def test_so_it_is_while_the_database_is_gone_now_and_then(tmp_path: Path, seed: int) -> None:
    world = run(tmp_path, seed, 120, faults=True)
    assert world.seen == world.finished


def test_a_transaction_is_refused_of_which_a_message_went_back(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/x.db") as store:
        store.send(QUEUE, 1, id="m1", group="g")
        world = World(store, 0)
        world.groups[1] = "g"
        world.coordinate()
        world.work()
        ((peer, _, link, coordinator),) = world.transactors
        receiver = world.receivers[link.number]
        receiver.credit = 1
        world.heard(peer, r.Flowed(link, 1, drain=False))
        world.work()
        ((delivery, _),) = receiver.has.items()
        transaction = world.declared(peer, coordinator)
        accepted = r.Outcome(r.ACCEPTED, transaction=transaction)
        world.heard(peer, r.Disposed(link, delivery, accepted, settled=False))
        world.end(receiver, orderly=True)
        world.discharge(peer, coordinator, transaction, fail=False)
        wire: Any = peer.wire
        _, outcome = wire.said[-1]
        assert outcome.kind == r.REJECTED
        assert outcome.condition.name == "amqp:transaction:rollback"
        world.work()
        work = store.take(QUEUE)
        assert work is not None
        assert [message.body for message in work] == [1]


def test_what_waits_in_a_group_fills_the_credit(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/x.db") as store:
        world = World(store, 0)
        for number in range(1, 13):
            store.send(QUEUE, number, id=f"m{number}", group="g")
            world.groups[number] = "g"
        link = world.link(world.connect(), sends=True)
        world.work()
        receiver = world.receivers[link.number]
        for credit, there in ((10, 10), (1, 11), (5, 12)):
            receiver.credit = credit
            world.heard(receiver.peer, r.Flowed(link, credit, drain=False))
            world.work()
            assert [*receiver.has.values()] == [*range(1, there + 1)]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_messages_are_none_the_less_in_order(tmp_path: Path) -> None:
    for seed in range(100, 120):
        run(tmp_path, seed, 5000, faults=seed >= 110, groups=5 if seed % 4 < 2 else 50)
