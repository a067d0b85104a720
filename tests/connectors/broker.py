"""A broker of Kafka, from its own jars, on the loopback of this machine."""

import base64
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.connectors.environment import PLACE
from tests.ports import free_port

SECONDS = 60
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={scheme}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={scheme}://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
inter.broker.listener.name={scheme}
log.dirs={folder}/data
num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
OVER_TLS = """
ssl.keystore.type=PEM
ssl.keystore.location={own}
ssl.truststore.type=PEM
ssl.truststore.location={peers}
ssl.client.auth=required
"""
"""Brokers speak so among each other, too: one trusts its own certificate."""


class BrokerFiles(NamedTuple):
    """What a broker shows and trusts."""

    own: Path
    """Its key and its certificate."""
    peers: Path
    """The certificates of those who may connect, its own among them."""


@contextmanager
def broker(folder: Path, tls: BrokerFiles | None = None) -> Iterator[str]:
    """Its address. A topic that is written to is made, with three partitions."""
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    scheme = "PLAINTEXT" if tls is None else "SSL"
    text = SETTINGS.format(port=port, controller=controller, folder=folder, scheme=scheme)
    settings.write_text(text + ("" if tls is None else OVER_TLS.format(**tls._asdict())))
    line = [*JAVA, "-cp", str(PLACE / "jars" / "broker" / "*")]
    cluster = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
    form = ["kafka.tools.StorageTool", "format", "-t", cluster.replace("-", "0")]
    done = subprocess.run(
        [*line, *form, "-c", str(settings)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    log = folder / "broker.log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [*line, "kafka.Kafka", str(settings)], stdout=said, stderr=said
        ) as process,
    ):
        try:
            deadline = time.monotonic() + SECONDS
            while not _answers(port):
                assert process.poll() is None, log.read_text()[-2_000:]
                assert time.monotonic() < deadline, log.read_text()[-2_000:]
                time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex(("127.0.0.1", port)) == 0
