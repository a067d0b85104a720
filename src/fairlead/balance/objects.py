"""What a cluster is made of: typed objects with attributes, and what each attribute allows.

One definition serves the file, the changes, the live API and the error lines.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from functools import cache
from math import lcm
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

import msgspec
from msgspec import Meta

from fairlead.errors import ConfigError

MAX_WEIGHT: Final = 2**63 - 1
"""Ratios stay exact: an engine that computes in 64 bits changes to unbounded integers before a
product could pass 2^63."""

LONGEST_SHOWN: Final = 200
"""So many characters of what was found stand in an error line."""

Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Weight: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_WEIGHT)]
Readers: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
Capacity: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Priority: TypeAlias = Annotated[int, Meta(ge=0, le=255)]
Names: TypeAlias = list[Name]


class FileTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a cluster file; unknown keys are refused."""


class Object(FileTable, frozen=True, kw_only=True):
    """Something with a name that a change can be made to."""

    name: Name
    present: bool = True


class WorkerObject(Object, frozen=True, kw_only=True):
    """An object that works on messages."""

    readers: Readers = 1
    speed: Decimal = Decimal(1)

    def __post_init__(self) -> None:
        speed = self.speed
        if not (
            speed.is_finite()
            and Decimal("0.001") <= speed <= 1_000_000
            and speed == round(speed, 3)
        ):
            raise ValueError(f"speed: found {speed}, {SPEEDS}")

    @property
    def speed_in_thousandths(self) -> int:
        """The speed as a whole number."""
        return int(self.speed * 1000)


SPEEDS: Final = "allowed: a number from 0.001 to 1000000 with at most 3 decimals"


DEFAULT_PRIORITY: Final = 100
MAX_NAME: Final = 500
"""Characters of a name that a store keeps: of a queue, a group, a tenant, a type, or an id."""
MAX_CHARGE: Final = 2**62
"""What a tenant is charged, which is a cost times a common multiple of weights, fits in 64 bits."""


class Order(FileTable, frozen=True, kw_only=True):
    """How waiting work is ordered, for replay and stores."""

    discipline: Literal["fifo", "priority"] = "fifo"
    default_priority: Priority = DEFAULT_PRIORITY
    ageing: Decimal = Decimal(0)
    """Seconds per step of priority; 0 = off."""
    weights: dict[Name, Annotated[int, Meta(ge=1, le=1_000_000)]] = {}
    """Tenant → its weight; 1 for those that are not there."""

    def __post_init__(self) -> None:
        ageing = self.ageing
        if not (ageing.is_finite() and 0 <= ageing <= 10**9 and ageing == round(ageing, 6)):
            raise ValueError(f"ageing: found {ageing}, {AGEINGS}")
        for key, value, default in (
            ("ageing", ageing, 0),
            ("default_priority", self.default_priority, DEFAULT_PRIORITY),
        ):
            if self.discipline == "fifo" and value != default:
                raise ValueError(
                    f"{key}: found {value}, allowed: only {default} with the discipline fifo, "
                    "which would ignore anything else"
                )
        common_multiple(self.weights)

    @property
    def step(self) -> int:
        """The ageing in microseconds per step of priority."""
        return int(self.ageing * 1_000_000)


class StoreOptions(FileTable, frozen=True, kw_only=True):
    """How a store counts a cluster's choices."""

    allocation: Literal["exact", "ticket"] = "exact"
    """`ticket`: nobody waits for anybody; what was drawn counts, whatever becomes of it."""
    reset_every: Decimal = Decimal(0)
    """Seconds; 0 = the cluster is not reset of itself."""

    def __post_init__(self) -> None:
        every = self.reset_every
        if not (every.is_finite() and 0 <= every <= 10**9 and every == round(every, 6)):
            raise ValueError(
                f"reset_every: found {every}, allowed: a number of seconds from 0 to 1000000000 "
                "with at most 6 decimals"
            )


def common_multiple(weights: Mapping[str, int]) -> int:
    """The least common multiple of tenants' weights. Raises ValueError if that is too much."""
    multiple = lcm(*weights.values())
    if multiple > MAX_CHARGE:
        raise ValueError(
            f"weights: found a least common multiple of more than {MAX_CHARGE}, allowed: weights "
            "that have a smaller one, so that what tenants are charged fits in 64 bits"
        )
    return multiple


AGEINGS: Final = "allowed: a number of seconds from 0 to 1000000000 with at most 6 decimals"


class Ref(NamedTuple):
    """Which object: its kind, its name and whose it is ("" where it has no owner)."""

    kind: str
    name: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" + (f"@{self.owner}" if self.owner else "")


def hint(found: str, known: Iterable[str]) -> str:
    """A "did you mean" for an unknown word, or nothing."""
    words = list(known)
    close = difflib.get_close_matches(found, words, n=1)
    close += [word for word in words if word.casefold() == found.casefold()]
    return f"; did you mean {close[0]!r}?" if close else ""


