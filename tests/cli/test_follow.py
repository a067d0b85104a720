"""Which files of a folder a stream takes."""

import json
import os
from pathlib import Path

from pyspark.sql import SparkSession

from fairlead import Cluster
from fairlead.cli.follow import files_of, names_of
from fairlead.cli.table import MessagesTable
from fairlead.pipeline.options import Options
from fairlead.pipeline.streaming.follow import Asked, start
from fairlead.results.summary import Summary

POOL = Cluster.of("round-robin", destination=[{"name": "a"}, {"name": "b"}])
NOW, DAY = 1_790_000_000, 86_400


def bring(folder: Path, name: str, time: int) -> None:
    """A file of one message, changed last at a time."""
    file = folder / name
    file.write_text(json.dumps({"id": name, "time": 1.0}) + "\n", encoding="utf-8")
    os.utime(file, (time, time))


def test_it_takes_old_files_that_come_late_and_misses_none_that_went(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A file keeps its time when it is moved; one that is listed may be gone when it is read."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    table = MessagesTable.asked(str(source), None, None, False, None, None)

    def to_the_end() -> Summary | None:
        asked = Asked([POOL], list, Options(where=str(source)), 3600, 1, available_now=True)
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
    bring(source, "last.json", NOW)
    third = to_the_end()
    assert third is not None
    assert (third.read, third.outcomes) == (4, {"routed": 4})
