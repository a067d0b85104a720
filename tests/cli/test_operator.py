"""What commands of an operator say beside what they do: what was meant, and what is in the way."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.stores import made_url

from fairlead.cli import show
from fairlead.config.moments import moment
from fairlead.errors import UserError

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC).timestamp()
LIMITED = '[[queue]]\nname = "orders"\nlimit = [{ of = "tenant", in_work = 1 }]\n'


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Shell]:
    found = Shell(made_url("sqlite"), capfdbinary)
    monkeypatch.setenv("FAIRLEAD_STORE", found.url)
    yield found
    found.store.close()


def told(shell: Shell, *arguments: str) -> str:
    """What a command says on stderr when it did what it should."""
    assert shell.run(*arguments) == 0
    return shell.err


# moments


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("12:00", NOW - 1800),
        ("13:00", NOW - 23.5 * 3600),
        ("90s", NOW - 90),
        ("15m", NOW - 900),
        ("15min", NOW - 900),
        ("1h", NOW - 3600),
        ("2d", NOW - 2 * 86400),
        ("0s", NOW),
        ("2026-11-16T02:00", NOW - 10.5 * 3600),
        ("2026-11-16", NOW - 12.5 * 3600),
        ("1700000000.5", 1700000000.5),
    ],
)
def test_a_moment_is_named_in_several_ways(given: str, expected: float) -> None:
    assert moment("--since", given, NOW) == expected


@pytest.mark.parametrize(
    "given", ["yesterday", "-5", "5", "99999999999", "-1h", "1w", "100000d", "25:00", "", "nan"]
)
def test_what_is_no_moment_near_now_is_refused_with_what_is_allowed(given: str) -> None:
    with pytest.raises(UserError, match=r"--since: found .*allowed: HH:MM, .*15m, 1h.*1970"):
        moment("--since", given, NOW)


def test_a_number_of_seconds_that_is_to_come_is_refused() -> None:
    with pytest.raises(UserError, match="until now"):
        moment("--since", f"{time.time() + 3600:.0f}", NOW)


def test_the_journal_begins_so_long_ago(shell: Shell) -> None:
    shell.store.send("orders", "", id="m")
    assert '"m"' in shell.ok("journal", "--since", "1h")
    assert '"m"' not in shell.ok("journal", "--since", "0s")
    assert shell.run("journal", "--since", "-5") == 2
    assert "HH:MM, " in shell.err
    assert shell.err.endswith("; or an event's cursor\n")


# the journal


def test_the_journal_names_the_group_of_a_message(shell: Shell) -> None:
    shell.store.send("orders", "", id="m", group="g 1")
    shell.store.send("orders", "", id="alone")
    assert told(shell, "journal", "--id", "m") == (
        "its group is 'g 1': fairlead journal --group 'g 1' tells when it was taken and what came "
        "of it\n"
    )
    assert shell.out.count("\n") == 1
    assert told(shell, "journal", "--id", "alone") == ""
    assert told(shell, "journal", "--id", "m", "--group", "g 1") == ""


def test_the_journal_says_that_nothing_is_known_of_a_name(shell: Shell) -> None:
    shell.store.send("orders", "", id="m", group="g")
    assert told(shell, "journal", "--id", "nix") == "found no event of message 'nix'\n"
    assert told(shell, "journal", "--group", "nix") == "found no event of group 'nix'\n"
    assert told(shell, "journal", "--id", "m", "--kind", "rejected") == (
        "found no rejected event of message 'm'\n"
    )


def test_the_journal_of_whose_name_begins_so(shell: Shell) -> None:
    shell.store.send("orders", "", id="m")
    actor = shell.store.journal_back(most=1).events[0].actor
    assert '"m"' in shell.ok("journal", "--actor", actor[:3])
    assert '"m"' in shell.ok("journal", "--actor", actor, "--last", "1")
    assert told(shell, "journal", "--actor", "nobody") == "found no event of actor 'nobody'\n"
    assert shell.run("journal", "--actor", "x", "--cluster", "c", "--changes") == 2


# tenants


@pytest.mark.parametrize(
    "act", [("switch", "orders", "off"), ("switch", "orders", "on"), ("purge", "orders")]
)
def test_a_tenant_of_whom_nothing_is_there_is_said(shell: Shell, act: tuple[str, ...]) -> None:
    shell.store.send("orders", "", tenant="acme")
    assert told(shell, *act, "--tenant", "acmee") == (
        "nothing of tenant 'acmee' is in orders; did you mean 'acme'?\n"
    )
    assert told(shell, *act, "--tenant", "nobody") == "nothing of tenant 'nobody' is in orders\n"
    assert told(shell, *act, "--tenant", "acme") == ""


def test_what_was_never_off_was_on(shell: Shell) -> None:
    shell.store.send("orders", "", tenant="acme")
    assert shell.ok("switch", "orders", "on") == "orders: was on already\n"
    assert shell.ok("switch", "orders", "on", "--tenant", "acme") == (
        "tenant acme of orders: was on already\n"
    )


# words that are not known


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            ["machines", "drian", "pool", "gpu-1"],
            "found 'drian', allowed: load, list, .*mean 'drain'",
        ),
        (["machines", "undrain", "pool", "gpu-1"], "found 'undrain', .*drain CLUSTER NAME --stop"),
        (["machines", "resume", "pool", "gpu-1"], "found 'resume', allowed: [a-z, ]*$"),
        (["machines", "--json", "pool", "gpu-1"], "found 'gpu-1', allowed"),
        (["machines", "weight", "pool", "gpu-3", "10", "--dry-run"], "No such option: --dry-run"),
        (
            ["machines", "weight", "pool", "gpu-3", "10", "20"],
            "machines weight: found '20' more, allowed: C",
        ),
        (["machines", "weight", "pool", "gpu-3", "-1"], "WEIGHT: found -1, allowed"),
        (["schedules", "x", "--run"], r"No such option: --run(?!.*resume)"),
        (["schedules", "x", "--unpause"], r"No such option: --unpause(?!.*--pause)"),
        (["schedules", "x", "--resum"], r"No such option: --resum \(Possible options: --resume\)"),
    ],
)
def test_what_is_proposed_does_what_was_meant(
    shell: Shell, given: list[str], expected: str
) -> None:
    assert shell.run(*given) == 2
    assert re.search(expected, shell.err.rstrip()), shell.err


# what is in the way


def test_work_of_an_amqp_client_that_is_taken_back_comes_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairlead.store.store import Store

    shell.store.send("orders", "")
    work = shell.store.take("orders")
    assert work is not None
    (held,) = shell.store.held()
    monkeypatch.setattr(Store, "held", lambda *_, **__: [held._replace(client="hung@10.0.0.7")])
    assert told(shell, "held", "--take-back", str(held.token)) == (
        "hung@10.0.0.7 is an AMQP client that goes on taking, perhaps the same group; `[[refuse]]` "
        "in the server's file ends it: docs/how-to/serve-access.md\n"
    )
    assert shell.out == "taken back: 1 group\n"


def test_a_raise_says_what_lets_nothing_of_the_group_through(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(LIMITED, "utf-8")
    shell.ok("declare", str(tmp_path / "q.toml"))
    for group in ("a", "b"):
        shell.store.send("orders", "", group=group, tenant="acme")
    raised = ("promote", "orders", "b", "--dry-run")
    assert told(shell, *raised) == ""
    shell.store.switch("orders", on=False, reason="a flood")
    shell.store.switch("orders", on=False, tenant="acme")
    queue, tenant = told(shell, *raised).splitlines()
    assert re.fullmatch(r"orders is switched off since .* a flood.*; nothing of it goes.*", queue)
    assert tenant.startswith("tenant acme of orders is switched off since ")
    shell.store.switch("orders", on=True)
    shell.store.switch("orders", on=True, tenant="acme")
    assert shell.store.take("orders", group="a") is not None
    (limit,) = told(shell, *raised).splitlines()
    assert limit == (
        "a limit of tenant acme is reached; nothing of b goes until something is settled"
    )


def test_what_waits_for_its_time_is_counted_and_said_where_it_is_cut(shell: Shell) -> None:
    for k in range(4):
        shell.store.send("orders", "", delay=3600 + k)
    shell.store.send_many("orders", [{"body": "", "group": f"g{k}"} for k in range(3)])
    work = shell.store.take("orders", group="g0")
    assert work is not None
    work.release(delay=3600)
    assert told(shell, "waiting", "orders", "--most", "5") == ""
    assert shell.out.startswith("2 waiting, 0 worked on, 1 parked, 4 delayed\n")
    for more in ([], ["--json"]):
        cut = "only the first {} are shown; --most N shows more\n"
        assert told(shell, "waiting", "orders", "--most", "4", *more) == cut.format(4)
        assert told(shell, "waiting", "orders", "--most", "1", *more) == cut.format(1)


def test_what_waits_for_a_tenant_that_is_off_is_no_part_of_a_list_that_is_cut(shell: Shell) -> None:
    for tenant in ("north", "south"):
        shell.store.send("orders", "", group=tenant, tenant=tenant)
    shell.store.switch("orders", on=False, tenant="north")
    assert told(shell, "waiting", "orders", "--most", "1") == ""
    (row,) = shell.rows("waiting", "orders")
    assert row["group"] == "south"


def test_a_group_that_is_cut_short_says_so(shell: Shell) -> None:
    shell.store.send_many("orders", [{"body": "", "group": "g"}] * 3)
    assert told(shell, "peek", "orders", "--most", "3") == ""
    assert told(shell, "peek", "orders", "--most", "2") == (
        "only the first 2 are shown; --most N shows more\n"
    )


# numbers and narrow terminals


def test_one_look_has_the_numbers_of_the_page(shell: Shell) -> None:
    assert "\nfairlead_store_up 1\n" in shell.ok("metrics")


def test_queues_say_for_how_long_work_is_held(shell: Shell) -> None:
    shell.store.send("orders", "")
    assert "longest held" not in shell.ok("queues")
    work = shell.store.take("orders")
    assert work is not None
    assert "longest held" in shell.ok("queues")


def narrow(shell: Shell, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """The lines that a command prints on a terminal of 80 columns."""
    import io

    from rich.console import Console

    to = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False, _environ={})
    monkeypatch.setattr(show, "console", lambda: to)
    shell.ok(*arguments)
    assert isinstance(to.file, io.StringIO)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", to.file.getvalue())
    return [line.rstrip() for line in plain.splitlines()]


def test_at_80_columns_words_and_dates_of_schedules_are_whole(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        "".join(
            f'[[schedule]]\nname = "{name}-report-of-the-night"\nqueue = "reports-of-the-night"\n'
            'cron = "30 2 * * 1-5"\ntime_zone = "America/Argentina/Buenos_Aires"\n'
            for name in ("first", "second")
        ),
        "utf-8",
    )
    shell.ok("declare", str(file))
    lines = narrow(shell, monkeypatch, "schedules")
    assert all(len(each) <= 80 for each in lines)
    rows = [each for each in lines if re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", each)]
    assert len(rows) == 2, lines
    assert len(lines) == 1 + 2 + 1, lines
    assert lines[-1] == "no room for: missed, time zone"


def test_at_80_columns_a_group_that_waits_takes_one_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(3):
        shell.store.send("orders", "a text of many words " * 9, group=f"customer-{k}-of-very-many")
    lines = narrow(shell, monkeypatch, "waiting", "orders")
    rows = [each for each in lines if each.lstrip()[:1].isdigit()]
    assert [each.split()[0] for each in rows] == ["1", "2", "3"]
    assert all(re.search(r"\d\d:\d\d(:\d\d)? UTC", each) for each in rows), lines
    assert len(lines) == 1 + 3 + ("no room" in lines[-1])
