"""What makes a row of a table a message: one list of checks, for every engine that reads tables.

An engine says how each condition is computed; what is checked, of which columns, in which order and
what is allowed stands here. The first check that a row does not pass is why it is no message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from fairlead.balance.message import ALLOWED_WORDS, CONTRADICTIONS, WHOLE_NUMBERS
from fairlead.balance.times import TIMES
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import (
    ALL_WORK,
    LONGEST_SERVICE,
    SECONDS,
    ServedClusters,
    served,
)
from fairlead.errors import MessageError

LONGEST_SHOWN: Final = 60
"""Letters of what was found, in the reason of a rejection."""
NUMBER_OR_TEXT: Final = ("position", "service_time", *WHOLE_NUMBERS)
"""Columns of these names have a type that is a number, or text."""
SENT: Final = ("priority", "cost")
SENT_SECONDS: Final = ("delay", "expires")
"""Of a message that goes into a queue: from its arrival on."""
EVERYBODY: Final = ("id", "cluster", "group", "tenant")
"""What is read of each message, whatever the policy."""


class CellCondition(Enum):
    """What must hold of a cell."""

    SAID = auto()
    """Something stands there."""
    UTF8 = auto()
    """Bytes are text."""
    MOMENT = auto()
    """It is a time, and no number that would be one of these years in another unit."""
    PLACE = auto()
    """It is an integer of 64 bits."""
    SERVED = auto()
    """Something stands there, in messages of `whose`."""
    SERVICE = auto()
    """What stands there is a number from `least` to `most`, in messages of `whose`."""
    WHOLE = auto()
    """What stands there is an integer from `least` to `most`."""
    ONE_OF = auto()
    """What stands there is one of `words`."""
    WITHOUT = auto()
    """Where it is "true", nothing stands in the column `words[0]`."""


class RowCheck(NamedTuple):
    """A condition on a column, and what is said of a row that does not pass."""

    condition: CellCondition
    column: str
    allowed: str
    fixed: str = ""
    """What is said whatever was found; "": it is shown, with what is allowed."""
    least: int = 0
    most: int = 0
    words: tuple[str, ...] = ()
    whose: ServedClusters | None = ALL_WORK
    """None: all rows."""


def row_checks(
    columns: Collection[str], *plans: Plan, worked: bool, sent: bool = False
) -> Iterator[RowCheck]:
    """What must hold of each row, in this order.

    `worked`: whether messages are worked on (replay), not only decided. `sent`: whether they go
    into queues.
    """
    heeded = set().union(*(plan.relevant_attributes for plan in plans))
    yield RowCheck(CellCondition.SAID, "id", "", "id: found nothing, allowed: a text")
    for name in sorted({*EVERYBODY, *heeded} & {*columns}):
        yield RowCheck(CellCondition.UTF8, name, "text in UTF-8")
    yield RowCheck(CellCondition.MOMENT, "time", TIMES)
    if "position" in columns:
        yield RowCheck(CellCondition.PLACE, "position", "an integer")
    if "service_time" in columns:
        yield from _services([ALL_WORK] if worked else [served(plan) for plan in plans])
    for name, (least, most) in WHOLE_NUMBERS.items():
        if (worked or (sent and name in SENT)) and name in columns:
            allowed = f"an integer from {least} to {most}, or empty"
            yield RowCheck(CellCondition.WHOLE, name, allowed, least=least, most=most)
    for name in SENT_SECONDS:
        if sent and name in columns:
            allowed = f"{SECONDS}, or empty"
            yield RowCheck(CellCondition.SERVICE, name, allowed, most=LONGEST_SERVICE, whose=None)
    yield from _word_checks(columns, heeded)


def _services(whose: Collection[ServedClusters]) -> Iterator[RowCheck]:
    needy = [need for need in whose if not need.nobody]
    why = SECONDS if ALL_WORK in needy else "a number; completions decide here"
    missing = f"service_time: found nothing, allowed: {why}"
    for need in needy:
        yield RowCheck(CellCondition.SERVED, "service_time", "", missing, whose=need)
    sensible = RowCheck(CellCondition.SERVICE, "service_time", SECONDS, most=LONGEST_SERVICE)
    for need in needy:
        yield sensible._replace(whose=need)
    yield sensible._replace(allowed=f"{SECONDS}, or empty", whose=None)


def _word_checks(columns: Collection[str], heeded: Collection[str]) -> Iterator[RowCheck]:
    """What is one of a few words, and what says two things at a time. `heeded`: that is read."""
    for name, words in ALLOWED_WORDS.items():
        if name in columns and name in heeded:
            yield RowCheck(CellCondition.ONE_OF, name, f"{', '.join(words)}, or empty", words=words)
    for rule in CONTRADICTIONS:
        for name in rule.excludes:
            if rule.flag in columns and name in columns and rule.flag in heeded:
                why = f"{rule.flag}: a message with it has no {name}"
                yield RowCheck(CellCondition.WITHOUT, rule.flag, "", why, words=(name,))


def wrong_type(name: str, kind: str, allowed: str = "a number, or text") -> MessageError:
    """The line about a column of a type that no message has. `kind`: as the engine calls it."""
    return MessageError(f"messages: {name}: found a column of type {kind}, allowed: {allowed}")


TIME_TYPES: Final = "a timestamp, a number of seconds, or text"
