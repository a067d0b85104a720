"""Topics of Kafka are followed: each offset is decided once, and goes on to other topics."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.connectors.broker import broker
from tests.connectors.desk import ROWS, digest, done, messages, pool, refused, session
from tests.connectors.environment import ROOT, jars

from fairlead import Store, load_clusters

PAGE = ROOT / "docs" / "how-to" / "kafka.md"
FOLLOW = ("--follow", "--no-report")
PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
SECONDS = 120
"""Until a stream has decided something, at most."""
FENCED = re.MULTILINE | re.DOTALL
OFFSETS = ("topic", "partition", "offset")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    running = session("kafka")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def send(rows: DataFrame, address: str, topic: str) -> None:
    """Send messages: the group is the key, the rest is JSON, the id a header, too."""
    named = "array(struct('id' AS key, encode(concat('n', id), 'utf-8') AS value)) AS headers"
    sent = rows.selectExpr("group AS key", "to_json(struct(id, time)) AS value", named)
    to = sent.write.format("kafka").option("kafka.bootstrap.servers", address)
    to.option("topic", topic).save()


def followed(folder: Path, address: str, topic: str, *more: str) -> str:
    """Follow a topic until all that is there is decided."""
    place = "-c", pool(folder), "-o", str(folder / "out"), "--kafka", address
    return done("dispatch", f"kafka:{topic}", *place, *FOLLOW, "--available-now", *more)


def decisions(folder: Path) -> list[dict[str, Any]]:
    """All decisions of a stream."""
    places = [str(place) for place in folder.glob("out/decisions/batch=*/*.parquet")]
    return list(ds.dataset(places).to_table().to_pylist())


def test_each_offset_is_decided_once(spark: SparkSession, address: str, tmp_path: Path) -> None:
    send(messages(spark), address, "calls")
    assert f"in {ROWS} = decided {ROWS} + rejected 0" in followed(tmp_path, address, "calls")
    send(messages(spark, first=ROWS), address, "calls")
    followed(tmp_path, address, "calls")
    rows = decisions(tmp_path)
    assert sorted(row["arrival"] for row in rows) == list(range(2 * ROWS))
    assert len({tuple(row[name] for name in OFFSETS) for row in rows}) == 2 * ROWS
    assert {row["partition"] for row in rows} <= {0, 1, 2}
    for row in rows:
        assert row["id"] == f"calls/{row['partition']}/{row['offset']:019}"
        assert row["group"].encode() == row["key"]
        assert row["time"] == row["timestamp"]
        assert dict(row["headers"]) == {"id": b"n" + json.loads(row["value"])["id"].encode()}
    given = "dispatch", "kafka:other", "-c", pool(tmp_path), "-o", str(tmp_path / "out")
    line = refused(*given, "--kafka", address, *FOLLOW)
    assert line.endswith("options.messages: was 'kafka:calls', found 'kafka:other'")


@pytest.mark.slow
def test_decisions_go_to_topics_by_destination(
    spark: SparkSession, address: str, tmp_path: Path
) -> None:
    """By the program of the page, whose sink has some of them twice after it was killed."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), FENCED)
    program = program.replace("kafka-1:9092", address)
    send(messages(spark), address, "orders")
    cluster = load_clusters(pool(tmp_path))
    names = {"spark": spark, "cluster": cluster, "out": str(tmp_path / "out")}
    exec(compile(program, str(PAGE), "exec"), names)  # noqa: S102
    rows = {row["id"]: row for row in decisions(tmp_path)}
    (tmp_path / "out" / "handed.json").unlink()  # as if it had been killed before it knew
    exec(compile(program, str(PAGE), "exec"), names)  # noqa: S102
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
    reader = reader.option("subscribePattern", "jobs-.*").option("includeHeaders", True)
    arrived = [
        (
            row["topic"],
            row["key"],
            row["value"],
            {h["key"]: h["value"].decode() for h in row.headers},
        )
        for row in reader.load().collect()
    ]
    assert len(arrived) == 2 * ROWS
    once = {headers["id"]: (topic, key, value) for topic, key, value, headers in arrived}
    assert once == {
        name: (f"jobs-{row['destination']}", row["key"], row["value"]) for name, row in rows.items()
    }
    for topic, _, _, headers in arrived:
        assert headers["sequence"] == str(rows[headers["id"]]["sequence"]), topic


