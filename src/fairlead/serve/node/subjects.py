"""Subjects: receivers that subscribe while they are attached, and what is published to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from fairlead.serve import message as messages
from fairlead.serve.message import Incoming
from fairlead.serve.node.calls import Call, Leave, Subscribe, Unit
from fairlead.serve.node.conditions import INVALID, NOT_FOUND, NOT_IMPLEMENTED
from fairlead.serve.wire.records import Condition, Link
from fairlead.store.clusters.subscription import Subscription

PREFIX: Final = "subject:"
"""Before the subject in an address."""
WILDCARDS: Final = ("*", "...")
LOAD_BALANCING: Final = "load-balancing"
NAME: Final = "name"
"""Properties of a receiver's link."""
MODE: Final = "x-opt-fairlead-mode"
DELIVERY: Final = "x-opt-fairlead-delivery"
"""Annotations of a message."""
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
    if "*" in subject or "..." in subject:
        why = f"{PREFIX}{subject}: wildcards in subjects ({' and '.join(WILDCARDS)}) are not known"
        return Condition(NOT_IMPLEMENTED, why)
    return None


def said_in(found: Incoming, subject: str, server: str) -> dict[str, Any] | Condition:
    """What a message says that decides who of a subject's subscribers gets it."""
    said = {"subject": subject, "server": server}
    for annotation, name in ((MODE, "mode"), (DELIVERY, "delivery")):
        value = found.annotations.get(annotation)
        if value is None:
            continue
        if not isinstance(value, str):
            return Condition(INVALID, f"{annotation}: found {messages.plain(value)!r}")
        said[name] = str(value)
    return {key: value for key, value in said.items() if value}


class Wanted(Struct, frozen=True):
    """What a receiver's link wants of a subject."""

    host: str
    """The virtual host: the project."""
    subject: str
    name: str
    """The subscriber's, which is unique in its subject."""
    load_balanced: bool
    durable: bool
    """Whether it is remembered while it is away."""


def wanted_by(link: Link, subject: str, container: str, host: str) -> Wanted | Condition:
    """What a link's source and properties say."""
    properties = {str(key): value for key, value in link.properties.items()}
    name = properties.get(NAME, container)
    if not isinstance(name, str) or not name:
        return Condition(INVALID, f"{NAME}: found {name!r}, allowed: a text, or a container id")
    balanced = properties.get(LOAD_BALANCING, True)
    if not isinstance(balanced, bool):
        return Condition(INVALID, f"{LOAD_BALANCING}: found {balanced!r}, allowed: true or false")
    durable = link.source.durable or link.source.expires == "never"
    return Wanted(host, subject, str(name), balanced, durable)


class Subscribers:
    """Who has subscribed by links of this server."""

    def __init__(self, ask: Callable[[Call], None], submit: Callable[[Unit], None]) -> None:
        """Nobody. `ask`: a call of the store; `submit`: a unit, in its order."""
        self._ask, self._submit = ask, submit
        self._links: dict[Subscription, set[int]] = {}
        """Subscription → the links by which it is used; a client may have several."""
        self.leaving = 0
        """Subscriptions that have ended, and the store does not know it yet."""
        self._queues: dict[tuple[str, str], list[str]] = {}
        """Cluster and subject → where its subscribers here find their messages."""

    def join(self, wanted: Wanted, owner: Any) -> None:  # noqa: ANN401 - the node's
        """A link is to subscribe; `done` is called with its Subscription."""
        self._ask(Subscribe(wanted, owner))

    def joined(self, found: Subscription, link: Link) -> None:
        """A link has subscribed."""
        self._links.setdefault(found, set()).add(id(link))
        queues = self._queues.setdefault((found.cluster, found.subject), [])
        if found.queue not in queues:
            queues.append(found.queue)

    def queues(self, cluster: str, subject: str) -> list[str]:
        """Those of a subject's subscribers at this server."""
        return self._queues.get((cluster, subject), [])

    def left(
        self, found: Subscription, link: Link, *, durable: bool, closed: bool, orderly: bool
    ) -> None:
        """A link has ended. What it gives back is stored before its subscription ends."""
        links = self._links.get(found, set())
        links.discard(id(link))
        if links:
            return
        self._links.pop(found, None)
        key = found.cluster, found.subject
        self._queues[key] = [each for each in self._queues.get(key, []) if each != found.queue]
        if not self._queues[key]:
            del self._queues[key]
        self.leaving += 1
        how = GONE
        if durable and not (closed and orderly):
            how = WARM if orderly else FAILED
        self._submit(Unit(lambda _unit, _error: self._leave(found, how)))

    def _leave(self, found: Subscription, how: str) -> None:
        if found in self._links:  # it has come back meanwhile
            self.leaving -= 1
        else:
            self._ask(Leave(found, how))

    def has_left(self, call: Leave) -> list[str]:
        """The store knows it; queues to which something of what it had may have gone."""
        self.leaving -= 1
        return self.queues(call.subscription.cluster, call.subscription.subject)
