"""Topics of Kafka, by what a command names them: which columns their messages have, and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fairlead.balance.objects import hint, listed, shown
from fairlead.errors import UserError
from fairlead.runs.paths import URL

KAFKA: Final = "kafka:"
"""How the name of a topic begins."""
COLUMNS: Final = (
    *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
)
"""What a message of a topic has: `key` and `value` are bytes, `headers` is name → bytes."""
DEFAULTS: Final[Mapping[str, str]] = {
    # Offsets are padded: those of one millisecond are decided in the order of their partition.
    "id": "concat(topic, '/', partition, '/', lpad(string(offset), 19, '0'))",
    "time": "timestamp",
    "group": "string(key)",
}
"""What a message is made of where --column says nothing else."""
OPTIONS: Final = (
    *("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"),
    *("startingOffsetsByTimestampStrategy", "maxOffsetsPerTrigger", "minOffsetsPerTrigger"),
    *("maxTriggerDelay", "minPartitions", "maxRecordsPerPartition", "failOnDataLoss"),
    *("groupIdPrefix", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries"),
    "fetchOffset.retryIntervalMs",
)
"""What Spark reads, but for what is said otherwise; others would have no effect."""
OF_CLIENT: Final = "kafka."
"""How options of Kafka's own client begin."""
SECRET: Final = ("password", "jaas", "secret", "keystore.key")
"""What names of options have whose value nobody else may see."""
REFERENCE: Final = re.compile(r"\$\{[^}]+\}")
"""A value that Kafka's client looks up by itself."""
SERVERS: Final = "kafka.bootstrap.servers"


def topics_of(where: str) -> list[str]:
    """The topics that are named, one or several.

    >>> topics_of("kafka:orders,returns")
    ['orders', 'returns']

    Raises UserError.
    """
    topics = where.removeprefix(KAFKA).split(",")
    if any(not topic or topic != topic.strip() for topic in topics):
        raise UserError(f"{where}: found no topic, allowed: {KAFKA}TOPIC, or {KAFKA}ONE,OTHER")
    return topics


def brokers_of(servers: str) -> list[tuple[str, int]]:
    """Hosts and ports.

    >>> brokers_of("kafka-1:9092,[::1]:9093")
    [('kafka-1', 9092), ('::1', 9093)]

    Raises UserError.
    """
    brokers = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or URL.match(server) or not port.isdecimal() or not 0 < int(port) <= 65_535:
            raise UserError(
                f"--kafka: found {shown(server)}, allowed: HOST:PORT, or several with ,"
            )
        brokers.append((host.strip("[]"), int(port)))
    return brokers


def checked(options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's reader.

    Raises UserError for one that would have no effect, and for a secret on a command line.
    """
    folded = {name.lower(): name for name in OPTIONS}
    settings: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() == SERVERS:
            raise UserError(f"--read-option: found {name}, allowed: --kafka HOST:PORT")
        if name.lower() not in folded and not name.startswith(OF_CLIENT):
            raise UserError(
                f"--read-option: found {shown(name)}, allowed for a topic: options of Kafka's "
                f"client, such as kafka.security.protocol; {listed(OPTIONS)}{hint(name, OPTIONS)}"
            )
        if any(word in name.lower() for word in SECRET) and not REFERENCE.fullmatch(value):
            raise UserError(
                f"--read-option: found a secret, {name}, on the command line, allowed: "
                "${file:/path/to.properties:NAME}, with kafka.config.providers=file"
            )
        settings[folded.get(name.lower(), name)] = value
    return settings
