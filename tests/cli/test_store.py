"""The store's commands: what they print, what they do, and their exit status."""

import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import MAIN, Command
from tests.cli.shell import Shell
from tests.stores import made_url

from fairlead import Service, Store
from fairlead.cli.app import run
from fairlead.errors import ConfigError, MessageError
from fairlead.store.database.statements import migrations

SHOP = Service("Shop")
VERSION = len(migrations("sqlite"))
CUT = "only the first 1 are shown"


def typed(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> None:
    """What the input of the next command is."""
    raw = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))


def test_what_is_sent_is_taken_in_order(shell: Shell) -> None:
    assert shell.ok("send", "orders", "one", "--group", "a", "--id", "m1") == "m1\n"
    shell.ok("send", "orders", "two", "--group", "b", "--priority", "200")
    shell.ok("send", "orders", "three", "--group", "a", "--type", "last")
    assert shell.ok("peek", "orders") == "two\n"
    assert shell.ok("peek", "orders", "--group", "a", "--most", "1", said=CUT) == "one\n"
    assert shell.ok("take", "orders") == "two\n"
    first, last = shell.rows("take", "orders")
    assert (first["id"], first["body"], first["type"]) == ("m1", "one", None)
    assert (last["group"], last["body"], last["type"]) == ("a", "three", "last")
    assert shell.run("take", "orders") == 3
    assert (shell.out, shell.err) == ("", "")


def test_a_body_comes_from_the_input_as_it_is(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"\xff\x00")
    shell.ok("send", "q", "-")
    typed(monkeypatch, "ä\nb")
    shell.ok("send", "q", "-")
    (row,) = shell.rows("peek", "q")
    assert row["encoding"] == "base64"
    assert base64.b64decode(row["body"]) == b"\xff\x00"
    shell.ok("take", "q")
    assert shell.raw == b"\xff\x00\n"
    assert shell.ok("take", "q") == "ä\nb\n"


def test_lines_are_messages_all_or_none(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, '{"body": {"x": 1}, "id": "1"}\n\n{"body": "t", "id": "2", "group": "h"}\n')
    assert shell.ok("send", "q", "--lines", "--group", "g") == "1\n2\n"
    assert [work["group"] for work in shell.rows("waiting", "q")] == ["g", "h"]
    typed(monkeypatch, '{"body": 1}\n[2]\n')
    assert shell.run("send", "q", "--lines") == 2
    assert "line 2: found [2], allowed: an object with body" in shell.err
    assert shell.store.queues()[0].messages == 2


def test_what_a_command_did_before_it_failed_is_done(shell: Shell) -> None:
    for body in ("a", "b", "c"):
        shell.ok("send", "q", body, "--group", "g")
    assert shell.run("take", "q", "--exec", "grep -qv b") == 4
    assert [message["body"] for message in shell.rows("peek", "q")] == ["b", "c"]


def test_a_command_accepts_or_releases_what_it_is_given(shell: Shell, tmp_path: Path) -> None:
    for body in ("a", "b"):
        shell.ok("send", "q", body, "--group", "g")
    place = tmp_path / "seen"
    said = f'{{ cat; echo " $FAIRLEAD_GROUP $FAIRLEAD_ATTEMPT"; }} >> {place}; test -e {place}.ok'
    assert shell.run("take", "q", "--exec", said) == 4
    assert "group 'g': the command ended with status 1 at message" in shell.err
    (tmp_path / "seen.ok").touch()
    assert shell.ok("take", "q", "--exec", said) == ""
    assert place.read_text() == "a g 1\na g 2\nb g 2\n"
    assert shell.store.queues()[0].messages == 0
    assert [event.kind for event in shell.store.journal()][2:] == [
        *("taken", "released", "taken", "accepted", "accepted")
    ]


