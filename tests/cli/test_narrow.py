"""Tables on a narrow terminal: numbers stay whole, names are cut in the middle."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from fairlead import Store
from fairlead.cli import show
from fairlead.cli.app import run

ROWS = [
    {"queue": "reports-of-the-night-shift", "messages": "993,061", "dead": "0", "age": "33.4 min"},
    {"queue": "jobs", "messages": "7", "dead": "0", "age": "2 s"},
]
NUMBERS = ("messages", "dead", "age")


def on_terminal(width: int, monkeypatch: pytest.MonkeyPatch, rows: Any = ROWS) -> list[str]:
    to = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False, _environ={})
    monkeypatch.setattr(show, "console", lambda: to)
    show.print_table(to, show.filled(rows, NUMBERS))
    assert isinstance(to.file, io.StringIO)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", to.file.getvalue())
    return [line.rstrip() for line in plain.splitlines()]


@pytest.mark.parametrize("width", range(24, 60))
def test_numbers_are_whole_and_each_row_has_one_line(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(on_terminal(width, monkeypatch))
    assert "993,061" in text or "no room for: " in text
    assert sum(each.lstrip().startswith(("report", "jobs")) for each in text.splitlines()) == 2
    assert not any(len(line) > width for line in text.splitlines() if "no room" not in line)
    assert "reports-of-the-night-shift" in text or "…" in text
    for number in ("993,061", "33.4 min"):
        assert number in text or number[:3] not in text


def test_zeros_go_before_names_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    head, first, *_ = on_terminal(50, monkeypatch)
    assert "dead" not in head
    assert "reports-of-the-night-shift" in first
    assert "dead" in on_terminal(60, monkeypatch)[0]


def test_internal_queues_are_shown_if_asked_for_or_in_trouble(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRLEAD_STORE", f"sqlite:///{tmp_path}/q.db")
    with Store.open(f"sqlite:///{tmp_path}/q.db") as store:
        store.send("jobs", "x")
        with store.transaction() as tx:
            tx.send("fairlead:book", "x")
    assert run(["queues"]) == 0
    assert "fairlead:book" not in capsys.readouterr().out
    assert run(["top", "--once", "--interval", "0.1"]) == 0
    assert "fairlead:book" not in capsys.readouterr().out
    for more in (["--all"], ["--json"]):
        assert run(["queues", *more]) == 0
        assert "fairlead:book" in capsys.readouterr().out
