"""The Spark session: the caller's if there is one, else ours, set up so that nothing surprises.

The only module that knows how a session comes to be. Everything else takes DataFrames.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from fairlead.errors import EnvironmentProblem, UserError
from fairlead.extras import need
from fairlead.pipeline.spark.class_archive import ClassArchive, class_folders, has_own
from fairlead.pipeline.spark.java import Java, cache_folder, java_for_spark
from fairlead.pipeline.spark.log import SPARK_LOG

Setting: TypeAlias = str | int | float | bool

MASTER = re.compile(r"local(-cluster)?(\[.+\])?|(spark|k8s|sc)://.+|yarn")
SECONDS_TO_CONNECT = 20
PORT = 7077
"""Of a Spark master."""
STOPPED = "Cannot call methods on a stopped SparkContext"
CAUSED = "Caused by: "
GIB = 1 << 30

LONGEST_METHOD: Final = 8_000
"""Bytes: Java compiles no longer method."""
METHOD_LIMIT: Final = "spark.sql.codegen.hugeMethodLimit"
WITHOUT_LIMIT: Final = "65535"
"""Spark's own default, which is as long as a method can be."""

QUERY: Mapping[str, Setting] = {
    # What would be longer is generated operator by operator: that is slower than one method that is
    # compiled, and much faster than one that is not.
    METHOD_LIMIT: LONGEST_METHOD,
    "spark.sql.session.timeZone": "UTC",
    # A value that cannot be read is one row's fault, not the whole job's.
    "spark.sql.ansi.enabled": False,
    "spark.sql.execution.arrow.pyspark.enabled": True,
    "spark.sql.execution.arrow.maxRecordsPerBatch": 1 << 16,
    # A row can be large: many messages packed for a replay.
    "spark.sql.execution.arrow.maxBytesPerBatch": 1 << 24,
    # For files with many attributes Spark's planner writes down, for minutes, what else must hold
    # where a row is no message, each time in other words.
    "spark.sql.constraintPropagation.enabled": False,
    # As all others write it, and as a table in memory is written: INT96 ends in the year 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""What our queries want of any session that we start, wherever it runs."""


def spark_session(master: str | None = None, **config: Setting) -> SparkSession:
    """Return the Spark session that is running, or start one.

    A running session is used as it is, apart from the settings given here. A new one is set up
    for `master`: one that is local (the default) gets everything that a single machine needs,
    a cluster's keeps what the cluster's administrator set.

    Args:
        master: `local[2]`, `spark://host:7077`, `yarn`, `k8s://…`, or `sc://host:15002` for a
            Spark Connect server. Default: SPARK_REMOTE if it is set, else all cores of this
            machine.
        **config: Spark settings by their names, which win over Fairlead's:
            `spark_session(**{"spark.driver.memory": "2g"})`.

    Raises:
        UserError: The running session or Spark itself does not allow what was asked for.
        EnvironmentProblem: Java, an extra or the server is missing.
    """
    return session(master, config)


def session(
    master: str | None, config: Mapping[str, Setting], *, small: bool = False
) -> SparkSession:
    """Return a session as `spark_session` does.

    `small`: whether it is for little work, for which a Java on this machine compiles less: what it
    spends on compiling well is earned with some hundred thousand rows.
    """
    if master is not None and not MASTER.fullmatch(master):
        raise UserError(
            f"Spark master {master!r} is not known; use local, local[4], local[*], "
            "spark://host:7077, yarn, k8s://host:443 or sc://host:15002 (Spark Connect)"
        )
    running = _running()
    if running is not None:
        return _adapted(running, master, config)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit chose the master and runs the JVM
        return _started({**({"spark.master": master} if master else {}), **QUERY, **config})
    key = "spark.master"
    if master is None and "SPARK_REMOTE" in os.environ:
        key = "spark.remote"
    master = master or os.environ.get("SPARK_REMOTE") or "local[*]"
    if master.startswith("sc://"):
        _await_server(master)
        return _started({"spark.remote": master, **QUERY, **config})
    _await_master(master)
    java, home = java_for_spark()
    settings: dict[str, Setting] = {key: master, "spark.ui.showConsoleProgress": False, **QUERY}
    environment = {"JAVA_HOME": str(home)}
    archive = None
    if master.startswith("local"):
        environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        settings |= _local_settings(master)
        if key == "spark.master" and SparkContext._gateway is None:  # noqa: SLF001 - no Java runs
            archive = _archive_of(java, config)
    options = archive.options() if archive else []
    if small and master.startswith("local"):
        options.append("-XX:TieredStopAtLevel=1")
    environment["SPARK_SUBMIT_OPTS"] = _submit_options(options)
    with _environment(environment), warnings.catch_warnings():
        # PySpark's own Connect server takes all settings, then its client offers them once more.
        warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
        spark = _started({**settings, **config})
    if archive is not None:
        context: Any = spark.sparkContext
        class_path = context._jvm.java.lang.System.getProperty("java.class.path")  # noqa: SLF001
        archive.started(context._gateway.proc.pid, class_path)  # noqa: SLF001
    return spark


@contextmanager
def compiled_methods(messages: DataFrame) -> Iterator[None]:
    """Have all compiled that is generated in this block, also in a session that is not ours."""
    spark = getattr(messages, "sparkSession", None)  # what is no DataFrame is refused later
    if spark is None or spark.conf.get(METHOD_LIMIT) != WITHOUT_LIMIT:  # ours, or its user's wish
        yield
        return
    spark.conf.set(METHOD_LIMIT, str(LONGEST_METHOD))
    try:
        yield
    finally:
        spark.conf.set(METHOD_LIMIT, WITHOUT_LIMIT)


def driver_memory(machine: int) -> str:
    """Return how much of a machine's memory (in bytes) Spark's JVM may use, as Spark writes it.

    Examples:
        >>> driver_memory(24 << 30), driver_memory(9 << 30), driver_memory(1 << 30)
        ('8192m', '3072m', '1024m')
    """
    return f"{min(max(machine // 3, GIB), 8 * GIB) >> 20}m"


def _running() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkException:
        return None


def _adapted(
    running: SparkSession, master: str | None, config: Mapping[str, Setting]
) -> SparkSession:
    """Give a session that runs already the settings asked for, if it can take them."""
    if master is not None:
        remote = type(running).__module__.startswith("pyspark.sql.connect")
        current = "sc://…" if remote else running.conf.get("spark.master", "")
        if not (master.startswith("sc://") if remote else master == current):
            raise UserError(
                f"a Spark session on {current} is running, {master} was asked for; "
                "stop the running one first, or name no master and use it"
            )
    for name, setting in config.items():
        if running.conf.get(name, None) == _text(setting):
            continue
        try:
            running.conf.set(name, _text(setting))
        except PySparkException as error:
            raise UserError(
                f"{name} = {_text(setting)} cannot be set on the Spark session that is running; "
                "set it where that session is started, or stop it first"
            ) from error
    return running


def _started(settings: Mapping[str, Setting]) -> SparkSession:
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)  # the exception says it all
    builder = SparkSession.builder.appName("fairlead")
    for name, setting in settings.items():
        builder = builder.config(name, _text(setting))
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise EnvironmentProblem(
            f"Spark did not start on {settings.get('spark.master', 'the given master')}: "
            f"{_first_line(error)}. Check the master, the settings and what Java printed above"
        ) from error


