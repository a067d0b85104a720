"""`fairlead purge` and `fairlead delete-queue`: what goes, what stays, and what is asked before."""

import sys
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.cli.app import run
from fairlead.cli.store import purging

URL = "sqlite:///work.db"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRLEAD_STORE", URL)
    with Store.open(URL) as found:
        found.send_many("orders", [{"body": k, "group": f"g{k % 3}"} for k in range(9)])


def waits() -> dict[str, int]:
    with Store.open(URL) as found:
        return {each.queue: each.messages for each in found.queues()}


def test_it_says_how_much_went_and_what_stays(capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(URL) as found:
        work = found.take("orders", group="g0")
        assert work is not None
        assert run(["purge", "orders", "--group", "g1"]) == 0
        assert capsys.readouterr().out == "deleted: 3 messages\n"
        assert run(["purge", "orders", "--reason", "sent twice"]) == 0
        assert capsys.readouterr().out == (
            "deleted: 3 messages\nin the hands of readers, and still there: 3 messages\n"
        )
        assert run(["delete-queue", "orders", "--purge"]) == 2
        assert "1 group in the hands of readers" in capsys.readouterr().err
        list(work)
        work.accept()
    assert run(["delete-queue", "orders"]) == 0
    assert capsys.readouterr().out == "deleted: orders\n"
    assert waits() == {}


def test_on_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert run(["purge", "orders"]) == 0
    assert run(["delete-queue", "orders", "--purge"]) == 0
    assert waits() == {"orders": 9}
    assert run(["purge", "orders", "--yes"]) == 0
    assert waits() == {"orders": 0}


def test_a_long_one_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(purging, "EVERY", 0.0)
    assert run(["purge", "orders"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "deleted so far: 9 messages"


@pytest.mark.parametrize("verb", ["purge", "delete-queue"])
def test_a_queue_that_is_not_there_is_a_mistake(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "order"]) == 2
    assert "found 'order', allowed: orders" in capsys.readouterr().err
