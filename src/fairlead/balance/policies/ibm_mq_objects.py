"""The objects of an IBM MQ cluster and what their attributes allow.

Channel attributes are those of the receiving end (CLUSRCVR).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.objects import FileTable, Name, Names, Object, WorkerObject, hint, listed
from fairlead.balance.policy import ClusterTables
from fairlead.errors import ConfigError

LOCAL: Final = "local"
TRANSMISSION: Final = "channel:"
"""So the names of transmission queues begin."""

Grade: TypeAlias = Annotated[int, Meta(ge=0, le=9)]
ChannelState: TypeAlias = Literal[
    "inactive",
    "running",
    "binding",
    "initializing",
    "starting",
    "stopping",
    "retrying",
    "requesting",
    "paused",
    "stopped",
]

LADDER: Final[tuple[tuple[str, ...], ...]] = (
    ("inactive", "running"),
    ("binding", "initializing", "starting", "stopping"),
    ("retrying",),
    ("requesting", "paused", "stopped"),
)
"""Classes of channel states, the best first (steps 6 to 9)."""


class LocalQueueManager(WorkerObject, frozen=True, kw_only=True):
    """The queue manager that messages are put to."""

    clusters: Annotated[Names, Meta(min_length=1)]
    use_queue: Literal["local", "any"] = "local"
    most_recently_used_channels: Annotated[int, Meta(ge=1, le=999_999_999)] = 999_999_999
    suspended: bool = False


class Remote(WorkerObject, frozen=True, kw_only=True):
    """Another queue manager; its clusters, if not given, are the local one's."""

    clusters: Names | UnsetType = UNSET
    suspended: bool = False


class Channel(Object, frozen=True, kw_only=True):
    """A way to a remote queue manager; its clusters, if not given, are the queue manager's."""

    queue_manager: Name
    clusters: Names | UnsetType = UNSET
    state: ChannelState = "running"
    rank: Grade = 0
    priority: Grade = 0
    weight: Annotated[int, Meta(ge=1, le=99)] = 50
    network_priority: Grade = 0
    manual: bool = False


class QueueInstance(Object, frozen=True, kw_only=True):
    """One instance of a queue."""

    queue_manager: Name
    clusters: Names | UnsetType = UNSET
    put_enabled: bool = True
    rank: Grade = 0
    priority: Grade = 0
    use_queue: Literal["local", "any", "queue-manager"] = "queue-manager"
    bind: Literal["on-open", "not-fixed", "on-group"] = "on-open"


class Alias(Object, frozen=True, kw_only=True):
    """A queue manager alias on a queue manager."""

    queue_manager: Name
    clusters: Names | UnsetType = UNSET
    put_enabled: bool = True
    rank: Grade = 0
    priority: Grade = 0


class IbmMqOptions(FileTable, frozen=True, kw_only=True):
    """`literal_step_11`: 11a only where a queue manager is chosen, 11b only where a queue is."""

    literal_step_11: bool = False


class IbmMqTables(ClusterTables, frozen=True, kw_only=True):
    """A cluster file with `policy = "ibm-mq"`."""

    options: IbmMqOptions = IbmMqOptions()
    queue_manager: LocalQueueManager
    remote: list[Remote] = []
    channel: list[Channel] = []
    queue: list[QueueInstance] = []
    alias: list[Alias] = []


def transmission_queue(channel: str) -> str:
    """The queue of a store in which messages wait for a channel."""
    return f"{TRANSMISSION}{channel}"


def workload(channel: Channel) -> tuple[Any, ...]:
    """The attributes whose change resets all factors."""
    return (channel.rank, channel.priority, channel.weight, channel.network_priority)


def check(tables: IbmMqTables) -> None:
    """Names stand once, and what they name is there. Raises ConfigError."""
    if not (tables.channel or tables.queue or tables.alias):
        raise ConfigError("queue: found none, allowed: at least one [[queue]] or [[channel]]")
    remotes = [remote.name for remote in tables.remote]
    known_remotes = set(remotes)
    seen: set[str] = set()
    for k, channel in enumerate(tables.channel):
        if channel.name in seen:
            raise ConfigError(f"channel {channel.name!r}: found twice, allowed: once")
        if channel.name == LOCAL:
            raise ConfigError(
                f"channel[{k + 1}].name: found 'local', allowed: any other name; "
                "it stands for the local queue manager's own instance"
            )
        seen.add(channel.name)
        if channel.queue_manager not in known_remotes:
            raise ConfigError(
                f"channel[{k + 1}].queue_manager: found {channel.queue_manager!r}, "
                f"allowed: the name of a [[remote]] ({listed(remotes) or 'there is none'})"
                f"{hint(channel.queue_manager, remotes)}"
            )
    placed: dict[str, Sequence[QueueInstance | Alias]] = {
        "queue": tables.queue,
        "alias": tables.alias,
    }
    for kind, objects in placed.items():
        for k, entry in enumerate(objects):
            known = [tables.queue_manager.name, *remotes]
            if entry.queue_manager not in known:
                raise ConfigError(
                    f"{kind}[{k + 1}].queue_manager: found {entry.queue_manager!r}, "
                    f"allowed: {listed(known)}{hint(entry.queue_manager, known)}"
                )
