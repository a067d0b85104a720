"""A standard output that is unread, full or closed: what is done, and what the status says."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import MAIN
from tests.stores import made_url

from fairlead import Store
from fairlead.cli.app import commands, run

CLUSTER = """
policy = "weighted"
[[destination]]
name = "a"
readers = 1
[[destination]]
name = "b"
readers = 1
"""
DECLARED = """
[[queue]]
name = "declared"
[[schedule]]
name = "nightly"
queue = "declared"
cron = "0 3 * * *"
"""
HUNG = "2"
"""The token of what a reader holds."""
ACTS = {
    "send": ("send", "q", "more"),
    "promote": ("promote", "q", "g3", "--yes"),
    "promote as JSON": ("promote", "q", "g3", "--yes", "--json"),
    "dead --retry-all": ("dead", "lost", "--retry-all"),
    "dead --drop-all": ("dead", "lost", "--drop-all"),
    "declare": ("declare", "again.toml"),
    "switch": ("switch", "q", "off"),
    "purge": ("purge", "q", "--yes"),
    "delete-queue": ("delete-queue", "lost", "--purge", "--yes"),
    "held --take-back": ("held", "hung", "--take-back", HUNG),
    "schedules --pause": ("schedules", "nightly", "--pause"),
    "schedules --drop": ("schedules", "nightly", "--drop"),
    "machines load": ("machines", "load", "other.toml"),
    "machines add": ("machines", "add", "pool", "c"),
    "machines remove": ("machines", "remove", "pool", "a"),
    "machines set": ("machines", "set", "pool", "a", "enabled=false"),
    "machines weight": ("machines", "weight", "pool", "a", "7"),
    "machines enable": ("machines", "enable", "pool", "b"),
    "machines disable": ("machines", "disable", "pool", "a"),
    "machines drain": ("machines", "drain", "pool", "a"),
    "machines reset": ("machines", "reset", "pool"),
    "machines next": ("machines", "next", "pool"),
    "store prune": ("store", "prune", "--keep", "0"),
    "store retention": ("store", "retention", "5"),
    "store recover": ("store", "recover"),
    "store check": ("store", "check", "--repair"),
    "store init": ("store", "init"),
    "store upgrade": ("store", "upgrade"),
    "users add": ("users", "add", "users.toml", "kim"),
    "users remove": ("users", "remove", "users.toml", "old"),
    "users check": ("users", "check", "users.toml", "old"),
    "users role": ("users", "role", "users.toml", "old", "operator"),
    "dispatch": (
        "dispatch",
        "m.csv",
        "-c",
        "pool.toml",
        "-o",
        "new",
        "--engine",
        "memory",
        "--no-report",
    ),
    "dispatch --fail-if": (
        *("dispatch", "m.csv", "-c", "pool.toml", "-o", "new", "--engine", "memory", "--no-report"),
        *("--fail-if", "rejected < 1"),
    ),
    "replay": (
        "replay",
        "m.csv",
        "-c",
        "pool.toml",
        "-o",
        "new",
        "--engine",
        "memory",
        "--no-report",
    ),
    "recommend": (
        *(
            "recommend",
            "m.csv",
            "-c",
            "pool.toml",
            "-o",
            "new",
            "--no-report",
            "--target",
            "max_wait < 1h",
        ),
        *("--vary", "readers of each * 1..2"),
    ),
    "diff": ("diff", "run", "run", "-o", "new", "--engine", "memory", "--fail-if", "moved < 1"),
}
"""What acts, or judges."""
LOOKS = {
    "queues": ("queues",),
    "metrics": ("metrics",),
    "waiting": ("waiting", "q"),
    "held": ("held", "hung"),
    "dead": ("dead", "lost"),
    "journal": ("journal",),
    "peek": ("peek", "q"),
    "top": ("top", "--once"),
    "schedules": ("schedules",),
    "conversations": ("conversations",),
    "machines list": ("machines", "list"),
    "check": ("check", "pool.toml"),
    "policies": ("policies",),
    "users list": ("users", "list", "users.toml"),
    "explain": ("explain", "--cluster", "pool.toml", "--message", "type=x"),
    "help": ("--help",),
}
ELSEWHERE = {
    "channels",
    "queue-manager",
    "console",
    "take",
    "work",
    "serve",
    "forward",
    "device",
    "endpoints",
    "demo",
    "whatif",
    "conversation",
    "services",
    "store roles",
}
"""Tested below or with their rooms: they go on for long, or need more than a store."""


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files and a store in which each command has something to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRLEAD_STORE", "sqlite:///work.db")
    for name in ("pool", "other"):
        Path(f"{name}.toml").write_text(CLUSTER)
    Path("declared.toml").write_text(DECLARED)
    Path("again.toml").write_text('[[queue]]\nname = "new"\n')
    Path("m.csv").write_text("id,time,service_time\n" + "".join(f"m{k},{k},1\n" for k in range(90)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a long secret\n")))
    assert run(["users", "add", "users.toml", "old"]) == 0
    assert (
        run(
            (
                "dispatch",
                "m.csv",
                "-c",
                "pool.toml",
                "-o",
                "run",
                "--engine",
                "memory",
                "--no-report",
            )
        )
        == 0
    )
    with Store.open("sqlite:///work.db") as store:
        store.send("hung", "x", group="kim")
        hung = store.take("hung", lease=3600)
        assert hung is not None
        assert str(hung.held.token) == HUNG
        store.send_many("q", [{"body": k, "group": f"g{k}"} for k in range(9)])
        store.set_order("lost", max_failures=1)
        store.send_many("lost", [{"body": k} for k in range(3)])
        for _ in range(3):
            work = store.take("lost")
            assert work is not None
            next(work)
            work.reject("for the test")
        store.declare("declared.toml")
        store.load_clusters("pool.toml")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a long secret\n")))
    return tmp_path


def state() -> list[Any]:
    """What can be seen of the store and of the folder, but for times."""
    with Store.open("sqlite:///work.db") as store:
        return [
            [
                (each.queue, each.messages, each.ready, each.working, each.dead, each.enabled)
                for each in store.queues()
            ],
            [(each.kind, each.queue, each.cluster, each.group) for each in store.journal()],
            [(each.name, each.paused) for each in store.schedules()],
            [(store.pool(each).choices, store.pool(each).machines) for each in store.clusters()],
            [each.group for each in store.waiting("q").ranks],
            store.retention(),
            sorted(str(each) for each in Path("new").rglob("*") if each.suffix != ".parquet"),
            "kim" in Path("users.toml").read_text(),
            "old" in Path("users.toml").read_text(),
        ]


def unread() -> Any:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def full() -> Any:
    return open("/dev/full", "w")  # noqa: PTH123


OUTPUTS = [
    pytest.param(unread, id="unread"),
    pytest.param(full, id="full"),
]


def run_with(output: Any, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        status = run(arguments)
    if output is not None:
        output.close()  # what was held back would fail here
    return status


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", ACTS)
def test_what_acts_does_all_and_says_so_by_its_status(
    name: str,
    output: Callable[[], Any],
    prepared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before = tmp_path_factory.mktemp("before") / "copy"
    shutil.copytree(prepared, before)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a long secret\n")))
    status = run(ACTS[name])
    assert status != 2
    after = state()
    monkeypatch.chdir(before)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a long secret\n")))
    capfd.readouterr()
    assert run_with(output(), ACTS[name], monkeypatch) == status
    assert state() == after
    said = [each for each in capfd.readouterr().err.splitlines() if "stdout" in each]
    assert [each for each in said if "what was asked is done" not in each] == []
    assert len(said) == (output is full)


def test_a_closed_output_is_no_reason_not_to_act(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert run_with(None, ACTS["send"], monkeypatch) == 0
    assert run_with(None, ACTS["diff"], monkeypatch) == 3
    assert "stdout" not in capfd.readouterr().err
    with Store.open("sqlite:///work.db") as store:
        assert max(each.messages for each in store.queues()) == 10


@pytest.mark.parametrize("name", LOOKS)
def test_what_only_looks_ends_where_it_is_not_read_and_refuses_what_takes_nothing(
    name: str, prepared: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(LOOKS[name]) == 0
    printed = capfd.readouterr().out
    assert run_with(unread(), LOOKS[name], monkeypatch) == 0
    assert capfd.readouterr().err == ""
    if printed:
        for output, why in ((full(), "No space left on device"), (None, "it closed")):
            assert run_with(output, LOOKS[name], monkeypatch) == 2
            assert capfd.readouterr().err == (
                f"fairlead: stdout: found {why}, allowed: one that is open and has room, as "
                ">/dev/null is\n"
            )


@pytest.mark.parametrize("output", [unread, full])
def test_what_is_taken_and_cannot_be_printed_is_released_without_blame(
    output: Callable[[], Any],
    prepared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_with(output(), ("take", "q"), monkeypatch) == 4
    assert "; the group was released" in capfd.readouterr().err
    with Store.open("sqlite:///work.db") as store:
        (found,) = [each for each in store.queues() if each.queue == "q"]
    assert (found.ready, found.failures) == (9, 0)


def test_every_command_is_here() -> None:
    def names(command: Any, before: str = "") -> Iterator[str]:
        for name, each in command.commands.items():
            if hasattr(each, "commands"):
                yield from names(each, f"{before}{name} ")
            else:
                yield f"{before}{name}"

    here = {" ".join(each[:n]) for each in (*ACTS.values(), *LOOKS.values()) for n in (1, 2)}
    assert set(names(commands())) - here - ELSEWHERE == set()


def test_files_that_are_opened_get_no_number_of_a_standard_file(tmp_path: Path) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.send("q", "x")
    line = f"exec {sys.executable} -c '{MAIN}' take q --exec 'echo printed; echo said >&2' <&- 2>&-"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"FAIRLEAD_STORE": url},
    )
    assert (done.returncode, done.stdout) == (0, "printed\n")
    with Store.open(url) as store:
        assert store.queues()[0].messages == 0