def test_a_pipe_that_is_closed_is_no_failure_of_the_messages(shell: Shell) -> None:
    shell.ok("send", "q", "x")
    reading, writing = os.pipe()
    os.close(reading)
    subprocess.run([sys.executable, "-c", MAIN, "take", "q"], stdout=writing, check=False)
    os.close(writing)
    (found,) = shell.store.queues()
    assert (found.ready, found.failures) == (1, 0)


def test_queues_say_what_they_hold(shell: Shell) -> None:
    assert shell.ok("queues") == ""
    shell.ok("send", "q", "a", "--group", "g")
    shell.ok("send", "q", "b", "--delay", "1000")
    (row,) = shell.rows("queues")
    assert (row["queue"], row["messages"], row["ready"], row["delayed"]) == ("q", 1, 1, 1)
    header, line = shell.ok("queues").splitlines()
    assert header.split()[:3] == ["queue", "messages", "ready"]
    assert line.split()[:3] == ["q", "1", "1"]


def test_a_message_without_a_group_is_called_by_its_id(shell: Shell) -> None:
    shell.ok("send", "q", "card 4711", "--id", "m1")
    shell.ok("send", "q", "b", "--group", "g")
    lines = shell.ok("waiting", "q").splitlines()
    assert lines[2].split()[-3:] == ["m1", "card", "4711"]
    assert lines[4].startswith("message m1 before g: ")
    assert next(row["id"] for row in shell.rows("waiting", "q")) == "m1"
    raised = shell.ok("promote", "q", "g", "--priority", "200", "--dry-run")
    assert "message m1" in raised
    assert "card 4711" not in raised


def test_waiting_says_place_and_reason(shell: Shell) -> None:
    shell.ok("send", "q", "a", "--group", "late")
    shell.ok("send", "q", "b", "--group", "first", "--priority", "9")
    lines = shell.ok("waiting", "q").splitlines()
    assert lines[0] == "2 waiting, 0 worked on"
    assert [line.split()[:2] for line in lines[2:4]] == [["1", "first"], ["2", "late"]]
    assert lines[4] == "first before late: first was raised, late was not"
    assert [row["place"] for row in shell.rows("waiting", "q", "--most", "1", said=CUT)] == [1]


def sent_in_order(shell: Shell, *groups: str) -> None:
    for group in groups:
        shell.store.send("q", group, group=group)


def test_promote_shows_whom_it_delays_and_does_it(shell: Shell) -> None:
    sent_in_order(shell, "a", "b", "c", "d")
    shell.ok("promote", "q", "a", "--priority", "100")
    assert shell.ok("promote", "q", "d", "--dry-run").splitlines()[:2] == [
        "d: priority 100, from place 4 to place 2",
        "later because of it: 2 groups",
    ]
    (found,) = shell.rows("promote", "q", "d", "--priority", "200", "--yes")
    assert (found["place"], found["new_place"], found["delayed"]) == (4, 1, 3)
    assert [each["group"] for each in found["later"]] == ["a", "b", "c"]
    assert [row["group"] for row in shell.rows("waiting", "q")] == ["d", "a", "b", "c"]


def test_what_moves_back_delays_nobody(shell: Shell) -> None:
    sent_in_order(shell, "a", "b", "c")
    shell.store.prioritise("q", "a", 200)
    shell.store.prioritise("q", "b", 200)
    (found,) = shell.rows("promote", "q", "a", "--priority", "100")
    assert (found["place"], found["new_place"], found["delayed"]) == (1, 2, 0)
    assert [row["group"] for row in shell.rows("waiting", "q")] == ["b", "a", "c"]


def test_only_groups_of_the_same_tenant_are_delayed(shell: Shell) -> None:
    for tenant in ("x", "y"):
        for group in ("a", "b"):
            shell.store.send("q", "", group=f"{tenant}{group}", tenant=tenant)
    (found,) = shell.rows("promote", "q", "yb", "--dry-run")
    assert (found["place"], found["new_place"], found["delayed"]) == (2, 1, 1)
    assert [each["group"] for each in found["later"]] == ["ya"]
    assert shell.ok("peek", "q") == "\n"


