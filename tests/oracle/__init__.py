"""Oracles: the plainest possible reading of each documented system.

Every engine is held against these. They are written for being checked by eye against the
documents: exact fractions, lists and sorting, one message at a time, no concern for speed.
`tests.model` puts them together, and has the policies over destinations.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

Row = dict[str, Any]

ROUTED = "routed"
NO_DESTINATION = "no-destination"
UNKNOWN_QUEUE = "unknown-queue"
PUT_INHIBITED = "put-inhibited"


class Decision(NamedTuple):
    """What became of one message: where it went, how, and its place in its stream.

    A message for several destinations is one of these for each, by name.
    """

    id: str
    destination: str | None
    outcome: str
    sequence: int


def route(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Decision]:
    """Decide every message, in order of (time, id), under the policy that `cluster` names."""
    from tests.model.histories import decide

    return decide(cluster, messages, changes)[0]


def exact(value: Any) -> Fraction:
    """The number as it is written: a float counts as its shortest decimal."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def microseconds(value: Any) -> int:
    """Seconds as whole microseconds; finer times do not exist."""
    micros = exact(value) * 1_000_000
    if micros.denominator != 1:
        raise ValueError(f"not a whole number of microseconds: {value!r}")
    return micros.numerator


def truth(value: Any) -> bool:
    """A boolean, also as the word a table gives; nothing given is false."""
    if value in (True, "true"):
        return True
    if value in (False, "false", "", None):
        return False
    raise ValueError(f"neither true nor false: {value!r}")


def text(value: Any) -> str:
    """An attribute of a message; empty when it is not given."""
    return "" if value is None else str(value)


def messages_in_order(messages: Iterable[Row]) -> list[Row]:
    """By time, then by id compared as UTF-8 bytes."""
    return sorted(messages, key=lambda m: (microseconds(m["time"]), m["id"].encode("utf-8")))


def changes_in_order(changes: Iterable[Row]) -> list[Row]:
    """By time; what happens at one time stays in the order of the file."""
    return sorted(changes, key=lambda change: microseconds(change["time"]))


def is_reset(change: Row) -> bool:
    """A reset of the whole cluster, by its name or `*`."""
    return bool(change["attribute"] == "reset")


def duration(service_time: Any, speed: Any) -> int:
    """Microseconds of work; half a microsecond counts up."""
    asked = floor(exact(service_time) * 1_000_000 + Fraction(1, 2))
    return floor(asked / exact(speed) + Fraction(1, 2))


class Sequences:
    """Numbers the messages of each stream from 0, whatever becomes of them."""

    def __init__(self) -> None:
        self._next: dict[object, int] = {}

    def next(self, stream: object) -> int:
        number = self._next.get(stream, 0)
        self._next[stream] = number + 1
        return number
