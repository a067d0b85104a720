"""Messages as a policy sees them: routing attributes, each a text, a flag or one of a few words.

An attribute that is missing, None or empty is "not given". Flags are true or false. The same
definitions check a live message and write the checks that Spark runs on a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Final

from fairlead.balance.objects import hint, listed, repr_of
from fairlead.errors import MessageError

Message = Mapping[str, object]

AttributeValues = tuple[str, ...]
"""Values of attributes of a message, as text, "" where one is not given: what a policy reads, in
the order of `Policy.reads`, or what a stream, a partition or a binding is known by."""

FLAGS: Final = ("true", "false")
ON_OPEN: Final = "on-open"
NOT_FIXED: Final = "not-fixed"
ON_GROUP: Final = "on-group"
BINDS: Final = (ON_OPEN, NOT_FIXED, ON_GROUP)

TO_ALL: Final = "none"
ROUND_ROBIN: Final = "round-robin"
WEIGHTED: Final = "weighted"
SORTED: Final = "sorted"
MODES: Final = (TO_ALL, ROUND_ROBIN, WEIGHTED, SORTED)
GUARANTEED: Final = ("some", "all")
DELIVERIES: Final = ("best-effort", "ordered", *GUARANTEED)

ATTRIBUTES: Final = frozenset(
    {
        *("id", "time", "position", "service_time", "size"),
        *("cluster", "queue", "queue_manager", "subject", "server", "producer", "already_sent"),
        *("type", "mode", "delivery", "bind", "via_cluster_channel", "pcf"),
        *("group", "tenant", "priority", "cost", "rollbacks"),
    }
)
"""What a message can say of itself, whoever reads it; a policy can ask for more names."""

ALLOWED_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "via_cluster_channel": FLAGS,
    "pcf": FLAGS,
    "bind": BINDS,
    "mode": MODES,
    "delivery": DELIVERIES,
}
"""Attributes that take only these words, where a policy reads them; all others are free text."""

SPELLED_ALIKE: Final = (
    "text, whole numbers or booleans; others are spelled otherwise in every engine"
)

SHORTER: Final = "allowed: an integer that can be spelled"

WHOLE_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "priority": (0, 255),
    "cost": (1, 1_000_000_000),
    "rollbacks": (0, 1_000),
}
"""Attributes that order work and say how it goes, and their least and largest values (replay)."""
SET_PRIORITY: Final = "SetPriority"
"""A message of this type is no work: it only raises its group. Nobody is chosen for it."""

ROUTED: Final = "routed"
NO_DESTINATION: Final = "no-destination"
UNKNOWN_QUEUE: Final = "unknown-queue"
PUT_INHIBITED: Final = "put-inhibited"
CONTROL: Final = "control"
REFUSED: Final = "refused"
LOST: Final = "lost"
OUTCOMES: Final = (ROUTED, NO_DESTINATION, UNKNOWN_QUEUE, PUT_INHIBITED, CONTROL, REFUSED, LOST)
"""All words with which a decision can end."""
ROLLED_BACK: Final = "rolled-back"
"""Replay: an attempt was in vain; another one follows, at the same destination."""
RELEASED: Final = "released"
"""Replay: the destination has failed; the message is routed anew."""
ACKNOWLEDGED: Final = "acknowledged"
"""Replay: it counts as acknowledged, though nobody has done it."""
NACK: Final = "nack"
"""Replay: the publisher is informed that the destination has failed."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Attributes that exclude each other: a row with this flag must not have those."""

    flag: str
    excludes: tuple[str, ...]


CONTRADICTIONS: Final = (Contradiction("pcf", ("queue", "queue_manager")),)


def _as_text(name: str, value: object) -> str:
    """A value that is no text, as every engine spells it. Raises MessageError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, Integral):
        raise MessageError(f"message {name}: found {repr_of(value)}, allowed: {SPELLED_ALIKE}")
    try:
        return str(int(value))
    except ValueError:  # Python spells no integer of thousands of digits
        raise MessageError(f"message {name}: found {repr_of(value)}, {SHORTER}") from None


def text(message: Message, name: str) -> str:
    """The attribute as text, "" where it is not given; refused if not an allowed word.

    So is what other engines would spell otherwise.
    """
    value = message.get(name)
    if value is None:
        return ""
    word = value if isinstance(value, str) else _as_text(name, value)
    words = ALLOWED_WORDS.get(name)
    if words is not None and word and word not in words:
        raise MessageError(f"message {name}: found {word!r}, allowed: {', '.join(words)}, empty")
    return word


def texts(message: Message, names: Iterable[str]) -> AttributeValues:
    """Several attributes as text; each is asked once, as messages are many."""
    get = message.get
    values = []
    for name in names:
        value = get(name)
        if value is None:
            values.append("")
        elif type(value) is str and name not in ALLOWED_WORDS:
            values.append(value)
        else:
            values.append(text(message, name))
    return tuple(values)


def not_by_name(value: object) -> MessageError:
    """The line about a message that is no mapping."""
    return MessageError(
        f"message: found {repr_of(value)}, allowed: attributes by name, such as {{'group': 'kim'}}"
    )


def unknown(message: Message, known: Collection[str]) -> MessageError:
    """The line about the first attribute that is none."""
    name = next(name for name in message if name not in known)
    return MessageError(
        f"message: attribute: found {repr_of(name)}, "
        f"allowed: {listed(sorted(known), 30)}{hint(str(name), known)}"
    )


def check(message: Message, read: Collection[str]) -> None:
    """Refuse words that are not allowed, and attributes that exclude each other.

    `read`: the attributes that anybody reads; what nobody reads may be anything.
    """
    for name in ALLOWED_WORDS:
        if name in read:
            text(message, name)
    for rule in CONTRADICTIONS:
        if rule.flag in read and text(message, rule.flag) == "true":
            for name in rule.excludes:
                if text(message, name):
                    raise MessageError(f"message {rule.flag}: a message with it has no {name}")
