"""A stream with results and checkpoint in S3 decides each message once, whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.connectors.desk import ROWS, digest, done, messages, pool, refused, session
from tests.connectors.s3 import BUCKET, DENIED, keys, own_environment, server

from fairlead import follow, load_clusters
from fairlead.errors import OutputError
from fairlead.pipeline.streaming.stream_at_uri import StreamAtUri
from fairlead.runs.paths import CLAIM
from fairlead.runs.stream_folder import Commit

SECONDS = 240
"""Until a stream has decided something, at most."""
FOLLOW = ("--follow", "--no-report")
UNCHECKED = "unchecked"
"""A bucket whose files are written without a look whether they are there."""
pytestmark = pytest.mark.slow
COLUMNS = "id string, time double, `group` string"
ANOTHER = f"""
import sys
from fairlead import follow, load_clusters, spark_session
where, out, cluster = sys.argv[1:]
rows = spark_session("local[1]").readStream.schema("{COLUMNS}").option("maxFilesPerTrigger", 1)
follow(rows.parquet(where), load_clusters(cluster), out, available_now=True).wait()
"""
DECIDED = ("arrival", "batch", "destination", "address", "outcome", "sequence")


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[dict[str, str], Any]]:
    with server() as (settings, client):
        client.create_bucket(Bucket=UNCHECKED)
        conditional = f"spark.hadoop.fs.s3a.bucket.{UNCHECKED}.create.conditional.enabled"
        yield settings | {conditional: "false"}, client


@pytest.fixture(scope="module")
def spark(s3: tuple[dict[str, str], Any]) -> Iterator[SparkSession]:
    running = session("s3a", **s3[0])
    yield running
    running.stop()


def bring(spark: SparkSession, where: str, first: int) -> None:
    """A file of messages."""
    messages(spark, first=first).coalesce(1).write.mode("append").parquet(where)


def arriving(spark: SparkSession, where: str) -> DataFrame:
    """A stream of such files, one to a micro-batch."""
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(where)


def assert_once(spark: SparkSession, out: str, rows: int, folder: Path, shown: str) -> None:
    """Each message is decided once, and as one dispatch decides; `shown`: its digest."""
    decisions = spark.read.parquet(f"{out}/decisions").select("arrival", "id").collect()
    assert sorted(row["arrival"] for row in decisions) == list(range(rows))
    assert {row["id"] for row in decisions} == {str(k) for k in range(rows)}
    one = done(
        *("dispatch", f"{out}/decisions", "-c", pool(folder), "-o", str(folder / "one")),
        *("--no-report", "--column", "position=arrival", "--input-format", "parquet"),
        *(word for name in DECIDED for word in ("--drop", name)),
    )
    assert digest(one) == shown


def test_it_goes_on_where_it_ended(
    spark: SparkSession, s3: tuple[dict[str, str], Any], tmp_path: Path
) -> None:
    where, out = f"s3a://{BUCKET}/coming.parquet", f"s3a://{BUCKET}/stream"
    given = "dispatch", where, "-c", pool(tmp_path), *FOLLOW, "--available-now", "-o", out
    bring(spark, where, 0)
    assert f"in {ROWS} = decided {ROWS}" in done(*given)
    bring(spark, where, ROWS)
    again = done(*given)
    assert "going on; " in again
    assert f"in {2 * ROWS} = decided {2 * ROWS}" in again
    names = keys(s3[1], "stream")
    assert {"commits", "batches", "checkpoint", "decisions", "state", "summary.json"} == names
    assert_once(spark, out, 2 * ROWS, tmp_path, digest(again))
    assert "in both: 400; only in " in done("diff", out, str(tmp_path / "one"))
    asked = "--id", "250"
    assert done("explain", out, *asked) == done("explain", str(tmp_path / "one"), *asked)
    line = refused("explain", out, "--id", "nobody")
    assert line == f"{out}: found no decision on 'nobody'; no message has this id"


def test_what_cannot_be_followed_there(spark: SparkSession, tmp_path: Path) -> None:
    where = f"s3a://{BUCKET}/some.parquet"
    bring(spark, where, 0)
    given = "dispatch", where, "-c", pool(tmp_path), *FOLLOW, "--available-now", "-o"
    line = refused(*given, f"s3a://{DENIED}/out")
    assert line == f"s3a://{DENIED}/out: cannot write there: Permission denied"
    line = refused(*given, f"s3a://{UNCHECKED}/out")
    assert line.startswith(f"s3a://{UNCHECKED}/out: found a file system on which no stream commit")
    line = refused(*given, where)
    assert line.startswith(f"{where}: found a folder that is no stream's, allowed: a new one")
    assert refused(*given, "table:x") == "table:x: found a table, allowed: a folder"


def test_one_process_writes_and_who_was_thought_dead_commits_nothing(
    spark: SparkSession, s3: tuple[dict[str, str], Any], tmp_path: Path
) -> None:
    """Its claim is taken away by hand while it decides."""
    settings, client = s3
    where, out, cluster = f"s3a://{BUCKET}/two.parquet", f"s3a://{BUCKET}/one", pool(tmp_path)
    lines: list[str] = []

    def another() -> None:
        words = [sys.executable, "-c", ANOTHER, where, out, cluster]
        subprocess.run(words, env=own_environment(settings), check=True, capture_output=True)

    def meanwhile() -> list[Any]:
        if "commits" in keys(client, "one") and not lines:
            with pytest.raises(OutputError) as error:
                follow(arriving(spark, where), load_clusters(cluster), out)
            lines.append(str(error.value))
            client.delete_object(Bucket=BUCKET, Key=f"one/{CLAIM}")
            another()
        return []

    for first in (0, ROWS):
        bring(spark, where, first)
    following = follow(
        arriving(spark, where), load_clusters(cluster), out, meanwhile, available_now=True
    )
    with pytest.raises(OutputError) as ended:
        following.wait()
    assert str(ended.value) == f"{out}: found that another run has taken the place meanwhile"
    assert lines[0].startswith(f"{out}: found another run that writes there (process {os.getpid()}")
    bring(spark, where, 2 * ROWS)
    another()
    summary = json.loads(client.get_object(Bucket=BUCKET, Key="one/summary.json")["Body"].read())
    assert_once(spark, out, 3 * ROWS, tmp_path, summary["digest"])


def test_of_two_that_commit_a_micro_batch_one_does(
    spark: SparkSession, s3: tuple[dict[str, str], Any]
) -> None:
    """Also where the one that was first has no claim any more, and the other one looks too soon."""
    client, claim = s3[1], {"Bucket": BUCKET, "Key": f"both/{CLAIM}"}
    both = [StreamAtUri(spark, f"s3a://{BUCKET}/both") for _ in range(2)]
    commit = Commit(clusters=[], options={}, batch=0)
    with both[0].alone():
        mine = client.get_object(**claim)["Body"].read()
        client.delete_object(**claim)
        with both[1].alone():
            both[1].finish(commit, {})
            client.put_object(**claim, Body=mine)
            line = "both: found micro-batch 0, which another process has committed meanwhile$"
            with pytest.raises(OutputError, match=line):
                both[0].finish(commit, {})
    assert both[0].commit() == commit
    assert both[0].at("decisions", 0) == both[1].at("decisions", 0)


@pytest.mark.timeout(1_200)
def test_killed_again_and_again(
    spark: SparkSession, s3: tuple[dict[str, str], Any], tmp_path: Path
) -> None:
    settings, client = s3
    where, out = f"s3a://{BUCKET}/killing.parquet", f"s3a://{BUCKET}/killed"
    random, rows = Random(3), 0  # noqa: S311
    given = "dispatch", where, "-c", pool(tmp_path), "-o", out, *FOLLOW, "--files-a-batch", "1"
    for _ in range(2):
        for _ in range(3):
            bring(spark, where, rows)
            rows += ROWS
        before = commits(client, "killed")
        with subprocess.Popen(
            [sys.executable, "-m", "fairlead", *given, "--every", "0.1s"],
            env=own_environment(settings),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            deadline = time.monotonic() + SECONDS
            while commits(client, "killed") == before:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(random.uniform(0, 4))
            os.killpg(process.pid, signal.SIGKILL)
    stream = done(*given, "--available-now")
    assert f"in {rows:,} = decided {rows:,} + rejected 0" in stream
    assert_once(spark, out, rows, tmp_path, digest(stream))
    assert CLAIM not in keys(client, "killed")


def commits(client: Any, out: str) -> set[str]:
    """The files of a stream that say that a micro-batch is whole."""
    objects = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{out}/commits/").get("Contents", [])
    return {each["Key"] for each in objects}
