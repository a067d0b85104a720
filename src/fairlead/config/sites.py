"""Files of queue managers that forward to each other: one file, seen from each of them.

A file of the policy ibm-mq whose channels have addresses describes several sites. From it comes a
cluster for each queue manager, called FILE.QUEUE_MANAGER: the same objects, but its own queue
manager is the local one, and its own receiving channels are no ways for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import Name, Names, WorkerObject, hint, listed
from fairlead.balance.policies.ibm_mq_objects import Channel, IbmMqTables
from fairlead.balance.refusal import read, text_for_number
from fairlead.config.serving import ListenAddress, place_of
from fairlead.errors import ConfigError, UserError

POLICY: Final = "ibm-mq"
AT: Final = "."
"""Between the name of the file's cluster and that of the queue manager which it is seen from."""
OF_ITS_OWN: Final = ("use_queue", "most_recently_used_channels")
"""What a queue manager only says of itself: nobody else asks."""
LONGEST: Final = 10**6
"""Seconds."""


class SiteManager(WorkerObject, frozen=True, kw_only=True):
    """A queue manager, local or not."""

    clusters: Names | UnsetType = UNSET
    use_queue: Literal["local", "any"] = "local"
    most_recently_used_channels: Annotated[int, Meta(ge=1, le=999_999_999)] = 999_999_999
    suspended: bool = False


class SiteChannel(Channel, frozen=True, kw_only=True):
    """A channel, with where its receiving end is, and how it is kept running."""

    address: Name | UnsetType = UNSET
    user: str = ""
    password_file: Name | None = None
    """Paths of files are from the folder of the file that names them."""
    ca: Name | None = None
    """PEM: who signs the certificate of the receiving end; None: those whom the system trusts."""
    certificate: Name | None = None
    """PEM, with its key: who we are."""
    disconnect_after: Decimal = Decimal(60)
    """Seconds without a message; 0: it stays connected."""
    short_retry: Decimal = Decimal(1)
    """Seconds until it is tried again, `short_retries` times."""
    short_retries: Annotated[int, Meta(ge=0, le=1_000_000)] = 10
    long_retry: Decimal = Decimal(60)
    """Seconds, afterwards."""
    rechoose_after: Decimal = Decimal(0)
    """Seconds that it has failed for, after which its messages are chosen for anew; 0: never."""
    batch: Annotated[int, Meta(ge=1, le=4000)] = 1000
    """Messages that are sent as one, at most."""

    def __post_init__(self) -> None:
        for key in ("disconnect_after", "rechoose_after"):
            _check_seconds(key, getattr(self, key), 0)
        for key in ("short_retry", "long_retry"):
            _check_seconds(key, getattr(self, key), Decimal("0.01"))

    @property
    def place(self) -> ListenAddress:
        """Where its receiving end is. Raises UserError."""
        return place_of(str(self.address), "address")


def _check_seconds(key: str, seconds: Decimal, least: Decimal | int) -> None:
    if not (seconds.is_finite() and least <= seconds <= LONGEST):
        raise ValueError(f"{key}: found {seconds}, allowed: seconds, from {least} to {LONGEST}")


class SiteTables(IbmMqTables, frozen=True, kw_only=True):
    """The tables of such a file."""

    queue_manager: SiteManager  # type: ignore[assignment]
    remote: list[SiteManager] = []  # type: ignore[assignment]
    channel: list[SiteChannel] = []  # type: ignore[assignment]


ENDS: Final = frozenset(SiteChannel.__struct_fields__) - frozenset(Channel.__struct_fields__)