def on_one_line(text: str) -> str:
    """A line with whatever is not printable, such as a break in a name, escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names for an error line, cut short where there are many."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f", … ({more} more)" if more > 0 else "")


def to_decimal(kind: type, value: object) -> object:
    """A number of a file as a Decimal, where that is asked for; for msgspec."""
    if kind is Decimal and isinstance(value, int | float):
        return Decimal(str(value))
    raise TypeError(f"cannot make a {kind.__name__} of {value!r}")


@cache
def field_type(table: type[msgspec.Struct], attribute: str) -> Any:  # noqa: ANN401 - a type form
    """The declared type of one attribute."""
    return get_type_hints(table, include_extras=True)[attribute]


def converted(table: type[msgspec.Struct], attribute: str, value: object) -> object:
    """A value for an attribute, from typed data or from text; refused if not allowed."""
    declared = field_type(table, attribute)
    if value is None:
        value = ""
    if get_args(declared) and msgspec.inspect.type_info(declared).__class__ is (
        msgspec.inspect.ListType
    ):
        value = [part for part in value.split(";") if part] if isinstance(value, str) else value
    try:
        typed_value: object = msgspec.convert(value, declared, strict=False)
    except msgspec.ValidationError:
        raise ConfigError(f"found {shown(value)}, allowed: {allowed(declared)}") from None
    return typed_value


def shown(value: object) -> str:
    """A found value as an error line prints it: in the words of a file, not in Python's.

    >>> print(shown(True), shown(""), shown([1, Decimal("1.5"), "x", [2]]), shown({"a": 1}))
    true nothing [1, 1.5, 'x', a list] a table
    """
    if isinstance(value, list):
        return f"[{listed('a list' if isinstance(part, list) else shown(part) for part in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return str(value)
    if value is None or (isinstance(value, str) and not value):
        return "nothing"
    if isinstance(value, date | time):
        return value.isoformat()
    return "a table" if isinstance(value, Mapping) else repr_of(value)


def kind_of(value: object) -> str:
    """What something is, with the package that it is of: `pandas.DataFrame`."""
    package, name = type(value).__module__.partition(".")[0], type(value).__qualname__
    return name if package == "builtins" else f"{package}.{name}"


def repr_of(value: object) -> str:
    """Whatever was found as Python spells it, on one line that is not too long."""
    try:
        text = on_one_line(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits, or lists in lists
        return f"a {type(value).__name__} that is too long to be shown"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


WHO_AND_WHERE: Final = ("name", "address", "subject")


def special(each: Object, besides: Collection[str] = ()) -> list[str]:
    """What an object has that it need not have, as its file says it; without who and where it is.

    >>> special(WorkerObject(name="A", readers=4, present=False)), special(WorkerObject(name="B"))
    (['present false', 'readers 4'], [])
    """
    phrases = []
    for field in _fields(type(each)):
        value = getattr(each, field.name)
        if field.name not in (*WHO_AND_WHERE, *besides) and value != field.default:
            words = ";".join(value) if isinstance(value, list) else value
            phrases.append(f"{field.name} {words if isinstance(words, str) else shown(words)}")
    return phrases


@cache
def _fields(table: type[Object]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(table)


def allowed(declared: Any) -> str:  # noqa: ANN401 - a type form
    """What a type allows, in words."""
    info = declared if isinstance(declared, msgspec.inspect.Type) else None
    return _in_words(info or msgspec.inspect.type_info(declared))


def _in_words(info: msgspec.inspect.Type) -> str:
    if isinstance(info, msgspec.inspect.IntType):
        return _integers(info.ge, info.le)
    if isinstance(info, msgspec.inspect.StrType):
        return "a text that is not empty" if info.min_length else "a text"
    if isinstance(info, msgspec.inspect.LiteralType):
        return ", ".join(str(value) for value in info.values)
    if isinstance(info, msgspec.inspect.ListType):
        many = f" of at least {info.min_length}" if info.min_length else ""
        return f"a list{many}, each {_in_words(info.item_type)}"
    if isinstance(info, msgspec.inspect.DictType):
        any_value = isinstance(info.value_type, msgspec.inspect.AnyType)
        return "a table" if any_value else f"a table, each value {_in_words(info.value_type)}"
    if isinstance(info, msgspec.inspect.UnionType):
        return " or ".join(_in_words(variant) for variant in info.types)
    return IN_WORDS.get(type(info), "nothing else")


IN_WORDS: Final[dict[type, str]] = {
    msgspec.inspect.AnyType: "a value",
    msgspec.inspect.BoolType: "true or false",
    msgspec.inspect.DecimalType: "a number",
    msgspec.inspect.FloatType: "a number",
    msgspec.inspect.StructType: "a table",
}


def _integers(low: int | None, high: int | None) -> str:
    if low == high:
        return f"only {low} (this policy would ignore anything else)"
    return f"an integer from {low}" if high is None else f"an integer from {low} to {high}"