def _text(setting: Setting) -> str:
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _first_line(error: Exception) -> str:
    """Return the line that names the fault, with its cause: Py4J puts it after one of its own."""
    if STOPPED in str(error):  # what PySpark meets where the cluster takes no application
        return "nobody there took the application"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    named = next((line for line in lines if line.startswith(": ")), lines[0])
    caused = [line for line in lines if line.startswith(CAUSED)]
    cause = f" ({caused[-1].removeprefix(CAUSED)})" if caused else ""
    return named.removeprefix(": ").rstrip(".") + cause


def _await_server(url: str) -> None:
    """Make sure that a Spark Connect server answers: a session alone would retry for minutes."""
    need("connect", f"Spark Connect ({url})")
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(url).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=SECONDS_TO_CONNECT)
        except grpc.FutureTimeoutError as error:
            raise EnvironmentProblem(
                f"no Spark Connect server answered at {url} within {SECONDS_TO_CONNECT} seconds; "
                "check the address and that the server runs"
            ) from error


def _await_master(master: str) -> None:
    """Make sure that somebody is there: Spark alone would try for a minute, and not say it."""
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & {*os.environ}:
        raise EnvironmentProblem(
            "Spark master yarn: found neither HADOOP_CONF_DIR nor YARN_CONF_DIR in the "
            "environment, allowed: one that names the folder of the cluster's configuration"
        )
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        place = urlsplit(f"//{address}")
        try:
            port = place.port or PORT
            socket.create_connection((place.hostname, port), SECONDS_TO_CONNECT).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise EnvironmentProblem(
        f"no Spark master answered at {master} ({'; '.join(reasons)}); check the address and that "
        "the master runs"
    )


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for as long as Spark takes to start."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _local_settings(master: str) -> dict[str, Setting]:
    """Return what Spark needs to behave on a single machine, seen by nobody else."""
    scratch = _scratch()
    memory: dict[str, Setting] = (
        {}
        if "SPARK_DRIVER_MEMORY" in os.environ
        else {"spark.driver.memory": driver_memory(_machine_memory())}
    )
    return {
        **memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.extraJavaOptions": shlex.join([f"-Djava.io.tmpdir={scratch}"]),
        # What a Spark that is killed cannot clear away is cleared away with the rest.
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.shuffle.partitions": max(8, 2 * _cores(master)),
        "spark.ui.enabled": False,
        # Else PySpark looks for the caller's line, and for a notebook, at each step of a query.
        "spark.python.sql.dataFrameDebugging.enabled": False,
    }


