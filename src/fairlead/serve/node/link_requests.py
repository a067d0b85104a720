"""What a link asks for besides its address: what is not done here is refused by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fairlead.serve.codec import DescribedValue
from fairlead.serve.node.conditions import INVALID, NOT_FOUND, NOT_IMPLEMENTED
from fairlead.serve.selector import SelectorError, selector
from fairlead.serve.wire.events import Condition, Link, near
from fairlead.serve.wire.names import CUT

SUBJECT: Final = "subject:"
TOPIC: Final = "topic"
"""The capability of an address that is a subject."""
TEMPORARY_TOPIC: Final = "temporary-topic"
SELECTOR: Final = "a selector"
FILTERS: Final[dict[object, str]] = {
    "apache.org:selector-filter:string": SELECTOR,
    0x0000468C00000004: SELECTOR,
    "apache.org:no-local-filter:list": "no-local",
    0x0000468C00000003: "no-local",
}
"""Descriptors of filters without which a receiver would get what it does not want."""
ELSEWHERE: Final = ("/queues/", "/queue/", "/amq/queue/", "queue://")
"""So the addresses of queues begin at brokers where an address is not only a name."""
NO_QUEUES: Final = (
    "/exchanges/",
    "/exchange/",
    "/topics/",
    "/topic/",
    "topic://",
    "$cbs",
    "$management",
)
"""So addresses begin there that are no queue's."""
DEAD_LETTERS: Final = ("/$DeadLetterQueue", "/$deadletterqueue")


def refusal_of_asked(link: Link) -> Condition | None:
    """What a link asks for that is not done here, if it asks for such a thing."""
    names = {"link": link.name, "source": link.source.address, "target": link.target.address}
    for what, name in names.items():
        if name is not None and "\0" in name:
            return Condition(INVALID, f"{what}: {CUT}")
    terminus = near(link)
    if terminus.dynamic and TEMPORARY_TOPIC in terminus.capabilities:
        why = f"capability: found {TEMPORARY_TOPIC}, allowed: a temporary queue, or a subject"
        return Condition(NOT_IMPLEMENTED, why)
    for name, what, value in _filters(link):
        words = f"filter {name[:100]}: found {what}"
        if what != SELECTOR:
            return Condition(NOT_IMPLEMENTED, f"{words}, allowed: none")
        if not link.source.copies or (link.source.address or "").startswith(SUBJECT):
            why = f"{words}, allowed: one on a link that only looks (distribution-mode copy)"
            return Condition(NOT_IMPLEMENTED, why)
        try:
            selector(str(value))
        except SelectorError as error:
            return Condition(INVALID, f"{words}: {error}")
    return None


def _filters(link: Link) -> Iterator[tuple[str, str, Any]]:
    """The filters of a link that are known: name, which it is, and its value."""
    filters = link.source.filter if link.sends else None
    for name, value in filters.items() if isinstance(filters, dict) else ():
        is_described = isinstance(value, DescribedValue)
        descriptor: Any = value.descriptor if is_described else name
        what = FILTERS.get(descriptor) if isinstance(descriptor, str | int) else None
        if what is not None:
            yield str(name), what, value.value if is_described else value


def wanted_of(link: Link) -> Callable[[Mapping[str, Any]], bool] | None:
    """Which messages a link wants, by what selectors know of them; None: all."""
    selectors = [selector(str(value)) for _, what, value in _filters(link) if what == SELECTOR]
    return (lambda facts: all(test(facts) for test in selectors)) if selectors else None


def done_of(link: Link) -> dict[Any, Any]:
    """The filters of a link that only looks which are done: selectors."""
    names = {name for name, what, _ in _filters(link) if what == SELECTOR}
    filters = link.source.filter if isinstance(link.source.filter, dict) else {}
    return {name: value for name, value in filters.items() if str(name) in names}


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
