"""What a cluster file says to a socket: the policy, and the table of each destination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from fairlead.balance.change import PRESENT, STATE
from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import listed, repr_of, shown
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.policy import Policy
from fairlead.config.clusters import load_clusters
from fairlead.errors import ConfigError, SocketError
from fairlead.sockets.addresses import ALLOWED, Address
from fairlead.sockets.peers import NAME, UP

ADDRESS: Final = "address"
SEEN: Final = (PRESENT, STATE, "speed", "readers", "queue", ADDRESS)
"""What is seen of a peer, and so not said when it is connected."""
NOT_CHANGED: Final = (NAME, ADDRESS, PRESENT, STATE, "speed", "readers", "queue")
"""Of a destination: what it is here, and what a socket does not look at."""


def tables_of(cluster: Cluster) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What a file says of the whole, and of each destination that is to be there, by its name.

    Raises ConfigError for a policy that sockets cannot ask, SocketError for an address.
    """
    if not _can_be_asked(cluster.policy):
        allowed = [policy.name for policy in POLICIES.values() if _can_be_asked(policy)]
        raise ConfigError(
            f"policy: found {cluster.policy.name!r}, allowed: one that chooses one destination of "
            f"[[{KIND}]] tables: {listed(allowed)}"
        )
    plain = {NAME: cluster.name, **cluster.to_dict()}
    tables = {}
    for table in plain.pop(KIND):
        if table.get(PRESENT, True) and table.get(STATE, UP) == UP:
            tables[table[NAME]] = {**table, ADDRESS: _address(table)}
    return plain, tables


def differences(before: Cluster, after: Cluster) -> list[str]:
    """What `follow` takes over of a change, in words: who is new, who is gone, what is another."""
    old, new = tables_of(before)[1], tables_of(after)[1]
    lines = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("added", [name for name in new if name not in old]),
            ("removed", [name for name in old if name not in new]),
        )
        if names
    ]
    for name, table in new.items():
        looked_at = {*table} - {*NOT_CHANGED} | {ADDRESS}
        attributes = [
            f"{key} {shown(table[key])}"
            for key in sorted(looked_at)
            if name in old and table[key] != old[name][key]
        ]
        if attributes:
            lines.append(f"{name}: {', '.join(attributes)}")
    return lines or ["found no change of a destination"]


def cluster_of(path: str | Path, name: str = "") -> Cluster:
    """The cluster of a file, or the one of this name if there are several.

    Raises ConfigError and, for an address, SocketError; each names the file.
    """
    clusters = load_clusters(path)
    named = [cluster for cluster in clusters if name in ("", cluster.name)]
    if len(named) != 1:
        names = listed([cluster.name for cluster in clusters])
        raise ConfigError(f"{path}: cluster: found {repr_of(name)}, allowed: one of {names}")
    try:
        tables_of(named[0])
    except (ConfigError, SocketError) as error:
        raise type(error)(f"{path}: {error}") from None
    return named[0]


def check_said(attributes: Iterable[str]) -> None:
    """Refuse what is seen of a peer, and not said. Raises SocketError."""
    for key in attributes:
        if key in SEEN:
            raise SocketError(
                f"endpoint: found {key!r}, which is seen of a peer and not said, allowed: what "
                "its policy reads, such as priority or capacity"
            )


def attributes_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a destination beside its name and address."""
    return {key: value for key, value in table.items() if key not in (NAME, ADDRESS)}


def _can_be_asked(policy: Policy) -> bool:
    return KIND in policy.kinds and not policy.fans_out


def _address(table: dict[str, Any]) -> str:
    """Where a destination is; its name can be its address."""
    name, address = table[NAME], table.get(ADDRESS)
    try:
        return Address.of(address or name).to_connect().url
    except SocketError as error:
        reason = error if address else f"{ADDRESS}: found none, {ALLOWED}"
        raise SocketError(f"{KIND} {name!r}: {reason}") from None
