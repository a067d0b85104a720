"""A cluster of a store in place of MESSAGES: as its export would be, without one."""

import json
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.cli.commands import Command
from tests.cli.shell import Shell
from tests.store.roles import store_with_roles
from tests.stores import Clock

from fairlead import Event, Store
from fairlead.cli.recorded import line_of

POOL = """
name = "pool"
policy = "weighted"
[[destination]]
name = "a"
queue = "a"
weight = 2
[[destination]]
name = "b"
queue = "b"
[[destination]]
name = "c"
queue = "c"
"""
CLUSTER = ("--of", "pool")
EXPORT = ("pool.jsonl", "--changes", "changes.jsonl")
MEMORY = ("--engine", "memory", "--no-report")
OTHER = POOL.replace("weight = 2", "weight = 1")


@pytest.fixture
def recorded(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A store that has decided, published, finished and been changed, and its export."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    Path("temporary").mkdir()
    Path("pool.toml").write_text(POOL)
    Path("other.toml").write_text(OTHER)
    clock = Clock(time.time() // 1 - 86_400)
    with Store.open(shell.url, clock=clock) as store:
        store.load_clusters("pool.toml")
        for k in range(60):
            clock.now += 1
            store.publish("pool", {"n": k}, id=f"m{k}", group=f"g{k % 3}")
            clock.now += 0.125  # what is of one time is decided on in the order of the ids
            if k == 4:
                store.change("pool", "b", "enabled", False)
            if k == 7:
                clock.now += 0.125  # by their times a table knows what came first
                store.add_destination("pool", {"name": "d", "weight": 3, "queue": "d"})
                clock.now += 0.125
                store.next_destination("pool", group="g9")
            for queue in "abcd":
                if k > 2 and (work := store.take(queue)) is not None:
                    clock.now += 0.25
                    with work:
                        assert [*work]
    export(shell)
    return shell


def export(shell: Shell, *more: str) -> None:
    """Write what `fairlead journal` prints of the cluster."""
    of = ("journal", "--cluster", "pool")
    Path("pool.jsonl").write_text(shell.ok(*of, "--decisions", *more))
    Path("changes.jsonl").write_text(shell.ok(*of, "--changes"))
    Path("export").mkdir(exist_ok=True)
    Path("export/pool.toml").write_text(shell.ok(*of, "--file"))


def results(folder: str) -> dict[str, object]:
    """What a run has found, and all its decisions."""
    out = Path(folder)
    rows = [
        json.loads(line)
        for file in sorted(out.rglob("*.json"))
        if "decisions" in file.parts
        for line in file.read_text().splitlines()
    ]
    (found,) = [
        json.loads(file.read_text())
        for name in ("summary.json", "comparison.json", "recommendation.json")
        if (file := out / name).exists()
    ]
    return {"rows": rows, "found": found | {"seconds": 0}}


def assert_nothing_is_left() -> None:
    assert [*Path("temporary").glob(".*")] == []


@pytest.mark.parametrize("cluster", ["export/pool.toml", "other.toml"])
def test_dispatch_of_a_store_is_that_of_its_export(recorded: Shell, cluster: str) -> None:
    count = len(Path("changes.jsonl").read_text().splitlines())
    said = f"changes: {count}, those of the journal; --changes none leaves them out\n"
    assert count
    assert "service_time" in Path("pool.jsonl").read_text()
    if cluster == "other.toml":
        Path(cluster).write_text(Path("export/pool.toml").read_text().replace("= 2", "= 1"))
    tail = ("--format", "json", *MEMORY)
    expected = recorded.ok("dispatch", *EXPORT, "-c", cluster, "-o", "one", *tail, said="read")
    own = () if cluster == "export/pool.toml" else ("-c", cluster)
    found = recorded.ok("dispatch", *CLUSTER, *own, "-o", "two", *tail, said=said)
    assert found == expected.replace("one", "two")
    assert results("one")["rows"]
    assert results("two") == results("one")
    assert_nothing_is_left()


def test_replay_and_recommend_of_a_store_are_those_of_its_export(recorded: Shell) -> None:
    for name, more in {
        "replay": ("--format", "json"),
        "recommend": ("--target", "max_wait < 1h", "--vary", "readers of each * 1..2"),
    }.items():
        engine = MEMORY if name == "replay" else ("--no-report",)
        tail = (*more, *engine)
        expected = recorded.ok(
            name, *EXPORT, "-c", "export/pool.toml", "-o", f"{name}-1", *tail, said="read"
        )
        found = recorded.ok(name, *CLUSTER, "-o", f"{name}-2", *tail, said="changes: ")
        assert found.replace(f"{name}-2", f"{name}-1") == expected
    assert_nothing_is_left()


def test_a_diff_with_what_a_store_decided(recorded: Shell) -> None:
    recorded.ok("dispatch", *CLUSTER, "--changes", "none", "-o", "anew", *MEMORY, said="read")
    expected = recorded.ok("diff", "pool.jsonl", "anew", "--engine", "memory", said="compare")
    found = recorded.ok("diff", "anew", *CLUSTER, "--engine", "memory", said="compare")
    server = recorded.url.startswith("postgresql")
    called = recorded.store.place if server else recorded.url
    lines = found.splitlines()[2:]
    assert lines == expected.splitlines()[2:]
    assert "moved: 0 of" not in found
    assert f"61 in cluster 'pool' of {called}" in found
    assert_nothing_is_left()


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_the_same(recorded: Shell) -> None:
    tail = ("-o", "two", "--format", "json", "--no-report")
    recorded.ok("dispatch", *EXPORT, "-c", "export/pool.toml", "-o", "one", *MEMORY, said="read")
    recorded.ok("dispatch", *CLUSTER, *tail, said="changes: ")
    one, two = (json.loads(Path(out, "summary.json").read_text()) for out in ("one", "two"))
    assert two["digest"] == one["digest"]
    found = recorded.ok("diff", "two", *CLUSTER, said="compare")
    assert "moved: 0 of" in found
    assert_nothing_is_left()


def test_a_time_from_which_and_until_which(recorded: Shell) -> None:
    events = [*recorded.store.journal(kind="decided")]
    middle = events[6].cursor
    export(recorded, "--since", middle)
    tail = ("--format", "json", *MEMORY)
    recorded.ok("dispatch", *EXPORT, "-c", "export/pool.toml", "-o", "one", *tail, said="read")
    recorded.ok("dispatch", *CLUSTER, "--since", middle, "-o", "two", *tail, said="changes")
    assert len(results("two")["rows"]) == len(events) - 7  # type: ignore[arg-type]
    assert results("two") == results("one")
    until = ("--until", str(events[3].time))
    recorded.ok("dispatch", *CLUSTER, *until, "-o", "three", *tail, said="changes")
    assert len(results("three")["rows"]) == 3  # type: ignore[arg-type]


def test_what_is_read_is_of_one_moment(recorded: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = ("--format", "json", *MEMORY)
    recorded.ok("dispatch", *EXPORT, "-c", "export/pool.toml", "-o", "one", *tail, said="read")
    journal = Store.journal

    def changed_before(store: Store, *which: Any, **more: Any) -> Iterator[Event]:
        with Store.open(recorded.url) as other:
            other.change("pool", "c", "weight", 1 + len([*journal(other)]))
            other.publish("pool", "more")
        return journal(store, *which, **more)

    monkeypatch.setattr(Store, "journal", changed_before)
    recorded.ok("dispatch", *CLUSTER, "-o", "two", *tail, said="changes: ")
    assert results("two") == results("one")
    assert len([*journal(recorded.store, kind="decided")]) > 61


def set_version(url: str, change: int) -> None:
    """Make the schema one of another version, or of this one again."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            file.execute("UPDATE fairlead_schema SET version = version + ?", (change,))
    else:
        with psycopg.connect(url) as server:
            server.execute("UPDATE fairlead.schema SET version = version + %s", (change,))


def test_a_schema_of_a_newer_version_is_refused(recorded: Shell) -> None:
    set_version(recorded.url, 1)
    try:
        assert recorded.run("dispatch", *CLUSTER, "-o", "new", *MEMORY) == 2
    finally:
        set_version(recorded.url, -1)
    assert re.fullmatch(r"fairlead: .+: found version \d+ of the schema, .+\n", recorded.err)
    assert_nothing_is_left()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("pool.jsonl", *CLUSTER), "MESSAGES: found 'pool.jsonl' with --of, allowed: one of them"),
        (("--store", "sqlite:///x.db"), "--store: found without --of, allowed: with --of CLUSTER"),
        (("--since", "1d"), "--since: found without --of, allowed: with --of CLUSTER"),
        ((), "Missing argument 'MESSAGES', or --of CLUSTER of a --store."),
        (("pool.jsonl",), "Missing option '--cluster' / '-c'."),
        ((*CLUSTER, "--number-rows"), "--number-rows: found with --of, allowed: without it"),
        ((*CLUSTER, "--until", "x"), "--until: found 'x', allowed: HH:MM"),
        ((*CLUSTER, "--since", "1s", "--until", "2020-01-01"), "found no decision of that time"),
        (("--of", "none"), "cluster: found 'none', allowed: pool"),
        ((*CLUSTER, "--store", "sqlite:///none.db"), "none.db: found no file, allowed: one that"),
        ((*CLUSTER, "--store", "mysql://x"), "store: found 'mysql', allowed: sqlite:///FILE"),
    ],
)
def test_what_is_refused(recorded: Shell, given: tuple[str, ...], line: str) -> None:
    for out in (("dispatch", "-o", "new", *MEMORY), ("replay", "-o", "new", *MEMORY)):
        assert recorded.run(out[0], *given, *out[1:]) == 2
        assert recorded.err.count("\n") == 1
        assert line in recorded.err
    assert not Path("new").exists()
    assert_nothing_is_left()


def test_diff_refuses_two_runs_and_a_store(recorded: Shell) -> None:
    assert recorded.run("diff", "one", "two", *CLUSTER) == 2
    assert recorded.err == "fairlead: OUT_A: found 'one' with --of, allowed: one of them\n"
    assert recorded.run("diff", "one") == 2
    assert recorded.err == "fairlead: Missing argument 'OUT_B', or --of CLUSTER of a --store.\n"


def test_spark_elsewhere_is_refused(recorded: Shell) -> None:
    given = ("dispatch", *CLUSTER, "-o", "new", "--master", "spark://host:7077")
    assert recorded.run(*given) == 2
    assert "--of: found with Spark at spark://host:7077, allowed: Spark on this" in recorded.err


def test_a_role_that_may_not_read_is_told_which_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    url = store_with_roles()
    shell = Shell(url("owner"), capfdbinary)
    shell.store.next_destination("tickets")
    given = ("dispatch", "--of", "tickets", "-o", "new", *MEMORY)
    assert shell.run(*given, "--store", url("sender")) == 2
    assert shell.err.count("\n") == 1
    assert "permission denied: user 'sender_user' may not do this, it takes the role" in shell.err
    shell.ok(*given, "--store", url("viewer"), said="read")
    shell.store.close()


def test_a_password_is_shown_nowhere(recorded: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(recorded.url)
    if parts.scheme == "sqlite":
        return  # a file has no password
    secret = parts._replace(netloc=f"postgres:s3cret@{parts.netloc.rpartition('@')[2]}").geturl()
    monkeypatch.setenv("FAIRLEAD_STORE", "sqlite:///none.db")
    engine = ("--engine", "memory")
    recorded.ok("dispatch", *CLUSTER, "-o", "new", "--store", secret, *engine, said="read")
    assert "s3cret" not in recorded.out + recorded.err
    recorded.ok("replay", *CLUSTER, "-o", "again", f"--store={secret}", *engine, said="read")
    written = [file.read_text() for out in ("new", "again") for file in Path(out).rglob("*.[hj]*")]
    assert sum("postgresql://postgres@" in text for text in written) >= 2
    assert not any("s3cret" in text for text in written)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "--store=postgresql://me:s3cret@h/d?password=s3cret&a=b",
            "'--store=postgresql://me@h/d?a=b'",
        ),
        ("s3a://key:s3cret@bucket/messages", "s3a://key@bucket/messages"),
        ("postgres://me@h:5432/d", "postgres://me@h:5432/d"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("id=concat(a, ':', b, '@')", "\"id=concat(a, ':', b, '@')\""),
        ("http://[a:s@b", "'http://[a:s@b'"),
    ],
)
def test_a_line_shows_no_password_of_any_url(given: str, shown: str) -> None:
    assert line_of([given]) == f"fairlead {shown}"


@pytest.mark.costly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_command_that_was_stopped(
    recorded: Shell, tmp_path: Path, number: signal.Signals
) -> None:
    def begun(command: Command) -> bool:
        return any(command.temporary.glob(".fairlead-recorded.*/pool.toml"))

    given = ("dispatch", *CLUSTER, "-o", "new", "--no-report")
    with Command(tmp_path, *given, FAIRLEAD_STORE=recorded.url) as command:
        command.until(begun)
        command.process.send_signal(number)
        assert command.ended() in (-number, 128 + number)
    if number == signal.SIGTERM:
        assert command.said()[-1] == "fairlead: stopped; nothing was delivered"
    else:
        assert any(command.temporary.glob(".fairlead-recorded.*"))
        recorded.ok("dispatch", *CLUSTER, "-o", "new", *MEMORY, said="read")
    assert not any(command.temporary.glob(".fairlead-recorded.*"))


def test_whatif_replays_it_first(recorded: Shell) -> None:
    expected = whatif_of_late_groups(recorded, "--engine", "memory")
    assert re.match("late11: [12] messages? would start sooner", expected)
    assert not [*Path("temporary").rglob("replayed*")]


@pytest.mark.slow
@pytest.mark.spark
def test_whatif_replays_it_on_spark(recorded: Shell) -> None:
    whatif_of_late_groups(recorded)


def whatif_of_late_groups(recorded: Shell, *engine: str) -> str:
    """What the command printed, which is what it prints of the same messages in a file."""
    clock = Clock(time.time() // 1 - 3_600)
    with Store.open(recorded.url, clock=clock) as store:  # what has to wait
        for k in range(24):
            clock.now += 0.125
            store.publish("pool", k, id=f"late{k}", group=f"late{k % 12}")
        for queue in "abcd":
            while (work := store.take(queue)) is not None:
                with work:
                    clock.now += 4
                    assert [*work]
    export(recorded)
    own = Path("export/pool.toml").read_text()
    Path("ranked.toml").write_text('order = {discipline = "priority"}\n' + own)
    of = (*CLUSTER, "--store", recorded.url)
    rows = [json.loads(line) for line in Path("pool.jsonl").read_text().splitlines()]
    names = ("id", "time", "group", "service_time")
    lines = [json.dumps({name: row.get(name) for name in names}) for row in rows]
    Path("plain.jsonl").write_text("\n".join(lines))
    plain = ("plain.jsonl", "-c", "ranked.toml", "--changes", "changes.jsonl", "-o", "replayed")
    assert recorded.run("replay", *plain, *MEMORY) == 0, recorded.err
    at = next(row["time"] for row in rows if row["id"] == "late23")
    asked = ("--promote", "late11", "--at", str(at))
    in_memory = (*asked, "--engine", "memory")
    assert recorded.run("whatif", "replayed/ranked", *in_memory) == 0, recorded.err
    expected = recorded.out
    assert recorded.run("whatif", *of, "-c", "ranked.toml", *asked, *engine) == 0, recorded.err
    assert "changes: 2, those of the journal" in recorded.err
    assert recorded.out == expected
    return expected


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["replayed"], "OUT: found 'replayed' with --of, allowed: one of them"),
        (["-c", "other.toml", "--changes", "none"], "order"),
    ],
)
def test_whatif_refuses_before_it_replays(more: list[str], line: str, recorded: Shell) -> None:
    of = (*CLUSTER, "--store", recorded.url, "--promote", "g1", "--at", "0", *MEMORY[:2])
    assert recorded.run("whatif", *of, *more) == 2, recorded.err
    assert line in recorded.err
    assert "Traceback" not in recorded.err


def test_whatif_without_a_store_needs_a_folder(recorded: Shell) -> None:
    asked = ("--promote", "g1", "--at", "0", *MEMORY[:2])
    assert recorded.run("whatif", *asked) == 2
    assert "Missing argument 'OUT', or --of CLUSTER of a --store." in recorded.err
    assert recorded.run("whatif", "replayed", *asked, "--since", "1h") == 2
    assert "--since: found without --of, allowed: with --of CLUSTER" in recorded.err
    assert recorded.run("whatif", "replayed", *asked, "-c", "pool.toml") == 2
    assert "--cluster: found without --of, allowed: with --of CLUSTER" in recorded.err
