"""What options take, and the one line that refuses anything else."""

import os
import re
from pathlib import Path

import pytest

from fairlead.cli.app import run
from fairlead.cli.options import Read, Written, one_of, place, whole
from fairlead.errors import UserError

FORMATS = "parquet, csv, json"


@pytest.mark.parametrize(
    ("line", "told"),
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
    capsys: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    assert run(line.split()) == 2
    assert capsys.readouterr().err == f"fairlead: {told}\n"


def test_what_is_allowed_is_read() -> None:
    assert one_of("--format", Written)("csv") is Written.csv
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
