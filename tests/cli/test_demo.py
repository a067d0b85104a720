"""What the demo proposes at its end can be pasted; the demo itself runs in tests/test_docs.py."""

import re
import shlex
from pathlib import Path

import pytest

from fairlead.cli.demo import BUDGET, COLUMNS, HANDLED, TARGET, VARIED, _next_steps


@pytest.mark.parametrize("given", ["fairlead-demo", "{here}/fairlead-demo", "a demo"])
def test_the_commands_fit_100_columns_and_are_whole_when_pasted(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    out = given.format(here=tmp_path)
    _next_steps(Path(out))
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    assert str(tmp_path) not in printed
    commands = re.findall(r"^  fairlead (?:.*\\\n)+.*$", printed, re.MULTILINE)
    dispatch, replay, recommend = (shlex.split(each.replace("\\\n", "")) for each in commands)
    place = Path(out).name
    assert dispatch == [
        *("fairlead", "dispatch", f"{place}/flights.csv", "-c", f"{place}/weighted.toml"),
        *("--changes", f"{place}/storm.csv", "--out", f"{place}/mine"),
        *(part for each in COLUMNS.items() for part in ("--column", "=".join(each))),
    ]
    assert replay == [
        *("fairlead", "replay", f"{place}/flights.csv", "-c", f"{place}/weighted.toml"),
        *("--changes", f"{place}/storm.csv", "--scenarios", f"{place}/scenarios.toml"),
        *("--engine", "memory", "--out", f"{place}/mine-replayed"),
        *(part for each in HANDLED.items() for part in ("--column", "=".join(each))),
    ]
    assert recommend == [
        *("fairlead", "recommend", f"{place}/flights.csv", "-c", f"{place}/weighted.toml"),
        *("--changes", f"{place}/storm.csv", "--target", TARGET),
        *(part for each in VARIED for part in ("--vary", each)),
        *("--budget", f"{BUDGET}", "--out", f"{place}/mine-recommended"),
        *(part for each in HANDLED.items() for part in ("--column", "=".join(each))),
    ]


def test_a_folder_elsewhere_keeps_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    _next_steps(tmp_path / "demo")
    assert f"  {tmp_path}/demo/weighted/report.html" in capsys.readouterr().out
