"""A standalone Spark cluster on this machine, from the installed package."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark
from tests.cli.commands import SECONDS, children, runs
from tests.ports import free_port

from fairlead.pipeline.spark.java import java_for_spark

DEPLOY = "org.apache.spark.deploy"
CLUSTER = {"SPARK_LOCAL_IP": "127.0.0.1"}
EXECUTOR = "CoarseGrainedExecutorBackend"


class Standalone(NamedTuple):
    """A cluster that runs."""

    url: str
    processes: list[subprocess.Popen[bytes]]
    """The master and the workers."""

    def executors(self) -> list[int]:
        """The processes of its executors."""
        found = []
        seen = [each.pid for each in self.processes]
        while seen:
            process = seen.pop()
            if EXECUTOR in runs(process):
                found.append(process)
            seen += children(process)
        return found


@contextmanager
def cluster(folder: Path, workers: int = 1) -> Iterator[Standalone]:
    """A master and some workers with one core each."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    roles = [("master.Master", ["--port", str(port)], "I have been elected leader")]
    for k in range(workers):
        given = ["-c", "1", "-m", "1g", "-d", str(folder / f"worker-{k}"), url]
        roles.append(("worker.Worker", given, "Successfully reg"))
    with ExitStack() as running:
        processes = []
        for k, (role, more, ready) in enumerate(roles):
            log = folder / f"{role}-{k}.log"
            process = running.enter_context(_process(role, more, log))
            processes.append(process)
            deadline = time.monotonic() + SECONDS
            while ready not in log.read_text(encoding="utf-8"):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield Standalone(url, processes)


@contextmanager
def _process(role: str, more: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"{DEPLOY}.{role}"]
    environment = os.environ | CLUSTER | {"JAVA_HOME": str(java_for_spark()[1])}
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, *place, *more], env=environment, stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
