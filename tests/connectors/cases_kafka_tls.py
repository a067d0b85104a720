"""Topics are followed over TLS, and no secret is seen: the broker asks for a certificate, too."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession
from tests.cli.commands import STAGE
from tests.connectors.broker import BrokerFiles, broker
from tests.connectors.desk import ROWS, done, messages, pool, refused, session
from tests.connectors.environment import jars
from tests.sockets.identity import new_identity, openssl

pytestmark = pytest.mark.slow

FOLLOW = ("--follow", "--available-now", "--no-report")
PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
PASSWORD = "hush-4711"  # noqa: S105
REFUSED = "cannot be read: SSL handshake failed: Path does not chain with any of the trust anchors"
SECONDS = 300
"""Until a refused command has ended: Kafka's client gives up long before."""


class Secured(NamedTuple):
    """A broker that speaks TLS alone."""

    address: str
    ca: Path
    """What signed its certificate."""
    client: Path
    """A key with a password, and a certificate that the broker trusts."""
    properties: Path
    """The file with the password."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    running = session("kafka")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    server, client = (new_identity(made(folder / name)) for name in ("server", "client"))
    own, peers, theirs = (folder / f"{name}.pem" for name in ("own", "peers", "client"))
    own.write_text(server.key.read_text() + server.certificate.read_text())
    peers.write_text(server.certificate.read_text() + client.certificate.read_text())
    locked = folder / "locked.pem"
    # Of newer ways to encrypt a key, Kafka's client can read none on Java 17.
    encrypted = "pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{PASSWORD}"
    openssl(*encrypted, "-in", str(client.key), "-out", str(locked))
    theirs.write_text(locked.read_text() + client.certificate.read_text())
    properties = folder / "kafka.properties"
    properties.write_text(f"key={PASSWORD}\n")
    with broker(made(folder / "broker"), BrokerFiles(own, peers)) as address:
        yield Secured(address, server.certificate, theirs, properties)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def options_of(secured: Secured, ca: Path) -> dict[str, str]:
    """Options of Kafka's client."""
    return {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(ca),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": str(secured.client),
        "kafka.ssl.key.password": f"${{file:{secured.properties}:key}}",
        "kafka.config.providers": "file",
        "kafka.config.providers.file.class": PROVIDER,
    }


def command_of(secured: Secured, ca: Path, folder: Path, topic: str = "calls") -> list[str]:
    options = options_of(secured, ca).items()
    return [
        *("dispatch", f"kafka:{topic}", "-c", pool(folder), "-o", str(folder / "out"), *FOLLOW),
        *("--kafka", secured.address),
        *(word for name, value in options for word in ("--read-option", f"{name}={value}")),
    ]


def send(spark: SparkSession, secured: Secured, topic: str, first: int = 0) -> None:
    sent = messages(spark, first=first).selectExpr("group AS key", "id AS value")
    to = sent.write.format("kafka").options(**options_of(secured, secured.ca))
    to.option("kafka.bootstrap.servers", secured.address).option("topic", topic).save()


def test_a_topic_is_followed_over_tls(
    spark: SparkSession, secured: Secured, tmp_path: Path
) -> None:
    send(spark, secured, "calls")
    given = command_of(secured, secured.ca, tmp_path)
    assert f"in {ROWS} = decided {ROWS} + rejected 0" in done(*given)
    send(spark, secured, "calls", ROWS)
    assert f"in {2 * ROWS} = decided {2 * ROWS} + rejected 0" in done(*given)
    kept = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert [file for file in kept if PASSWORD.encode() in file.read_bytes()] == []


def test_another_certificate_is_refused_in_a_line(
    spark: SparkSession, secured: Secured, tmp_path: Path
) -> None:
    send(spark, secured, "trusted")
    other = new_identity(made(tmp_path / "other")).certificate
    line = refused(*command_of(secured, other, tmp_path, "trusted"))
    assert line == f"kafka:trusted: {REFUSED}"


def test_no_secret_is_in_what_a_refused_command_says(secured: Secured, tmp_path: Path) -> None:
    """All that it says is a line, whatever Spark and Kafka's client would log."""
    other = new_identity(made(tmp_path / "other")).certificate
    ended = subprocess.run(
        [sys.executable, "-m", "fairlead", *command_of(secured, other, tmp_path)],
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": f"--jars {jars('kafka')} pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ended.returncode == 2, ended.stderr
    assert [line for line in ended.stderr.splitlines() if not STAGE.fullmatch(line)] == [
        f"fairlead: kafka:calls: {REFUSED}"
    ]
    assert PASSWORD not in ended.stdout + ended.stderr