def test_promote_of_work_says_that_it_is_worked_on(shell: Shell) -> None:
    sent_in_order(shell, "a")
    shell.store.take("q")
    assert shell.ok("promote", "q", "a", "--priority", "7") == (
        "a: a reader holds it; what is left of it gets priority 7\n"
    )
    assert shell.run("promote", "q", "b") == 2
    assert "found no such group" in shell.err


def test_dead_letters_are_shown_and_sent_again(shell: Shell) -> None:
    for each in ("1", "2", "3"):
        shell.store.send("q", {"n": each}, id=each)
        work = shell.store.take("q")
        assert work is not None
        next(work)
        work.reject(f"no {each}")
    rows = shell.rows("dead", "q")
    assert [(row["id"], row["reason"], row["body"]) for row in rows] == [
        (each, f"no {each}", {"n": each}) for each in ("1", "2", "3")
    ]
    assert "no 2" in shell.ok("dead", "q").splitlines()[3 + 2]
    assert shell.ok("dead", "q", "--retry", "2") == "sent again: 1 message\n"
    assert shell.ok("take", "q") == '{"n": "2"}\n'
    assert shell.run("dead", "q", "--retry", "2") == 2
    assert shell.ok("dead", "q", "--retry-all") == "sent again: 2 messages\n"
    assert shell.ok("dead", "q") == ""


