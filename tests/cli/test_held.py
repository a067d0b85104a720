"""`fairlead held`: who holds what, and taking it back."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from fairlead.cli.app import run
from fairlead.errors import StaleWorkError


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Work that hangs, in the store of the commands."""
    monkeypatch.setenv("FAIRLEAD_STORE", url := f"sqlite:///{tmp_path}/q.db")
    with Store.open(url) as store:
        store.send("orders", "x", group="kim")
        yield store.take("orders")


def test_a_row_says_who_holds_it_and_for_how_long(
    work: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["held"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert " ".join(head.split()) == (
        "token queue group messages attempt held for lease over in reader"
    )
    assert row.split()[:5] == [str(work.held.token), "orders", "kim", "1", "1"]
    assert row.endswith(f"{socket.gethostname()}:{os.getpid()}")
    assert run(["held", "orders", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["group"], found["token"]) == ("kim", work.held.token)
    assert found["since"] < found["until"]
    assert found["gone"] is False


def test_a_row_says_that_its_reader_is_gone(
    work: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lock,) = tmp_path.glob("q.db-holder-*")
    lock.unlink()  # as if the system had taken it from a process that is dead
    assert run(["held"]) == 0
    assert capsys.readouterr().out.endswith(f"{socket.gethostname()}:{os.getpid()} (gone)\n")
    assert run(["held", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gone"] is True


def test_that_only_some_are_shown_is_said(work: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["held", "--most", "1"]) == 0
    assert "only the longest 1 are shown; --most N shows more" in capsys.readouterr().err


def test_what_is_taken_back_is_not_its_reader_s_any_more(
    work: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    token = str(work.held.token)
    assert run(["held", "orders", "--take-back", token, "--reason", "it hangs"]) == 0
    assert capsys.readouterr().out == "taken back: 1 group\n"
    with pytest.raises(StaleWorkError):
        work.accept()
    assert run(["held"]) == 0
    assert capsys.readouterr().out == "nothing is held\n"
    assert run(["journal", "--kind", "released"]) == 0
    assert "an operator took it back: it hangs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--take-back", "999"], "held --take-back 999: nobody holds work with this token"),
        (["orders", "--take-back", "-1"], "--take-back: found -1, allowed: an integer from 0"),
        (["--failed"], "held: found --failed or --reason alone, allowed: with --take-back"),
        (["order"], "order"),
    ],
)
def test_what_cannot_be_done_is_refused(
    work: Any, more: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["held", *more]) == 2
    assert why in capsys.readouterr().err
    work.accept()


def test_of_several_all_are_there_or_nothing_is_done(work: Any) -> None:
    assert run(["held", "--take-back", str(work.held.token), "--take-back", "999"]) == 2
    work.accept()
