"""What options take, and the one line that refuses anything else."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperArgument, TyperGroup

from fairlead.cli.app import SUBJECTS, commands, run
from fairlead.cli.fail_if import gate
from fairlead.cli.options import Read, ResultFormat, one_of, place, whole
from fairlead.cli.replay import rate_of
from fairlead.errors import UserError
from fairlead.runs.files import kind_of

FORMATS = "parquet, csv, json"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dispatch m -c c -o x --format xml", f"--format: found 'xml', allowed: {FORMATS}"),
        (
            "dispatch m -c c -o x --format Parquet",
            f"--format: found 'Parquet', allowed: {FORMATS}; did you mean 'parquet'?",
        ),
        (
            "replay m -c c -o x --input-format xml",
            "--input-format: found 'xml', allowed: csv, json, parquet, text, orc",
        ),
        ("explain -c c --count 0", "--count: found 0, allowed: an integer from 1 to 1000000"),
        ("explain -c c --count x", "--count: found 'x', allowed: an integer from 1 to 1000000"),
        ("explain -c c --count 1.5", "--count: found '1.5', allowed: an integer from 1 to 1000000"),
        (
            "replay m -c c -o x --seed -1",
            "--seed: found -1, allowed: an integer from 0 to 9223372036854775807",
        ),
        (
            "whatif x --promote g --at 1 --priority 256",
            "--priority: found 256, allowed: an integer from 0 to 255",
        ),
    ],
)
def test_an_option_is_refused_in_one_line_of_ours(
    capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    assert run(line.split()) == 2
    assert capsys.readouterr().err == f"fairlead: {expected}\n"


EMPTY = "found '', allowed: a text that is not empty, or no"
DAYS = "allowed: a number of days from 0 to 10000000"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["send", "q", "x", "--group", ""], f"--group: {EMPTY} --group"),
        (["take", "q", "--group="], f"--group: {EMPTY} --group"),
        (["work", "m:f", "--queue", "a", "--queue", ""], f"--queue: {EMPTY} --queue"),
        (["queues", "--store", ""], f"--store: {EMPTY} --store"),
        (["diff", "a", "b", "--master", ""], f"--master: {EMPTY} --master"),
        (["store", "retention", "-5"], f"DAYS: found '-5', {DAYS}"),
        (["store", "retention", "-.5"], f"DAYS: found '-.5', {DAYS}"),
        (["store", "prune", "--keep", "-1"], f"--keep: found '-1', {DAYS}"),
        (["promote", "q", "-5", "-6"], "promote: found '-6' more, allowed: QUEUE GROUP"),
        (["send", "q", "-x"], "No such option: -x; an argument that begins with - stands after --"),
        (["send", "q", "x", "--gruop", "g"], "No such option: --gruop (Possible options: --group)"),
        (["queues", "-x"], "No such option: -x"),
    ],
)
def test_nothing_and_what_begins_with_a_sign_are_not_taken_for_something_else(
    capsys: pytest.CaptureFixture[str], given: list[str], expected: str
) -> None:
    assert run(given) == 2
    assert capsys.readouterr().err == f"fairlead: {expected}\n"


def test_every_argument_may_be_a_negative_number() -> None:
    """What a command makes of it, it says itself; Typer would call it an option."""
    seen = 0
    for each in every_command(commands()):
        if any(isinstance(parameter, TyperArgument) for parameter in each.params):
            context = each.make_context(each.name, [], resilient_parsing=True)
            found, _, _ = each.make_parser(context).parse_args(args=["-5"])
            assert {"-5", ("-5",)} & {*found.values()}, each.name
            seen += 1
    assert seen > 20


def test_each_module_declares_the_commands_that_are_looked_for_in_it() -> None:
    for module, verbs in SUBJECTS.items():
        assert tuple(commands((module,)).commands) == verbs


def every_command(command: Any) -> Iterator[Any]:
    if not isinstance(command, TyperGroup):
        yield command
    for each in getattr(command, "commands", {}).values():
        yield from every_command(each)


def test_what_is_allowed_is_read() -> None:
    assert one_of("--format", ResultFormat)("csv") is ResultFormat.csv
    assert one_of("--input-format", Read)(Read.orc) is Read.orc
    assert whole("--count", 1, 9)("7") == 7


def test_a_place_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool.toml").touch(mode=0o000)
    (tmp_path / "folder").mkdir(mode=0o000)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    user = os.geteuid()
    if user == 0:  # who may read everything
        os.seteuid(65534)
    try:
        for name in ("pool.toml", "folder"):
            with pytest.raises(UserError, match=re.escape(f"{name}: cannot be read: Permission")):
                place(name)
        assert place("nowhere.toml") == Path("nowhere.toml")
    finally:
        os.seteuid(user)
        (tmp_path / "folder").chmod(0o755)
    assert place("folder") == Path("folder")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--cluster", "c"), ("-o", "x"), ("--format", "csv"), ("--changes", "n"), ("--master", "m")],
)
def test_an_option_that_takes_one_value_stands_once(
    capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    line = ["dispatch", "m", "-c", "c", "-o", "x", option, value, option, value]
    name, times = {"-o": ("--out", 3), "--cluster": ("--cluster", 3)}.get(option, (option, 2))
    assert run(line) == 2
    assert capsys.readouterr().err == f"fairlead: {name}: found {times} times, allowed: once\n"


@pytest.mark.parametrize("nothing", ["", " "])
@pytest.mark.parametrize(
    "line",
    [
        *("check _", "dispatch _ -c c -o x", "dispatch m -c _ -o x", "dispatch m -c c -o _"),
        *("dispatch m -c c -o x --changes _", "explain _ --id 1", "diff a _", "diff a b -o _"),
        "demo -o _",
    ],
)
def test_an_empty_path_is_not_this_folder(
    capsys: pytest.CaptureFixture[str], line: str, nothing: str
) -> None:
    assert run([nothing if word == "_" else word for word in line.split()]) == 2
    expected = f"found {nothing!r} as a path, allowed: the name of a file or a folder"
    assert capsys.readouterr().err == f"fairlead: {expected}\n"


@pytest.mark.parametrize("option", ["m", "-c", "--changes"])
def test_a_name_that_no_file_can_have_is_refused(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    name = "x" * 300
    given = {"m": "m", "-c": "c", "-o": "o", "--changes": "n"} | {option: name}
    line = ["dispatch", given.pop("m"), *(word for pair in given.items() for word in pair)]
    assert run(line) == 2
    assert capsys.readouterr().err == f"fairlead: {name}: cannot be looked at: File name too long\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["seperator=;"], "found 'seperator', allowed for csv: sep, delimiter, "),
        (["multline=true"], "; did you mean 'multiLine'?"),
        (["wholetext=true"], "found 'wholetext', allowed for csv: "),
        (["sep=;", "SEP=,"], "found sep again as 'SEP', allowed: once"),
        (["sep=;", "delimiter=,"], "found sep again as 'delimiter', allowed: once"),
        (["mode=DROPMALFORMED"], "mode: found 'DROPMALFORMED', allowed: only PERMISSIVE; what is"),
        (["mode=FAILFAST"], "mode: found 'FAILFAST', allowed: only PERMISSIVE; what is no row is"),
        (["encoding=windows-1252"], "encoding: found 'windows-1252', allowed: ISO-8859-1, UTF-8"),
        (["charset=klingon"], "; iconv -t UTF-8 makes one of others"),
        (["encoding="], "encoding: found nothing, allowed: "),
    ],
)
def test_options_of_sparks_reader_that_would_have_no_effect_are_refused(
    tmp_path: Path, options: list[str], expected: str
) -> None:
    with pytest.raises(UserError) as refused:
        kind_of("m.csv", None, dict(each.split("=", 1) for each in options))
    assert expected in str(refused.value)
    assert refused.value.in_shell == str(refused.value).replace("options: ", "--read-option: ", 1)


def test_options_of_sparks_reader_are_taken_in_any_case_and_under_all_names() -> None:
    given = {"DELIMITER": ";", "charset": "latin1", "multiline": "true", "mode": "permissive"}
    assert kind_of("m.csv", None, given).options == {
        "sep": ";",
        "encoding": "ISO-8859-1",
        "multiLine": "true",
        "mode": "permissive",
    }


@pytest.mark.parametrize("rate", ["0.0000001", "1e-400", "1.0000001", "nan", "1,5", "", "1e9"])
def test_a_rate_is_allowed_that_a_scenario_may_have(rate: str) -> None:
    with pytest.raises(UserError, match=r"--scale-rate: found .* up to 1000, with at most 6 dec"):
        rate_of(rate, None)


@pytest.mark.parametrize("limit", ["9" * 5_000, "1." + "0" * 5_000, "\u0663", "1e3"])
def test_a_limit_is_a_plain_number_that_is_not_too_long(limit: str) -> None:
    with pytest.raises(UserError, match=r"--fail-if: found .*, allowed: NAME > NUMBER") as refused:
        gate(f"waiting > {limit}", {"waiting": "messages"})
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_name_is_printed_whatever_the_terminals_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "pool.toml"
    file.write_text('policy = "weighted"\n[[destination]]\nname = "日本"\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from fairlead.cli import main; main()", "check", str(file)],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u65e5\u672c" in done.stdout


def test_the_demo_has_a_place_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairlead-demo").write_text("a file of somebody's")
    assert run(["demo"]) == 2
    assert capsys.readouterr().err.startswith("fairlead: fairlead-demo: exists")
