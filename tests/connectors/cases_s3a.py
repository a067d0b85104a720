"""Results in S3 are whole or not there, and one of two writers wins."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.connectors.desk import ROWS, command, digest, done, messages, pool, refused, session
from tests.connectors.s3 import BUCKET, DENIED, keys, own_environment, server

from fairlead.errors import OutputError
from fairlead.pipeline.output.choose_target import delivery_to
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.runs.paths import CLAIM, SUMMARY

KILLED = """
import sys, msgspec
from fairlead.pipeline.output.claim import RunClaim
sys.stdout.write(msgspec.json.encode(RunClaim.own()).decode())
"""
CHANGES = "time,target,attribute,value\n50,a,enabled,false\n"


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[dict[str, str], Any]]:
    with server() as found:
        yield found


@pytest.fixture(scope="module")
def spark(s3: tuple[dict[str, str], Any]) -> Iterator[SparkSession]:
    settings, client = s3
    running = session("s3a", **settings)
    messages(running).write.parquet(f"s3a://{BUCKET}/in.parquet")
    client.put_object(Bucket=BUCKET, Key="changes.csv", Body=CHANGES.encode())
    yield running
    running.stop()


def write(spark: SparkSession, delivery: TablesDelivery) -> None:
    delivery.write(spark.range(3).selectExpr("string(id) AS id"), "decisions", "parquet")
    delivery.write_json(SUMMARY, {"rows": 3})


def test_messages_changes_and_results_are_there(
    spark: SparkSession, s3: tuple[dict[str, str], Any], tmp_path: Path
) -> None:
    file, changes, cluster = tmp_path / "m.csv", tmp_path / "changes.csv", pool(tmp_path)
    messages(spark).toPandas().to_csv(file, index=False)
    changes.write_text(CHANGES)
    here = "dispatch", str(file), "-c", cluster, "--changes", str(changes), "--no-report"
    one = done(*here, "-o", str(tmp_path / "one"), "--engine", "memory")
    out = f"s3a://{BUCKET}/routed"
    given = "-c", cluster, "--changes", f"s3a://{BUCKET}/changes.csv", "-o", out, "--no-report"
    two = done("dispatch", f"s3a://{BUCKET}/in.parquet", *given)
    assert digest(one) == digest(two)
    assert {SUMMARY, "manifest.json", "decisions"} <= keys(s3[1], "routed")
    assert CLAIM not in keys(s3[1], "routed")
    assert spark.read.parquet(f"{out}/decisions").count() == ROWS
    line = refused("dispatch", f"s3a://{BUCKET}/in.parquet", *given)
    assert line == f"{out}: exists; name another folder, or use --overwrite"


def test_of_two_that_begin_at_once_one_writes(
    spark: SparkSession, s3: tuple[dict[str, str], Any]
) -> None:
    for k in range(5):
        out = f"s3a://{BUCKET}/raced{k}"
        begun = [delivery_to(out, overwrite=False) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            ways = [threads.submit(each.begin, spark) for each in begun]
            errors = [way.exception() for way in ways]
        assert sum(error is None for error in errors) == 1, errors
        assert {type(error) for error in errors} == {type(None), OutputError}
        (winner,) = [each for each, error in zip(begun, errors, strict=True) if error is None]
        with winner:
            write(spark, winner)
            winner.finish()
        assert keys(s3[1], f"raced{k}") == {"decisions", SUMMARY}


def test_what_a_killed_run_left_is_replaced(
    spark: SparkSession, s3: tuple[dict[str, str], Any]
) -> None:
    claim = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=True).stdout
    other = json.dumps(json.loads(claim) | {"host": "worker-7", "machine": "worker-7"}).encode()
    s3[1].put_object(Bucket=BUCKET, Key="left/decisions/part-0.parquet", Body=b"half")
    s3[1].put_object(Bucket=BUCKET, Key=f"left/{CLAIM}", Body=other)
    with pytest.raises(OutputError, match=r"found another run that writes there .* on worker-7"):
        delivery_to(f"s3a://{BUCKET}/left", overwrite=False).begin(spark)
    s3[1].put_object(Bucket=BUCKET, Key=f"left/{CLAIM}", Body=claim)
    with delivery_to(f"s3a://{BUCKET}/left", overwrite=False) as delivery:
        delivery.begin(spark)
        write(spark, delivery)
        delivery.finish()
    assert spark.read.parquet(f"s3a://{BUCKET}/left/decisions").count() == 3


def test_a_bucket_that_denies_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    cluster = pool(tmp_path)
    given = "-c", cluster, "--no-report", "-o"
    line = refused("dispatch", f"s3a://{BUCKET}/in.parquet", *given, f"s3a://{DENIED}/out")
    assert line == f"s3a://{DENIED}/out: cannot write there: Permission denied"
    line = refused("dispatch", f"s3a://{DENIED}/in.parquet", *given, str(tmp_path / "o"))
    assert line == f"s3a://{DENIED}/in.parquet: Permission denied"
    line = refused("dispatch", f"s3a://{BUCKET}/nothing.parquet", *given, str(tmp_path / "o"))
    assert line == f"s3a://{BUCKET}/nothing.parquet: no such file or folder"
    line = refused("dispatch", "s3a://nobucket/in.parquet", *given, str(tmp_path / "o"))
    assert line.startswith("s3a://nobucket/in.parquet: "), line


@pytest.mark.slow
def test_a_stream_reads_there(spark: SparkSession, tmp_path: Path) -> None:
    where = f"s3a://{BUCKET}/incoming.parquet"
    messages(spark).write.parquet(where)
    follow = "--follow", "--available-now", "--no-report", "-c", pool(tmp_path), "-o"
    assert f"in {ROWS} = decided {ROWS}" in done("dispatch", where, *follow, str(tmp_path / "o"))
    messages(spark, first=ROWS).write.mode("append").parquet(where)
    assert f"in {2 * ROWS} = " in done("dispatch", where, *follow, str(tmp_path / "o"))


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_no_results(
    spark: SparkSession, s3: tuple[dict[str, str], Any], tmp_path: Path
) -> None:
    settings, client = s3
    out = f"s3a://{BUCKET}/killed"
    messages(spark, 300_000).write.parquet(f"s3a://{BUCKET}/many.parquet")
    environment = own_environment(settings)
    given = (
        "dispatch",
        f"s3a://{BUCKET}/many.parquet",
        "-c",
        pool(tmp_path),
        "-o",
        out,
        "--no-report",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "fairlead", *given],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 200
        while "decisions" not in keys(client, "killed"):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    assert SUMMARY not in keys(client, "killed")
    status, _, err = command("explain", out, "--id", "m7")
    assert status == 2
    assert "found results that are not whole (there is no summary.json)" in err
    assert "in 300,000 = decided 300,000" in done(*given)
    assert spark.read.parquet(f"{out}/decisions").count() == 300_000
