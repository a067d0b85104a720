"""A server of Spark Connect in a process of its own, for a process cannot use both kinds."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SERVER = """
from tests.connectors.desk import session

spark = session(**{
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": "0",
})
service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
print(getattr(service, "MODULE$").localPort(), flush=True)
input()
"""


@contextmanager
def server() -> Iterator[str]:
    """Its address."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdigit(), "the server did not start"
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.communicate("\n")
