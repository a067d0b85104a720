"""`fairlead schedules`, and workers that send what is due."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.stores import made_url

NIGHT = """
[[schedule]]
name = "night"
queue = "jobs"
cron = "30 2 * * *"
time_zone = "Europe/Paris"

[[schedule]]
name = "beat"
queue = "jobs"
every = 1
"""


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Shell]:
    found = Shell(made_url("sqlite"), capfdbinary)
    monkeypatch.setenv("FAIRLEAD_STORE", found.url)
    file = tmp_path / "s.toml"
    file.write_text(NIGHT, "utf-8")
    assert found.ok("declare", str(file)).split() == ["night", "beat"]
    yield found
    found.store.close()


def test_they_are_listed(shell: Shell) -> None:
    lines = shell.ok("schedules").splitlines()
    assert lines[0].split()[:3] == ["schedule", "queue", "when"]
    assert "cron '30 2 * * *'" in lines[2]
    assert "Europe/Paris" in lines[2]
    assert [(row["name"], row["paused"]) for row in shell.rows("schedules")] == [
        ("beat", False),
        ("night", False),
    ]


def test_one_that_nobody_sends_is_overdue(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlead.cli.store import schedules

    later = time.time() + 600
    monkeypatch.setattr(schedules.time, "time", lambda: later)
    (line,) = [each for each in shell.ok("schedules").splitlines() if each.startswith("beat")]
    assert re.search(r"overdue by \S+ min: no worker runs$", line), line


def test_one_whose_queue_is_full_says_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fairlead.cli.store import schedules

    (tmp_path / "full.toml").write_text("[[queue]]\nname = 'jobs'\nmax_waiting = 1\n")
    shell.ok("declare", str(tmp_path / "full.toml"))
    shell.ok("send", "jobs", "x")
    later = time.time() + 600
    monkeypatch.setattr(schedules.time, "time", lambda: later)
    (line,) = [each for each in shell.ok("schedules").splitlines() if each.startswith("beat")]
    assert re.search(r"overdue by \S+ min: its queue is full$", line), line


def test_the_next_ticks_are_shown(shell: Shell) -> None:
    lines = shell.ok("schedules", "night", "--ticks", "3").splitlines()
    assert len(lines) == 3
    assert all(line.endswith(":30 UTC") for line in lines)
    assert len(shell.rows("schedules", "night")) == 5


def test_one_is_paused_and_forgotten(shell: Shell) -> None:
    assert shell.ok("schedules", "beat", "--pause") == "beat: paused\n"
    assert shell.ok("schedules", "beat", "--pause") == "beat: already paused\n"
    assert "paused" in shell.ok("schedules")
    assert shell.ok("schedules", "beat", "--resume") == "beat: sends\n"
    assert shell.ok("schedules", "beat", "--drop") == "beat: forgotten\n"
    assert len(shell.rows("schedules")) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["--pause"], "schedules --pause: found no SCHEDULE"),
        (["--ticks", "3"], "schedules --ticks: found no SCHEDULE"),
        (["beat", "--ticks", "0"], "--ticks: found 0, allowed"),
        (["beat", "--pause", "--resume"], "found --pause and --resume, allowed: one of them"),
        (["beat", "--drop", "--ticks", "2"], "found --drop and --ticks, allowed: one of them"),
        (["beet"], "schedule: found 'beet', allowed: beat, night; did you mean 'beat'?"),
    ],
)
def test_what_is_refused(shell: Shell, line: list[str], says: str) -> None:
    assert shell.run("schedules", *line) == 2
    assert says in shell.err
    assert len(shell.err.splitlines()) == 1
    assert len(shell.rows("schedules")) == 2
