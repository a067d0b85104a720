"""`dispatch --dry-run` and `--fail-if`: look first, and let a check in CI fail."""

from pathlib import Path

import pytest

from fairlead.cli.app import run
from fairlead.results.look import TableLook

POOL = 'policy = "weighted"\n[[destination]]\nname = "A"\n[[destination]]\nname = "B"\n'
SECOND = 1_000_000
NOW = 1_790_000_000 * SECOND


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with messages and a cluster file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.toml").write_text(POOL)
    rows = ["id,time", *(f"m{k},{1_700_000_000 + k}" for k in range(50)), "m1,1700000000", "x,soon"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_look_says_what_would_be_read_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    given = ["dispatch", "m.csv", "-c", "pool.toml", "--dry-run", "--engine", "memory"]
    assert run(given) == 0
    assert capsys.readouterr().out.splitlines() == [
        "rows: 52 = messages 50 + rejected 2",
        "rejected, id: 1",
        "rejected, time: 1",
        "first: 2023-11-14 22:13:20 UTC",
        "last: 2023-11-14 22:14:09 UTC, 49 seconds later",
        "looks wrong: 3.85% of the rows are no messages",
        "nothing was decided or written",
    ]
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_spark_looks_alike(folder: Path, capsys: pytest.CaptureFixture[str], spark: object) -> None:
    # Java knows only the folder in which it was started.
    given = ["dispatch", str(folder / "m.csv"), "-c", "pool.toml", "--dry-run"]
    assert run([*given, "--engine", "memory"]) == 0
    in_memory = capsys.readouterr().out
    assert run(given) == 0
    assert capsys.readouterr().out == in_memory


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (TableLook(100, {}, (0, 50 * SECOND), {}), []),
        (TableLook(100, {"id": 2}, (0, 50 * SECOND), {}), ["2.00% of the rows are no messages"]),
        (TableLook(9, {}, (SECOND, SECOND), {}), ["all messages have the same time, 1 s"]),
        (TableLook(1, {}, (SECOND, SECOND), {}), []),
        (TableLook(9, {}, (SECOND, NOW), {}), ["some are plain seconds, or in another unit"]),
        (TableLook(9, {}, (NOW, NOW + SECOND), {}), ["is in the future"]),
        (TableLook(9, {}, (NOW // 4, NOW), {}), ["the times span"]),
        (TableLook(9, {}, None, {"web": 4, "": 2}), ["'web' that is in no file", "of no cluster"]),
    ],
)
def test_what_looks_wrong(look: TableLook, words: list[str]) -> None:
    odd = look.odd(NOW)
    assert len(odd) == len(words)
    for found, word in zip(odd, words, strict=True):
        assert word in found


@pytest.mark.parametrize(
    ("condition", "status", "line"),
    [
        ("rejected > 1%", 3, "fails: rejected > 1%: rejected is 2 of 52"),
        ("rejected > 2", 0, ""),
        ("no_destination > 0", 0, ""),
        ("not_routed >= 0", 3, "fails: not_routed >= 0: not_routed is 0 of 50"),
    ],
)
def test_a_condition_gives_a_status(
    folder: Path, capsys: pytest.CaptureFixture[str], condition: str, status: int, line: str
) -> None:
    given = ["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]
    assert run([*given, "--no-report", "--fail-if", condition]) == status
    assert (folder / "out/summary.json").exists()
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ([], "--out: found nothing, allowed: a folder for the results, or --dry-run"),
        (["--dry-run", "-o", "m.csv"], "m.csv: exists; name another folder, or use --overwrite"),
        (["--dry-run", "--overwrite"], "--overwrite says what to do with --out DIR"),
        (["--dry-run", "--fail-if", "more > 0"], "--fail-if: found 'more'"),
        (["-o", "out", "--fail-if", "moved > 0"], "--fail-if: found 'moved', allowed: rejected"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], line: str
) -> None:
    assert run(["dispatch", "m.csv", "-c", "pool.toml", "--engine", "memory", *more]) == 2
    assert line in capsys.readouterr().err.splitlines()[-1]


def test_a_dry_run_is_the_same_command_with_one_word_more(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]
    given += ["--no-report", "--fail-if", "rejected > 1000"]
    assert run([*given, "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith("out would be made\nnothing was decided or written\n")
    assert not Path("out").exists()
    assert run(given) == 0
    assert run([*given, "--dry-run"]) == 2
    assert "out: exists; name another folder, or use --overwrite" in capsys.readouterr().err
    before = sorted(Path("out").rglob("*"))
    assert run([*given, "--dry-run", "--overwrite"]) == 0
    assert "out would be replaced\n" in capsys.readouterr().out
    assert sorted(Path("out").rglob("*")) == before
    assert run([*given[:-1], "rejected < 1000", "--overwrite", "--dry-run"]) == 3
    assert "fails: rejected < 1000: rejected is " in capsys.readouterr().out
