"""What a link asks for besides its address: what is not done here is refused by its name."""

from __future__ import annotations

from typing import Any, Final

from fairlead.serve.codec import Described
from fairlead.serve.node.conditions import NOT_FOUND, NOT_IMPLEMENTED
from fairlead.serve.wire.records import Condition, Link, near

TOPIC: Final = "topic"
"""The capability of an address that is a subject."""
TEMPORARY_TOPIC: Final = "temporary-topic"
FILTERS: Final[dict[object, str]] = {
    "apache.org:selector-filter:string": "a selector",
    0x0000468C00000004: "a selector",
    "apache.org:no-local-filter:list": "no-local",
    0x0000468C00000003: "no-local",
}
"""Descriptors of filters without which a receiver would get what it does not want."""
ELSEWHERE: Final = ("/queues/", "/queue/", "/amq/queue/", "queue://")
"""So the addresses of queues begin at brokers where an address is not only a name."""
NO_QUEUES: Final = ("/exchanges/", "/exchange/", "/topics/", "/topic/", "topic://", "$")
"""So addresses begin there that are no queue's."""
DEAD_LETTERS: Final = ("/$DeadLetterQueue", "/$deadletterqueue")


def refusal_of_asked(link: Link) -> Condition | None:
    """What a link asks for that is not done here, if it asks for such a thing."""
    terminus = near(link)
    if terminus.dynamic and TEMPORARY_TOPIC in terminus.capabilities:
        why = f"capability: found {TEMPORARY_TOPIC}, allowed: a temporary queue, or a subject"
        return Condition(NOT_IMPLEMENTED, why)
    filters = link.source.filter if link.sends else None
    for name, value in filters.items() if isinstance(filters, dict) else ():
        descriptor: Any = value.descriptor if isinstance(value, Described) else name
        what = FILTERS.get(descriptor) if isinstance(descriptor, str | int) else None
        if what is not None:
            why = f"filter {str(name)[:100]}: found {what}, allowed: none; all messages are given"
            return Condition(NOT_IMPLEMENTED, why)
    return None


def refusal_of_form(address: str) -> Condition | None:
    """Why an address is not one of a queue here, where it has another broker's form."""
    for prefix in ELSEWHERE:
        if address.startswith(prefix):
            why = f"found an address that begins with {prefix}, allowed: the queue's name alone"
            return Condition(NOT_FOUND, f"address: {why}: {address.removeprefix(prefix)}")
    for prefix in NO_QUEUES:
        if address.startswith(prefix):
            why = (
                f"found an address that begins with {prefix}, allowed: a queue's or cluster's name"
            )
            return Condition(NOT_FOUND, f"address: {why}, or subject:NAME")
    if address.endswith(DEAD_LETTERS):
        why = (
            "found a dead-letter queue, allowed: a queue; dead letters are read with fairlead dead"
        )
        return Condition(NOT_FOUND, f"address: {why}")
    return None
