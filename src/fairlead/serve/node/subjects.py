"""Subjects: receivers that subscribe while they are attached, and what is published to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from fairlead.serve import message as messages
from fairlead.serve.message import Incoming
from fairlead.serve.node.calls import Call, Leave, Unit
from fairlead.serve.node.conditions import INVALID, NOT_FOUND, NOT_IMPLEMENTED
from fairlead.serve.node.link_requests import SUBJECT, TOPIC
from fairlead.serve.wire.events import Condition, Link
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.verbs.subscriptions import FAILURE, WAYS

PREFIX: Final = SUBJECT
"""Before the subject in an address."""
WILDCARDS: Final = ("*", "...")
LOAD_BALANCING: Final = "load-balancing"
NAME: Final = "name"
DISCONNECT_MODE: Final = "disconnect-mode"
"""Properties of a receiver's link."""
MODE: Final = "x-opt-fairlead-mode"
DELIVERY: Final = "x-opt-fairlead-delivery"
"""Annotations of a message."""
SOME: Final = "some"
GONE: Final = "gone"
WARM: Final = "warm"
FAILED: Final = "failed"


def subject_in(address: str | None) -> str | None:
    """The subject that an address names, if it names one."""
    if address is None or not address.startswith(PREFIX):
        return None
    return address.removeprefix(PREFIX)


def refusal_of(subject: str) -> Condition | None:
    """Why a subject cannot be one."""
    if not subject:
        return Condition(NOT_FOUND, f"found no subject, allowed: {PREFIX}NAME")
    if any(wildcard in subject for wildcard in WILDCARDS):
        why = f"{PREFIX}{subject}: wildcards in subjects ({' and '.join(WILDCARDS)}) are not known"
        return Condition(NOT_IMPLEMENTED, why)
    return None


def said_in(
    incoming: Incoming, subject: str, server: str, *, is_topic: bool = False
) -> dict[str, Any] | Condition:
    """What a message says that decides who of a subject's subscribers gets it.

    `is_topic`: whether the address was called a topic: what is durable is kept there for those
    who are away, and its publisher does not wait for them.
    """
    attributes = {"subject": subject, "server": server}
    for annotation, name in ((MODE, "mode"), (DELIVERY, "delivery")):
        value = incoming.annotations.get(annotation)
        if value is None:
            continue
        if not isinstance(value, str):
            return Condition(INVALID, f"{annotation}: found {messages.plain(value)!r}")
        attributes[name] = str(value)
    if is_topic and incoming.durable and DELIVERY not in incoming.annotations:
        attributes["delivery"] = SOME
    return {key: value for key, value in attributes.items() if value}


class SubjectRequest(Struct, frozen=True):
    """What a receiver's link wants of a subject."""

    host: str
    """The virtual host: the project."""
    subject: str
    name: str
    """The subscriber's, which is unique in its subject."""
    load_balanced: bool
    durable: bool
    """Whether it is remembered while it is away."""
    disconnect_mode: str
    """What it means that its connection is lost: failure, success or warm."""


def wanted_by(link: Link, subject: str, container: str, host: str) -> SubjectRequest | Condition:
    """What a link's source and properties say."""
    properties = _properties(link)
    name = properties.get(NAME, name_by(link, container))
    if not isinstance(name, str) or not name:
        return Condition(INVALID, f"{NAME}: found {name!r}, allowed: a text, or a container id")
    balanced = properties.get(LOAD_BALANCING, True)
    if not isinstance(balanced, bool):
        return Condition(INVALID, f"{LOAD_BALANCING}: found {balanced!r}, allowed: true or false")
    mode = _mode_of_disconnecting(link)
    if mode not in WAYS:
        return Condition(INVALID, f"{DISCONNECT_MODE}: found {mode!r}, allowed: {', '.join(WAYS)}")
    return SubjectRequest(host, subject, str(name), balanced, is_durable(link), str(mode))


def name_by(link: Link, container: str) -> str:
    """The subscriber's name, where no property says it: of a topic, each link is one."""
    if TOPIC not in link.source.capabilities and not link.source.absent:
        return container
    return f"{container}:{link.name}"


def _properties(link: Link) -> dict[str, Any]:
    return {str(key): value for key, value in link.properties.items()}


def _mode_of_disconnecting(link: Link) -> object:
    return _properties(link).get(DISCONNECT_MODE, WARM if _outlives(link) else FAILURE)


def _outlives(link: Link) -> bool:
    return link.source.durable or link.source.expires == "never"


def is_durable(link: Link) -> bool:
    """Whether its subscriber is remembered while it is away."""
    return _outlives(link) or _mode_of_disconnecting(link) == WARM


class Subscribers:
    """Who has subscribed by links of this server."""

    def __init__(self, ask: Callable[[Call], None], submit: Callable[[Unit], None]) -> None:
        """Nobody. `ask`: a call of the store; `submit`: a unit, in its order."""
        self._ask, self._submit = ask, submit
        self._by_subject: dict[tuple[str, str], dict[Subscription, set[int]]] = {}
        """Cluster and subject → its subscriptions here → the links by which each is used."""
        self.leaving = 0
        """Subscriptions that have ended, and the store does not know it yet."""

    def joined(self, subscription: Subscription, link: Link) -> None:
        """A link has subscribed."""
        subscriptions = self._by_subject.setdefault(
            (subscription.cluster, subscription.subject), {}
        )
        subscriptions.setdefault(subscription, set()).add(id(link))

    def queues(self, cluster: str, subject: str) -> list[str]:
        """Those of a subject's subscribers at this server."""
        return [subscription.queue for subscription in self._by_subject.get((cluster, subject), ())]

    def left(self, subscription: Subscription, link: Link, *, closed: bool, orderly: bool) -> None:
        """A link has ended. What it gives back is stored before its subscription ends."""
        key = subscription.cluster, subscription.subject
        subscriptions = self._by_subject.get(key, {})
        links = subscriptions.get(subscription, set())
        links.discard(id(link))
        if links:
            return
        subscriptions.pop(subscription, None)
        if not subscriptions:
            self._by_subject.pop(key, None)
        self.leaving += 1
        how = GONE
        if is_durable(link) and not (closed and orderly):
            how = WARM if orderly else FAILED
        self._submit(Unit(lambda _unit, _error: self._leave(subscription, how)))

    def _leave(self, subscription: Subscription, how: str) -> None:
        if subscription in self._by_subject.get((subscription.cluster, subscription.subject), ()):
            self.leaving -= 1  # it has come back meanwhile
        else:
            self._ask(Leave(subscription, how))

    def has_left(self, call: Leave) -> list[str]:
        """The store knows it; queues to which something of what it had may have gone."""
        self.leaving -= 1
        return self.queues(call.subscription.cluster, call.subscription.subject)
