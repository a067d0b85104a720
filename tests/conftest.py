"""What all tests share: one Spark session, one Spark Connect server, Hypothesis profiles."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from fairlead.pipeline.spark.session import spark_session
from tests.disks import disk
from tests.stores import lent

pytest_plugins = ["tests.drawing", "tests.places", "tests.skips"]

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Tests are many small jobs: what a JVM spends on compiling well, and on threads, is never earned.
# With one compiler it has 48 MB for compiled code, which hundreds of jobs overrun: it then throws
# away and compiles again all the time.
# And each time that its classes outgrow the room for them, it first looks through all it holds.
# What a query leaves behind is cleared away the more often the less room there is for it.
JVM = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:ReservedCodeCacheSize=400m",
    "-XX:MetaspaceSize=400m",
    "-Xmn640m",
)
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(JVM))

POOL = (
    'policy = "weighted"\n[[destination]]\nname = "a"\nreaders = 2\n[[destination]]\nname = "b"\n'
    '[options]\naffinity = "group"\n'
)
"""Spark decides it in Python: the groups make each decision wait for those before it."""

CONNECT_SERVER = """
from fairlead.pipeline.spark.session import spark_session

spark = spark_session(
    "local[2]",
    **{
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": 0,
    },
)
service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
print(getattr(service, "MODULE$").localPort(), flush=True)
input()
"""


def pytest_configure(config: pytest.Config) -> None:
    """Databases go from test to test; what a test starts hears the signals that it is sent.

    A shell starts what it leaves in the background deaf to them, and so would all be that it
    starts. A handler is not passed on to other programs; this one does nothing here.
    """
    for each in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(each) is signal.SIG_IGN:
            signal.signal(each, lambda *_: None)
    config.pluginmanager.register(lent, "databases")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist looks at the groups next
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark; one process has all of that, and each other file stays together."""
    for item in items:
        if {"spark", "connect"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
        starts_spark = item.get_closest_marker("spark") is not None
        group = "spark" if starts_spark else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """The last lines name what failed, for where only the end of a long log is kept."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for kind in ("failed", "error") if reporter else ():
        for report in reporter.getreports(kind):
            reporter.write_line(f"{kind}: {report.nodeid}")


@pytest.fixture(autouse=True)
def _marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is marked starts Spark: else each process of the tests has one."""
    if request.node.get_closest_marker("spark") is None:

        def refused(*_: object, **__: object) -> None:
            pytest.fail("a test that starts Spark has the mark spark, or the fixture spark")

        monkeypatch.setattr("pyspark.core.context.launch_gateway", refused)


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """A command that logs to what is its stderr does so for its test alone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of this test process."""
    # Tests ask much the same again and again; what was compiled for it is not to be forgotten.
    # A query of few rows takes a quarter longer where Spark plans it anew after each of its stages;
    # commands that tests start as a user does have Spark's own settings.
    running = spark_session(
        "local[2]",
        **{
            "spark.driver.memory": "2g",
            "spark.sql.codegen.cache.maxEntries": 5_000,
            "spark.sql.adaptive.enabled": False,
            "spark.sql.shuffle.partitions": 3,
        },
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def connect() -> Iterator[str]:
    """The address of a Spark Connect server, for scripts that run in processes of their own.

    (A process cannot use both Spark Connect and a Spark session of its own.)
    """
    with subprocess.Popen(
        [sys.executable, "-c", CONNECT_SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port.isdigit(), "the Spark Connect server did not start"
        yield f"sc://127.0.0.1:{port}"
        server.communicate("\n")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 100 kB."""
    with disk(tmp_path / "small", "100k") as folder:
        yield folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with messages and a cluster file, for what GIVEN names."""
    rows = "".join(f"m{k},{k},1.5,g{k % 7}\n" for k in range(3_000))
    (tmp_path / "m.csv").write_text(f"id,time,service_time,group\n{rows}")
    (tmp_path / "pool.toml").write_text(POOL)
    return tmp_path