def test_a_topic_goes_into_queues(spark: SparkSession, address: str, tmp_path: Path) -> None:
    """Each offset arrives in the store once, with its key as the group."""
    url, place = f"sqlite:///{tmp_path / 'work.db'}", pool(tmp_path)
    given = "dispatch", "kafka:work", "-c", place, "-o", str(tmp_path / "out"), "--kafka", address
    deliver = *given, "--follow", "--available-now", "--deliver", url, "--body", "value"
    send(messages(spark), address, "work")
    with Store.open(url, create=True) as store:
        store.load_clusters(place)
        assert f"published {ROWS}" in done(*deliver)
        send(messages(spark, first=ROWS), address, "work")
        assert f"published {ROWS}" in done(*deliver)
        assert store.pool("pool").choices == 2 * ROWS
        seen = set()
        for queue in ("a", "b"):
            while work := store.take(queue):
                with work:
                    bodies = [json.loads(message.body) for message in work]
                    assert {f"g{int(body['id']) % 7}" for body in bodies} == {work.group}
                    seen |= {int(body["id"]) for body in bodies}
        assert seen == set(range(2 * ROWS))
        assert store.check() == []


@pytest.mark.slow
def test_columns_and_options(spark: SparkSession, address: str, tmp_path: Path) -> None:
    send(messages(spark), address, "mapped")
    file = tmp_path / "client.properties"
    file.write_text("name=desk\n")
    followed(
        *(tmp_path, address, "mapped", "--column", "id=string(headers['id'])"),
        *("--column", "time=get_json_object(string(value), '$.time')", "--drop", "value"),
        *(
            "--read-option",
            "maxOffsetsPerTrigger=50",
            "--read-option",
            "kafka.config.providers=file",
        ),
        *(
            "--read-option",
            f"kafka.config.providers.file.class={PROVIDER}",
        ),
        *("--read-option", f"kafka.client.id=${{file:{file}:name}}"),
    )
    rows = decisions(tmp_path)
    assert {row["id"] for row in rows} == {f"n{k}" for k in range(ROWS)}
    assert {float(row["time"]) for row in rows} == {float(k) for k in range(ROWS)}
    assert {len(row) for row in rows} == {len(decisions(tmp_path)[0])}
    assert "value" not in rows[0]
    assert len(list(tmp_path.glob("out/batches/*.json"))) > ROWS // 50 - 1


@pytest.mark.slow
def test_killed_again_and_again(spark: SparkSession, address: str, tmp_path: Path) -> None:
    random = Random(3)  # noqa: S311
    place = "-c", pool(tmp_path), "-o", str(tmp_path / "out"), "--kafka", address
    given = "dispatch", "kafka:killed", *place, *FOLLOW, "--read-option", "maxOffsetsPerTrigger=40"
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": f"--jars {jars('kafka')} pyspark-shell"}
    batches, sent = tmp_path / "out" / "batches", 0
    for _ in range(3):
        send(messages(spark, first=sent), address, "killed")
        sent += ROWS
        before = set(batches.glob("*.json"))
        with subprocess.Popen(
            [sys.executable, "-m", "fairlead", *given, "--every", "0.1s"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            deadline = time.monotonic() + SECONDS
            while set(batches.glob("*.json")) == before:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(random.uniform(0, 4))
            os.killpg(process.pid, signal.SIGKILL)
    stream = done(*given, "--available-now")
    assert f"in {sent} = decided {sent} + rejected 0" in stream
    rows = decisions(tmp_path)
    assert sorted(row["arrival"] for row in rows) == list(range(sent))
    assert len({tuple(row[name] for name in OFFSETS) for row in rows}) == sent
    drop = ("arrival", "batch", "destination", "address", "outcome", "sequence")
    one = done(
        *("dispatch", str(tmp_path / "out" / "decisions"), "-c", pool(tmp_path)),
        *("-o", str(tmp_path / "one"), "--no-report", "--column", "position=arrival"),
        *(word for name in drop for word in ("--drop", name)),
    )
    assert digest(one) == digest(stream)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topic", "more", "said"),
    [
        ("nothing", (), "kafka:nothing: the broker has no such topic"),
        ("", (), "kafka:: found no topic, allowed: kafka:TOPIC, or kafka:ONE,OTHER"),
        ("a", ("--files-a-batch", "3"), "--files-a-batch: found with kafka:a, allowed: without it"),
        ("a", ("--number-rows",), "--number-rows: found with kafka:a, allowed: with files"),
        (
            "a",
            ("--read-option", "subscribe=b"),
            "--read-option: found 'subscribe', allowed for a topic: options of Kafka's client",
        ),
        (
            "a",
            ("--read-option", "startingOffsets=soon"),
            'kafka:a: cannot be read: Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}',
        ),
        (
            "a",
            ("--read-option", "kafka.ssl.key.password=x"),
            "--read-option: found a secret, kafka.ssl.key.password, on the command line, allow",
        ),
        ("a", ("--column", "time=when"), "kafka:a: --column time=when: found no column 'when'"),
    ],
)
def test_what_cannot_be_followed(
    spark: SparkSession, address: str, tmp_path: Path, topic: str, more: tuple[str, ...], said: str
) -> None:
    place = "-c", pool(tmp_path), "-o", str(tmp_path / "out"), "--kafka", address
    assert refused("dispatch", f"kafka:{topic}", *place, *FOLLOW, *more).startswith(said)
