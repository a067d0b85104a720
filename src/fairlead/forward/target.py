"""Where a queue's messages leave to, and how: what a cluster's file and the store say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import hint, listed
from fairlead.balance.outside import (
    SCHEMES,
    Forwarding,
    ForwardKeys,
    OutsideAddress,
    outside,
)
from fairlead.balance.policies.destinations import ListTables
from fairlead.errors import ConfigError
from fairlead.store.clusters.shares import PoolShares

TIMEOUT: Final = 30.0
"""Seconds for a whole answer, where the file does not say."""
PATHS: Final = ("password_file", "token_file", "ca", "certificate", "key")


class OutsideTarget(NamedTuple):
    """A destination outside, as it is now."""

    cluster: str
    name: str
    queue: str
    address: OutsideAddress
    readers: int
    """So many messages at most are under way to it at one time."""
    is_up: bool
    """Whether it can take anything, as far as its cluster knows."""
    keys: ForwardKeys
    """Its paths are those that can be opened from here."""

    @property
    def timeout(self) -> float:
        """Seconds for a whole answer."""
        return TIMEOUT if self.keys.timeout is UNSET else float(self.keys.timeout)

    @property
    def called(self) -> str:
        """As logs and errors name it."""
        return f"{self.name}@{self.cluster}"


class ForwardFile(NamedTuple):
    """A file of clusters with destinations outside."""

    path: Path
    clusters: Sequence[Cluster]

    @property
    def listing(self) -> list[Cluster]:
        """The clusters that list their destinations: of others an address means something else."""
        return [member for member in self.clusters if isinstance(member.tables, ListTables)]

    def forwarding(self, cluster: str) -> Forwarding:
        """What it says of how a cluster's messages leave."""
        return next(forwarding_of(member) for member in self.clusters if member.name == cluster)


def forwarding_of(cluster: Cluster) -> Forwarding:
    """What a cluster's file says of how messages leave; nothing, under a policy that has none."""
    tables = cluster.tables
    table = tables.forward if isinstance(tables, ListTables) else UNSET
    return Forwarding() if table is UNSET else table


def check_file(file: ForwardFile) -> set[str]:
    """Refuse a file none of whose destinations is outside, or that says what has no effect.

    Returns the schemes of those that are. Raises ConfigError.
    """
    addresses: list[OutsideAddress | None] = []
    for cluster in file.clusters:
        tables = cluster.tables
        destinations = tables.destination if isinstance(tables, ListTables) else []
        addresses += [_address(file, cluster, destination) for destination in destinations]
        names = [destination.name for destination in destinations]
        for table in forwarding_of(cluster).to:
            if table.name not in names:
                raise ConfigError(
                    f"{file.path}: cluster {cluster.name!r}: forward.to: found {table.name!r}, "
                    f"allowed: {listed(names)}{hint(table.name, names)}"
                )
    schemes = {address.scheme for address in addresses if address is not None}
    if not schemes:
        raise ConfigError(
            f"{file.path}: found no destination outside, allowed: at least one [[destination]] "
            f"whose address begins with {listed(f'{scheme}://' for scheme in SCHEMES)}"
        )
    return schemes


def _address(file: ForwardFile, cluster: Cluster, destination: Any) -> OutsideAddress | None:  # noqa: ANN401 - a table of the policy's own
    where = f"{file.path}: cluster {cluster.name!r}: destination {destination.name!r}"
    try:
        return outside(destination.address)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def targets(pool: PoolShares, forwarding: Forwarding, folder: Path) -> Iterator[OutsideTarget]:
    """The destinations outside of a cluster as it is now. `folder`: from which paths go.

    One whose address was changed to something that nobody understands is left out.
    """
    for machine in pool.machines:
        try:
            address = outside(machine.address or "")
        except ValueError:
            continue
        if address is None:
            continue
        attributes = machine.attributes
        yield OutsideTarget(
            pool.name,
            machine.name,
            machine.queue,
            address,
            attributes.get("readers", 1),
            attributes.get("state", "up") == "up",
            _opened_from(folder, forwarding.of(machine.name)),
        )


def check_queues(every: Iterable[OutsideTarget]) -> None:
    """Refuse destinations at two addresses that share a queue. Raises ConfigError."""
    by_queue: dict[str, OutsideTarget] = {}
    for target in every:
        other = by_queue.setdefault(target.queue, target)
        if other.called != target.called:
            raise ConfigError(
                f"forward: found the queue {target.queue!r} at {other.called} and at "
                f"{target.called}, allowed: a queue for each destination (its key queue)"
            )


def _opened_from(folder: Path, keys: ForwardKeys) -> ForwardKeys:
    from msgspec.structs import replace

    paths = {name: str(folder / value) for name in PATHS if (value := getattr(keys, name))}
    return replace(keys, **paths)