def test_all_dead_letters_are_sent_again_in_several_steps(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", 2)
    shell.store.send_many("q", [{"body": ""}] * 5)
    for work in shell.store.take_many("q", 5):
        next(work)
        work.reject()
    assert shell.ok("dead", "q", "--retry-all") == "sent again: 5 messages\n"


def test_the_journal_goes_on_after_a_cursor(shell: Shell) -> None:
    sent_in_order(shell, "a")
    shell.store.send("other", "")
    first, second = map(json.loads, shell.ok("journal").splitlines())
    assert (first["kind"], first["queue"], second["queue"]) == ("sent", "q", "other")
    assert json.loads(shell.ok("journal", "--since", first["cursor"])) == second
    assert json.loads(shell.ok("journal", "--queue", "q")) == first
    assert shell.store.latest() == second["cursor"]


def test_top_counts_between_two_looks(shell: Shell) -> None:
    sent_in_order(shell, "a", "b")
    header, line = shell.ok("top", "--once", "--interval", "0.1").splitlines()
    assert header.split()[-2:] == ["sent/s", "accepted/s"]
    assert line.split()[-2:] == ["0.0", "0.0"]
    (row,) = shell.rows("top", "--once", "--interval", "0.1")
    assert (row["queue"], row["ready"], row["accepted/s"]) == ("q", 2, 0)


def test_top_leaves_when_it_is_told(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send("q", "")
    with Command(tmp_path, "top", "--interval", "0.1", FAIRLEAD_STORE=url) as command:
        assert command.process.stdout is not None
        assert command.process.stdout.readline().startswith("queue ")
        command.process.send_signal(signal.SIGINT)
        assert command.ended() == 0
        assert command.said() == []


def test_upkeep_says_what_it_did(shell: Shell) -> None:
    assert shell.ok("store", "init").endswith(f"schema version {VERSION} (was there)\n")
    assert shell.ok("store", "upgrade").endswith(f"schema version {VERSION} (was there)\n")
    sent_in_order(shell, "a")
    shell.store.take("q")
    assert shell.ok("store", "recover").endswith(": taken back: 1 group\n")
    assert shell.ok("store", "prune", "--keep", "0").endswith(": forgotten: 3 rows\n")
    assert shell.ok("store", "retention").endswith(": events are kept 30 days\n")
    assert shell.ok("store", "retention", "90").endswith(": events are kept 90 days\n")
    assert shell.ok("store", "retention", "0").endswith(": events are kept for ever\n")


def test_a_store_is_made_by_init_and_by_the_first_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAIRLEAD_STORE", raising=False)
    assert run(["queues"]) == 2
    assert capfd.readouterr().err == (
        f"fairlead: {tmp_path / 'fairlead.db'}: found no file, allowed: one that is there; "
        "`fairlead store init` makes one\n"
    )
    for command in (["store", "upgrade"], ["work", "json:decoder"], ["declare", "x.toml"]):
        assert run(command) == 2
        assert not (tmp_path / "fairlead.db").exists()
    capfd.readouterr()
    assert run(["store", "init", "--store", "sqlite:///b.db"]) == 0
    assert capfd.readouterr().out == f"{tmp_path / 'b.db'}: schema version {VERSION} (was made)\n"
    assert run(["send", "q", "x"]) == 0
    assert (tmp_path / "fairlead.db").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["send", "q"], "send: found both or neither, allowed: BODY (- reads it), or --lines"),
        (["send", "q", "x", "--priority", "256"], "allowed: an integer from 0 to 255"),
        (["send", "q", "x", "--delay", "soon"], "delay: found 'soon'"),
        (["take", "q", "--lease", "-1"], "lease: found -1"),
        (
            ["take", "q", "--lease", "0"],
            "lease: found 0.0, allowed: a number of seconds from 0",
        ),
        (["take", "q", "--json", "--exec", "cat"], "found --exec and --json, allowed: one"),
        (["take", "orders"], "found 'orders', allowed: order; did you mean 'order'?"),
        (["journal", "--queue", "nope"], "queue: found 'nope', allowed: order"),
        (["journal", "--queue", "nope", "--messages"], "queue: found 'nope', allowed: order"),
        (["peek", "order", "--group", "zzz"], "found no group 'zzz', allowed: one that lives"),
        (["dead", "order", "--retry", "x", "--retry-all"], "found several of --retry, --retry-all"),
        (["dead", "order", "--drop", "x"], "id: found 'x', allowed: that of a dead letter"),
        (["queues", "--store", "sqlite://x.db"], "sqlite:///FILE with three slashes"),
        (["promote", "order", "nope"], "found no such group, allowed: one that lives"),
        (["declare", "not-there.toml"], "not-there.toml: "),
        (["waiting", "none"], "queue: found 'none', allowed:"),
        (["work", "os:environ", "--until-empty", "--processes", "2"], "goes with --threads"),
        (["work", "os:environ", "--check-interval", "1"], "goes with services"),
        (["work", f"{__name__}:SHOP", "--queue", "q"], "goes with functions of queues"),
        (["work", f"{__name__}:SHOP", "--threads", "1", "--processes", "1"], "one of them"),
        (
            ["work", f"{__name__}:SHOP"],
            "service: found 'Shop', allowed: none; `fairlead declare FILE`",
        ),
        (["work", "os:curdir"], "found '.', allowed: a mapping queue -> function, a Service, or"),
        (["work", "not-there.toml"], "not-there.toml: "),
        (["work", "nowhere:b"], "handlers: found no module 'nowhere'"),
        (["journal", "--since", "x"], "--since: found 'x', allowed: HH:MM, "),
        (["queues", "--store", "mysql://u:secret@h/d"], "store: found 'mysql', allowed: sqlite:"),
        (["queues", "--store", "postgresql://u:secret@nohost.invalid/d"], "nohost.invalid/d"),
    ],
)
def test_a_mistake_is_one_line_without_a_password(
    arguments: list[str],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAIRLEAD_STORE", url := made_url("sqlite"))
    with Store.open(url) as store:
        store.set_order("order")
    assert run(arguments) == 2
    err = capfd.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert "secret" not in err


def test_what_waits_for_its_time_is_shown_with_it(shell: Shell) -> None:
    sent_in_order(shell, "a", "b")
    shell.store.send("q", "c", group="a", delay=10**9, priority=7)
    for _ in range(2):
        work = shell.store.take("q")
        assert work is not None
        work.release(10**8)
    shell.ok("send", "q", "d", "--id", "lone", "--delay", "300000000")
    rows = shell.rows("waiting", "q")
    assert [(row["place"], row["why"], row["group"], row["id"]) for row in rows] == [
        (None, "released", "a", ""),
        (None, "released", "b", ""),
        (None, "delayed", "", "lone"),
        (None, "delayed", "a", "m-3"),
    ]
    assert [row["priority"] for row in rows] == [None, None, None, 7]
    lines = shell.ok("waiting", "q").splitlines()
    assert lines[:2] == ["0 waiting, 0 worked on, 2 parked, 2 delayed", "not yet:"]
    assert lines[3].split()[2:6] == ["UTC", "released", "a", "1"]
    assert [each.messages for each in shell.store.later("q", 1)] == [1]
    assert shell.ok("promote", "q", "b", "--priority", "200", "--yes").splitlines()[0] == (
        "b: priority 200, at place 1 when it can be taken"
    )


def test_dead_letters_are_deleted_and_the_journal_says_so(shell: Shell) -> None:
    for each in ("1", "2", "3"):
        shell.store.send("q", each, id=each, group="g")
        work = shell.store.take("q")
        assert work is not None
        next(work)
        work.reject(f"no {each}")
    assert shell.ok("dead", "q", "--drop", "2") == "deleted: 1 dead letter\n"
    assert [row["id"] for row in shell.rows("dead", "q")] == ["1", "3"]
    assert shell.ok("dead", "q", "--drop-all") == "deleted: 2 dead letters\n"
    assert shell.rows("dead", "q") == []
    events = [event for event in shell.store.journal() if event.kind == "discarded"]
    assert [(event.id, event.group, event.detail) for event in events] == [
        (each, "g", f"was a dead letter: no {each}") for each in ("2", "1", "3")
    ]


def test_queues_are_declared_and_show_how_they_are_set(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "queues.toml"
    file.write_text('[[queue]]\nname = "q"\nageing = 2.5\nweights = { a = 3 }\nmax_failures = 0\n')
    assert shell.ok("declare", str(file)) == "q\n"
    (row,) = shell.rows("queues")
    assert {key: row[key] for key in ("discipline", "default_priority", "ageing", "weights")} == {
        "discipline": "priority",
        "default_priority": 100,
        "ageing": 2.5,
        "weights": {"a": 3},
    }
    assert (row["max_waiting"], row["max_failures"]) == (None, None)
    assert "ageing" not in shell.ok("queues")


def test_settings_that_are_not_named_stay(shell: Shell) -> None:
    store = shell.store
    store.set_limits("q", max_waiting=7)
    store.set_limits("q", max_failures=2)
    store.set_order("q", ageing=30, weights={"a": 2})
    store.set_order("q", default_priority=9)
    store.set_order("q")
    store.set_limits("q", max_seconds=60)
    settings = attrgetter(
        *("discipline", "default_priority", "ageing", "weights"),
        *("max_waiting", "max_failures", "max_seconds", "poison", "enabled"),
    )
    set_as = ("priority", 9, 30.0, {"a": 2}, 7, 2, 60, "dead-letters", True)
    assert settings(store.queues()[0]) == set_as
    store.set_limits("q", max_waiting=None, poison="off")
    assert settings(store.queues()[0])[4:] == (None, 2, 60, "off", True)
    with pytest.raises(MessageError, match="poison: found 'on', allowed: dead-letters, off"):
        store.set_limits("q", poison="on")
    with pytest.raises(ConfigError, match=r"ageing: found 30\.0, allowed: only 0 with"):
        store.set_order("q", "fifo")
    with pytest.raises(MessageError, match=r"found the unknown key 'max_failure'.*did you mean"):
        store.set_limits("q", max_failure=2)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="weigths"):
        store.set_order("q", weigths={})  # type: ignore[call-arg]
    with pytest.raises(MessageError, match="send: found the unknown key 'colour', allowed: group"):
        store.send("q", "x", colour="red")  # type: ignore[call-arg]


def test_promote_says_why_a_queue_cannot_be_promoted_in(shell: Shell) -> None:
    sent_in_order(shell, "a")
    shell.store.set_order("q", "fifo")
    assert shell.run("promote", "q", "a") == 2
    assert "found a queue that is first come, first served" in shell.err


def test_a_reader_that_waits_for_a_queue_that_is_not_there_says_so(shell: Shell) -> None:
    shell.store.set_order("orders")
    assert shell.run("take", "order", "--wait", "0.1") == 3
    assert shell.err == (
        "fairlead: queue: found 'order', allowed: orders; did you mean 'orders'?; waiting for it\n"
    )


def test_times_in_a_reason_are_readable(shell: Shell) -> None:
    sent_in_order(shell, "a", "b")
    line = shell.ok("waiting", "q").splitlines()[-1]
    assert re.fullmatch(r"a before b: .* earlier: 20\S+ \S+ UTC < 20\S+ \S+ UTC", line), line


def test_nothing_is_taken_for_an_output_that_is_closed(shell: Shell) -> None:
    shell.ok("send", "q", "x")
    line = f"exec {sys.executable} -c '{MAIN}' take q >&-"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "stdout: found it closed" in done.stderr
    assert shell.store.queues()[0].ready == 1


def test_lines_may_be_read_from_a_dash(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, '{"body": 1, "id": "a"}\n')
    assert shell.ok("send", "q", "-", "--lines") == "a\n"


def test_a_take_that_is_interrupted_says_nothing_of_deliveries(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send("q", "x", group="g")
    options = ("take", "q", "--exec", "echo here; exec sleep 100")
    with Command(tmp_path, *options, FAIRLEAD_STORE=url) as command:
        assert command.process.stdout is not None
        assert command.process.stdout.readline() == "here\n"
        command.process.send_signal(signal.SIGINT)
        assert command.ended() == 130
        assert command.said() == ["fairlead: stopped"]
    with Store.open(url) as store:
        assert store.queues()[0].failures == 0


def test_the_end_of_a_journal_and_parts_of_it(shell: Shell) -> None:
    for k in range(30):
        shell.ok("send", "q", "x", "--group", f"g{k % 3}", "--id", f"m{k}")
    every = [json.loads(line) for line in shell.ok("journal").splitlines()]

    def journal(*more: str, said: str = "") -> list[dict[str, Any]]:
        return [json.loads(line) for line in shell.ok("journal", *more, said=said).splitlines()]

    assert journal("--last", "4") == every[-4:]
    assert journal("--last", "1000") == every
    of_group = [each for each in every if each["group"] == "g1"]
    assert journal("--group", "g1") == of_group
    assert journal("--group", "g1", "--last", "7") == of_group[-7:]
    assert [each["id"] for each in journal("--id", "m3", "--kind", "sent")] == ["m3"]
    assert journal("--kind", "rejected") == []
    assert shell.run("journal", "--kind", "dead") == 2
    assert "kind: found 'dead', allowed: accepted, " in shell.err
    (short,) = journal("--id", "m3", "--short", said="its group is 'g0'")
    (whole,) = journal("--id", "m3", said="its group is 'g0'")
    assert short == {name: value for name, value in whole.items() if value not in (None, "")}
    now = datetime.now(UTC)
    assert journal("--since", f"{now - timedelta(hours=1):%H:%M}") == every
    assert journal("--since", f"{now + timedelta(minutes=2):%H:%M}") == every  # yesterday's
    assert shell.run("journal", "--last", "3", "--since", "02:00") == 2
    assert shell.run("journal", "--last", "3", "--queue", "q", "--messages") == 2
    assert "allowed: with events" in shell.err


def test_a_decision_is_explained_from_the_store_of_the_environment(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "pool.toml").write_text('policy = "weighted"\n[[destination]]\nname = "a"\n')
    shell.ok("machines", "load", str(tmp_path / "pool.toml"))
    shell.ok("machines", "next", "pool")
    asked = ("explain", "pool", "--id", "pool/0")
    assert shell.ok(*asked) == shell.ok(*asked, "--store", shell.url)
