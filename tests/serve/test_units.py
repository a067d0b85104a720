"""What a server has to store, where the database fails now and then."""

from typing import Any

from fairlead.errors import StoreError
from fairlead.serve.node.calls import Ending, Unit
from fairlead.serve.node.write_batch import RETRY, WriteBatches
from fairlead.store.queues.settlement import ACCEPTED, Settlement
from fairlead.store.queues.taken_group import TakenGroup


def unit(token: int) -> Unit:
    held = TakenGroup(token, "", "", 0, 1, token, 0, 0, (0, 0))
    end = Settlement(ACCEPTED, token, token, "")
    return Unit(lambda _unit, _error: None, ends=[Ending("jobs", end, held)])


def test_what_could_not_be_stored_is_told_again_though_one_write_follows_another() -> None:
    stored: list[Any] = []
    units = WriteBatches(stored.append)
    late = unit(1)
    units.submit(late)
    write = units.next()
    assert write is not None
    units.written(write, [StoreError("gone")], 0.0)
    for turn in range(1, 10):
        units.submit(unit(turn + 1))
        write = units.next()
        assert write is not None
        now = turn * RETRY / 4
        units.tick(now)  # while it writes
        units.written(write, [None] * len(write.units), now)
    assert late in stored
    assert not units.busy