class Sites:
    """All queue managers of a file."""

    def __init__(self, name: str, tables: SiteTables) -> None:
        """`of` makes one. `name`: of the file's cluster."""
        self.name = name
        self.tables = tables
        self.managers = {
            manager.name: manager for manager in (tables.queue_manager, *tables.remote)
        }
        """By name, in the order of the file."""

    @classmethod
    def of(cls, plain: Mapping[str, Any], default_name: str) -> Sites:
        """The sites that a cluster's table describes. Raises ConfigError."""
        wrong = text_for_number(plain, SiteTables)
        if wrong:
            raise ConfigError(*wrong)
        tables = read(plain, SiteTables)
        _check(tables)
        sites = cls(default_name if tables.name is UNSET else tables.name, tables)
        for manager in sites.managers:
            sites.cluster(manager)
        return sites

    def cluster(self, manager: str) -> Cluster:
        """What a queue manager chooses among. Raises ConfigError."""
        return Cluster.from_dict(self._seen_from(manager), default_name=self.cluster_name(manager))

    def cluster_name(self, manager: str) -> str:
        """What its cluster is called."""
        return f"{self.name}{AT}{manager}"

    def clusters(self) -> list[Cluster]:
        """One for each queue manager, in the order of the file."""
        return [self.cluster(manager) for manager in self.managers]

    def channels_from(self, manager: str) -> list[SiteChannel]:
        """The channels on which a queue manager sends."""
        return [channel for channel in self.tables.channel if channel.queue_manager != manager]

    def channel(self, name: str) -> SiteChannel | None:
        """A channel of the file."""
        return next((channel for channel in self.tables.channel if channel.name == name), None)

    def _seen_from(self, manager: str) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self.tables, builtin_types=(Decimal,))
        plain["policy"] = POLICY
        plain["name"] = self.cluster_name(manager)
        managers = [
            self._with_clusters(entry) for entry in (plain["queue_manager"], *plain["remote"])
        ]
        plain["queue_manager"] = next(entry for entry in managers if entry["name"] == manager)
        plain["remote"] = [
            {key: value for key, value in entry.items() if key not in OF_ITS_OWN}
            for entry in managers
            if entry["name"] != manager
        ]
        plain["channel"] = [
            {key: value for key, value in entry.items() if key not in ENDS}
            for entry in plain["channel"]
            if entry["queue_manager"] != manager
        ]
        return plain

    def _with_clusters(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A queue manager that says nothing of its clusters is in those of the file's first."""
        return {"clusters": self.tables.queue_manager.clusters, **entry}

    def facts(self) -> dict[str, Any]:
        """What all sites have to say alike, by place: a difference is told by it."""
        facts: dict[str, Any] = {"policy": POLICY}
        plain: dict[str, Any] = msgspec.to_builtins(self.tables, builtin_types=(Decimal,))
        managers = [
            self._with_clusters(entry) for entry in (plain["queue_manager"], *plain["remote"])
        ]
        for kind, entries in (
            ("queue_manager", managers),
            *((kind, plain[kind]) for kind in ("channel", "queue", "alias")),
        ):
            owned = kind in ("queue", "alias")
            for place, entry in enumerate(entries):
                what = f"{kind} {entry['name']!r}" + (
                    f" of {entry['queue_manager']}" if owned else ""
                )
                facts[what] = place if owned else ""
                for key, value in entry.items():
                    if key not in ENDS:
                        facts[f"{what}: {key}"] = str(value)
        for key, value in plain["options"].items():
            facts[f"options: {key}"] = str(value)
        return facts


def first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """Where two sites' files differ first; None: they do not."""
    for what in (*ours, *(what for what in theirs if what not in ours)):
        if ours.get(what) != theirs.get(what):
            found, other = (side.get(what, "nothing") for side in (ours, theirs))
            return f"{what}: found {other!r} there, {found!r} here"
    return None


def has_sites(plain: Mapping[str, Any]) -> bool:
    """Whether a cluster's table is one of several sites."""
    channels = plain.get("channel")
    return plain.get("policy") == POLICY and any(
        isinstance(channel, Mapping) and "address" in channel
        for channel in (channels if isinstance(channels, list) else [])
    )


def _check(tables: SiteTables) -> None:
    if tables.queue_manager.clusters is UNSET:
        raise ConfigError("queue_manager.clusters: found none, allowed: at least one name")
    names: list[str] = []
    for place, manager in enumerate((tables.queue_manager, *tables.remote)):
        where = f"remote[{place}]" if place else "queue_manager"
        if manager.name in names:
            raise ConfigError(f"{where}.name: found {manager.name!r} twice, allowed: once")
        if "@" in manager.name:
            raise ConfigError(f"{where}.name: found {manager.name!r}, allowed: a name without @")
        names.append(manager.name)
    for place, channel in enumerate(tables.channel, start=1):
        for problem in _problems(channel, names):
            raise ConfigError(f"channel[{place}].{problem}")


def _problems(channel: SiteChannel, managers: list[str]) -> Iterator[str]:
    """What is wrong with a channel."""
    if channel.queue_manager not in managers:
        near = hint(channel.queue_manager, managers)
        yield (
            f"queue_manager: found {channel.queue_manager!r}, allowed: the name of a queue manager "
            f"({listed(managers)}){near}"
        )
    if channel.address is UNSET:
        yield (
            "address: found none, allowed: where its receiving end is, as other channels of the "
            "file have it"
        )
        return
    try:
        place = channel.place
    except UserError as error:
        yield str(error)
        return
    if place.port == 0:
        yield f"address: found {channel.address!r}, allowed: a port from 1 to 65535"
    for key in ("ca", "certificate"):
        if getattr(channel, key) is not None and not place.secure:
            yield f"{key}: found one, allowed only where the address is amqps://"
    yield from _login_problems(channel, place)


def _login_problems(channel: SiteChannel, place: ListenAddress) -> Iterator[str]:
    """What is wrong with how a channel logs in."""
    if channel.user and channel.password_file is None:
        yield "password_file: found none, allowed: a file, as there is a user"
    if channel.password_file is not None:
        if not channel.user:
            yield "user: found none, allowed: a name, as there is a password_file"
        if not (place.secure or place.is_here):
            yield f"address: found {channel.address!r}, allowed with a password: amqps://"
