"""The objects of a SmartSockets cluster and its options."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from fairlead.balance.objects import FileTable, Name, Object, WorkerObject
from fairlead.balance.policy import ClusterTables

SUBSCRIBER: Final = "subscriber"
MESSAGE_TYPE: Final = "message_type"
CONNECTED: Final = "connected"
WARM: Final = "warm"
LISTED: Final = "listed"
FAILURE: Final = "failure"
SUCCESS: Final = "success"
Seconds = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class TypeMode(Object, frozen=True, kw_only=True):
    """A type of messages, and the mode that its messages have if they bring none."""

    mode: Literal["none", "round-robin", "weighted", "sorted"] = "none"


class Subscriber(WorkerObject, frozen=True, kw_only=True):
    """A client's subscription to one subject."""

    subject: Name
    queue: str = ""
    """The queue of a store that holds what is published to it; "" is one of its name."""
    load_balanced: bool = True
    """false: it gets every message, and is no member of the balanced list."""
    connected: bool | Literal["warm"] = True
    """warm: disconnected, but remembered."""
    disconnect_mode: Literal["failure", "success", "warm"] = "failure"
    """When it fails: whether it is remembered; in a replay, what becomes of what it held."""


class SmartSocketsOptions(FileTable, frozen=True, kw_only=True):
    """Who may subscribe; in a replay, what happens when a receiver fails or is too slow."""

    subscribers: Literal["listed", "any"] = "listed"
    """any: those that the file does not list, too; it may then list none."""
    on_receiver_failure: Literal["reroute", "nack"] = "reroute"
    zero_receivers: Literal["success", "failure"] = "success"
    delivery_timeout: Seconds = 30
    reconnect_timeout: Seconds = 30


class SmartSocketsTables(ClusterTables, frozen=True, kw_only=True):
    """A cluster file with `policy = "smartsockets"`."""

    options: SmartSocketsOptions = SmartSocketsOptions()
    message_type: list[TypeMode] = []
    subscriber: list[Subscriber] = []


def is_warm(subscriber: Subscriber) -> bool:
    """Whether it is disconnected, but remembered."""
    return subscriber.connected == WARM


def there(subscriber: Subscriber) -> bool:
    """Whether it is remembered: connected, or warm."""
    return subscriber.present and subscriber.connected is not False


def listed(subscriber: Subscriber) -> bool:
    """Whether it stands in its subject's list."""
    return there(subscriber) and subscriber.load_balanced
