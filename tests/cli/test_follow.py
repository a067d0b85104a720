"""Which files of a folder a stream takes."""

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk
from tests.elsewhere import other_default

from fairlead import Cluster
from fairlead.cli.app import run
from fairlead.cli.follow import files_of, names_of
from fairlead.cli.table import MessagesTable
from fairlead.pipeline.streaming.follow import StreamRequest, start
from fairlead.results.summary import Summary
from fairlead.runs.options import Options

POOL = Cluster.of("round-robin", destination=[{"name": "a"}, {"name": "b"}])
NOW, DAY = 1_790_000_000, 86_400


def bring(folder: Path, name: str, time: int, more: str = "") -> None:
    """A file of one message, and of more lines, changed last at a time."""
    file = folder / name
    file.write_text(json.dumps({"id": name, "time": 1.0}) + f"\n{more}", encoding="utf-8")
    os.utime(file, (time, time))


@pytest.mark.parametrize("way", ["master", "environment"])
def test_spark_connect_is_refused_before_it_is_asked(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("pool.toml").write_text('policy = "round-robin"\n[[destination]]\nname = "a"\n')
    given = ["dispatch", "in", "-c", "pool.toml", "-o", "out", "--follow", "--horizon", "1h"]
    given += ["--input-format", "json"]
    if way == "environment":
        monkeypatch.setenv("SPARK_REMOTE", "sc://nowhere.example:15002")
    else:
        given += ["--master", "sc://nowhere.example:15002"]
    assert run(given) == 2
    assert "found Spark Connect, allowed: a session with a JVM" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.slow
def test_it_takes_old_files_that_come_late_and_misses_none_that_went(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A file keeps its time when it is moved; one that is listed may be gone when it is read."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    table = MessagesTable.asked(str(source), None, None, False, None, None)

    def to_the_end() -> Summary | None:
        asked = StreamRequest([POOL], list, Options(where=str(source)), 3600, 1, available_now=True)
        names = names_of(spark, str(source), 10)
        following = start(names, str(out), asked, files_of(spark, table))
        following.wait()
        return following.summary

    bring(source, "new.json", NOW)
    first = to_the_end()
    bring(source, "old.json", NOW - 30 * DAY)
    bring(source, "sub.json", NOW)
    second = to_the_end()
    assert [each.read for each in (first, second) if each is not None] == [1, 3]
    # Spark was ended before it knew of the second micro-batch, which comes again.
    (out / "checkpoint/commits/1").unlink()
    (out / "checkpoint/commits/.1.crc").unlink(missing_ok=True)
    (source / "old.json").unlink()
    bring(source, "last.json", NOW, "{broken off\n")  # what is no message says so by itself
    third = to_the_end()
    assert third is not None
    assert (third.read, third.rejected, third.outcomes) == (5, 1, {"routed": 4})


@pytest.mark.slow
def test_a_folder_of_this_machine_under_another_default_file_system(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its path, and by a `file:` URI."""
    desk = Desk(tmp_path, capsys)
    (tmp_path / "in").mkdir()
    bring(tmp_path / "in", "a.json", NOW)
    with other_default(spark, tmp_path / "elsewhere"):
        for k, where in enumerate((desk / "in", (tmp_path / "in").as_uri())):
            given = ["-c", desk / "two.toml", "-o", desk / f"o{k}", "--no-report"]
            follow = ["--follow", "--available-now"]
            assert desk.run("dispatch", where, *given, *follow) == 0, desk.err
            assert "in 1 = decided 1 + rejected 0" in desk.out


@pytest.mark.costly
@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("table:shop.calls", "found a table with --follow, allowed: a folder into which files"),
        ("foo://bucket/in", "this Spark lacks a package with the file system foo"),
        ("file:///nothing/in", "found no folder, allowed with --follow: a folder into which"),
        ("slow:///nothing/in", "no such file or folder"),
    ],
)
def test_places_from_which_no_files_come(
    spark: SparkSession,
    slow: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    where: str,
    said: str,
) -> None:
    desk = Desk(tmp_path, capsys)
    given = ["-c", desk / "two.toml", "-o", desk / "o", "--follow", "--available-now"]
    assert desk.refused("dispatch", where, *given).startswith(f"fairlead: {where}: {said}")
    assert not (desk.folder / "o").exists()
