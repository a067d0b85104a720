"""The node, held against the plainest model, on a real store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead import Store
from tests.serve.plain import QUEUE, World


def run(folder: Path, seed: int, messages: int) -> World:
    with Store.open(f"sqlite:///{folder}/{seed}.db") as store:
        store.set_limits(QUEUE, max_failures=None)
        world = World(store, seed)
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
        assert not world.node.busy
        return world


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_and_groups_keep_their_order(tmp_path: Path, seed: int) -> None:
    world = run(tmp_path, seed, 120)
    assert world.seen == world.finished


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_messages_are_none_the_less_in_order(tmp_path: Path) -> None:
    for seed in range(100, 120):
        run(tmp_path, seed, 5000)
