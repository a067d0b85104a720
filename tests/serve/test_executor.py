"""What a server does in one transaction, and what becomes of it where something is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead import Store
from fairlead.errors import QueueFullError, StoreError, UserError
from fairlead.serve import executor
from fairlead.serve.executor import Executor
from fairlead.serve.node.calls import QUEUE, Send, Take, Unit, Write, Written


def ignore(unit: Unit, error: Exception | None) -> None:
    """Nobody is to be told."""


def sent(to: str, body: object) -> Unit:
    return Unit(ignore, sends=[Send(to, QUEUE, body, {}, {})])


def done(store: Store, units: list[Unit], *takes: Take) -> Written:
    found = Executor(store, 60.0).execute(Write(units, [*takes]))
    assert isinstance(found, Written)
    return found


def bodies(found: object) -> list[object]:
    assert isinstance(found, list)
    return [message.body for held in found for message in held.messages]


def test_what_is_sent_is_taken_in_the_same_transaction(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        store.send("orders", "there")
        found = done(store, [sent("orders", "new"), sent("else", 1)], Take("orders", 5, 100))
        assert found.units == [None, None]
        assert bodies(found.takes[0]) == ["there", "new"]
        assert len(store.working("orders")) == 2
        assert store.take("orders") is None


def test_what_is_refused_keeps_nothing_else_from_being_done(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        store.set_limits("full", max_waiting=1)
        store.send("full", 0)
        units = [sent("orders", "a"), sent("full", 1), sent("orders", "b")]
        found = done(store, units, Take("orders", 5, 100), Take("full", 5, 100))
        assert [type(each) for each in found.units] == [type(None), QueueFullError, type(None)]
        assert [bodies(each) for each in found.takes] == [["a", "b"], [0]]


def test_a_take_that_fails_keeps_nothing_from_being_stored(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        found = done(store, [sent("orders", "a")], Take("", 5, 100), Take("orders", 5, 100))
        assert found.units == [None]
        assert isinstance(found.takes[0], UserError)
        assert bodies(found.takes[1]) == ["a"]


def test_without_anything_to_store_it_takes_what_is_there(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        store.send("orders", "there")
        found = done(store, [], Take("orders", 5, 100), Take("nothing", 5, 100))
        assert [bodies(each) for each in found.takes] == [["there"], []]


def test_a_store_that_does_not_answer_is_not_asked_for_each_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    def silent(*_: object) -> None:
        tries.append(None)
        raise StoreError("nobody answers")

    monkeypatch.setattr(executor, "LONG", -1.0)
    monkeypatch.setattr(Executor, "_do", silent)
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store:
        units = [sent("orders", n) for n in range(100)]
        found = done(store, units, Take("orders", 5, 100))
        assert len(tries) == 1
        assert {type(each) for each in [*found.units, *found.takes]} == {StoreError}
        assert {type(each) for each in Executor(store, 60.0).write(units)} == {StoreError}
        assert len(tries) == 2