def _archive_of(java: Java, config: Mapping[str, Setting]) -> ClassArchive | None:
    """Return the archive of classes for a session on this machine; None: it gets none."""
    options = (
        os.environ.get("SPARK_SUBMIT_OPTS", ""),
        config.get("spark.driver.extraJavaOptions", ""),
    )
    folder, spark = cache_folder("classes"), Path(pyspark.__file__).parent
    if folder is None or has_own(" ".join(map(str, options))):
        return None
    if class_folders(spark, str(config.get("spark.driver.extraClassPath", ""))):
        return None
    return ClassArchive(folder, java.executable, java.answer, spark)


def _submit_options(options: Sequence[str]) -> str:
    """Return Java options for the driver that a cluster's own, in its configuration, come after."""
    logs = Path(__file__).with_name("log4j2.properties").as_uri()
    user_options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    defaults = (
        f"-Dlog4j2.configurationFile={logs}",
        f"-Dfairlead.log={SPARK_LOG.begin()}",
        *options,
    )
    return f"{shlex.join(defaults)} {user_options}".rstrip()


def _cores(master: str) -> int:
    number = re.match(r"local\[(\d+)", master)
    return int(number[1]) if number else os.cpu_count() or 1


def _machine_memory() -> int:
    """Return the bytes that this machine, or the container around us, has."""
    limits = []
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    container = Path("/sys/fs/cgroup/memory.max")
    if container.is_file() and (limit := container.read_text().strip()).isdigit():
        limits.append(int(limit))
    return min(limits, default=4 * GIB)


def _scratch() -> str:
    """Return a directory that is there until this process ends."""
    path = tempfile.mkdtemp(prefix="fairlead-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
