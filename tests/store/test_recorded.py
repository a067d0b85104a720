"""What happened to a queue can be replayed: under the same order it happens again."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Cluster, Store
from fairlead.cli.app import run
from fairlead.replay import replay
from fairlead.store.journal.export import recorded
from fairlead.store.leasing import StoreWork
from tests.stores import made_url


class Timed:
    """A store with a clock that a test moves."""

    def __init__(self, dialect: str) -> None:
        self.now = 0.0
        self.url = made_url(dialect)
        self.store = Store.open(self.url, clock=lambda: self.now)

    def send(self, now: float, id_: str, **more: Any) -> None:
        self.now = now
        self.store.send("q", "", id=id_, **more)

    def take(self, now: float) -> StoreWork:
        self.now = now
        found = self.store.take("q", lease=1000)
        assert found is not None
        return found

    def accept(self, now: float, work: StoreWork) -> list[str]:
        self.now = now
        found = [message.id for message in work]
        work.accept()
        return found


@pytest.fixture
def timed() -> Iterator[Timed]:
    found = Timed("sqlite")
    yield found
    found.store.close()


def test_a_replay_of_what_was_recorded_starts_when_that_started(
    timed: Timed, capfd: pytest.CaptureFixture[str]
) -> None:
    timed.send(1000, "a")
    first = timed.take(1000)
    timed.send(1001, "b", group="g")
    timed.send(1001, "c", group="h")
    timed.send(1001, "d", group="h", delay=1)
    timed.send(1001, "e", delay=500)
    timed.now = 1002
    timed.store.prioritise("q", "h", 200)
    assert timed.accept(1005, first) == ["a"]
    assert timed.accept(1011, timed.take(1005)) == ["c", "d"]
    assert timed.accept(1012, timed.take(1011)) == ["b"]
    assert run(["journal", "--queue", "q", "--messages", "--store", timed.url]) == 0
    out, err = capfd.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    one = Cluster.of("round-robin", destination=[{"name": "A"}], order={"discipline": "priority"})
    found = replay(pa.Table.from_pylist(rows), one).to_pylist()
    assert {row["id"]: (row["start"], row["finish"]) for row in found if not row["type"]} == {
        "a": (1000, 1005),
        "c": (1005, 1008),
        "d": (1008, 1011),
        "b": (1011, 1012),
    }


def test_what_was_not_accepted_is_left_out(timed: Timed, capfd: pytest.CaptureFixture[str]) -> None:
    timed.send(1, "a", tenant="x", cost=3)
    timed.send(2, "b", type="SetPriority")
    assert timed.accept(4, timed.take(3)) == ["a"]
    found = recorded(timed.store.journal(), "q")
    assert found.unfinished == 1
    assert [(row["id"], row["tenant"], row["cost"], row["type"]) for row in found.rows] == [
        ("a", "x", 3, None)
    ]
    assert run(["journal", "--queue", "q", "--messages", "--store", timed.url]) == 0
    assert capfd.readouterr().err == "left out, as not accepted: 1 message\n"
    assert run(["journal", "--messages", "--store", timed.url]) == 2
    assert capfd.readouterr().err == "fairlead: journal --messages needs --queue NAME\n"
