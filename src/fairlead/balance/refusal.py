"""Turn a rejected table into one line: which key, what was found, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, TypeVar

import msgspec

from fairlead.balance.objects import allowed, field_type, hint, listed, repr_of, shown, to_decimal
from fairlead.errors import ConfigError

PATH = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)
PART = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]")
FIELD = re.compile(r"field `(?P<name>[^`]*)`")

Place = Sequence[str | int]
S = TypeVar("S", bound=msgspec.Struct)


def refusal(
    error: msgspec.ValidationError,
    plain: Mapping[str, Any],
    table: type[msgspec.Struct],
    others: Mapping[str, Iterable[str]],
) -> tuple[str, Place]:
    """The line, and the place in the file as keys and list indexes.

    `others`: policy → keys that other policies' tables have, to tell what would be ignored.
    """
    match = PATH.match(str(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    place: list[str | int] = [
        part["key"] or int(part["index"]) for part in PART.finditer(path.replace("[...]", ""))
    ]
    named = FIELD.search(what)
    if "unknown field" in what and named:
        known = _keys(_type_at(table, place))
        name = named["name"]
        elsewhere = [policy for policy, keys in others.items() if name in keys]
        key = "an unknown key"
        if elsewhere:
            key = f"a key of {listed(elsewhere)}, which would be ignored here"
        words = listed(known, 20) or "none"
        line = f"{place_in_words(plain, [*place, name])}: found {key}, allowed: {words}"
        return line + hint(name, known), [*place, name]
    if "missing required field" in what and named:
        place.append(named["name"])
        return (
            f"{place_in_words(plain, place)}: found nothing, allowed: {_allowed_at(table, place)}",
            place,
        )
    if ": found " in what:
        key = what.partition(": found ")[0]
        inside = [*place, key] if key in _keys(_type_at(table, place)) else place
        return f"{place_in_words(plain, place)}.{what}" if place else what, inside
    place += _culprit(table, place, _value_at(plain, place))
    value, words = _value_at(plain, place), _allowed_at(table, place)
    close = hint(str(value), words.split(", ")) if isinstance(value, str) else ""
    return f"{place_in_words(plain, place)}: found {shown(value)}, allowed: {words}{close}", place


def _culprit(table: type[msgspec.Struct], place: Place, found: object) -> list[str]:
    """The key of the first value that is not allowed, where keys are the user's own; else none."""
    keys = [part for part in place if isinstance(part, str)]
    free = isinstance(_type_at(table, place), msgspec.inspect.DictType) and len(keys) == len(place)
    if not free or not isinstance(found, Mapping):
        return []
    declared: Any = reduce(field_type, keys, table)
    for key, value in found.items():
        try:
            msgspec.convert({"a key": value}, declared)
        except msgspec.ValidationError:
            return [key]
    return []


def _allowed_at(table: type[msgspec.Struct], place: Place) -> str:
    """What is allowed there, in words; of tables the header, too, under which they stand."""
    info = _type_at(table, place)
    words = allowed(info)
    many = bool(place) and isinstance(place[-1], int)
    if isinstance(info, msgspec.inspect.ListType):
        info, many = info.item_type, True
    if isinstance(info, msgspec.inspect.StructType):
        header = ".".join(part for part in place if isinstance(part, str))
        words += f" under [[{header}]]" if many else f" under [{header}]"
    return words


def read(
    plain: Mapping[str, Any],
    table: type[S],
    others: Callable[[], Mapping[str, Iterable[str]]] = dict,
) -> S:
    """A table of plain data as its type. Raises ConfigError, with the place.

    `others`: as for `refusal`, asked for where something is refused.
    """
    try:
        return msgspec.convert(plain, table, dec_hook=to_decimal)
    except msgspec.ValidationError as error:
        raise ConfigError(*refusal(error, plain, table, others())) from None
    except UnicodeEncodeError as error:
        raise ConfigError(f"found {repr_of(error.object)}, allowed: text in UTF-8") from None
    except AttributeError as error:  # what is no plain data, but calls itself a mapping
        raise ConfigError(f"found what is no plain data: {error}") from None


def text_for_number(
    plain: Mapping[str, Any], table: type[msgspec.Struct]
) -> tuple[str, Place] | None:
    """The line and the place of a text where a number is asked for; msgspec would read it."""
    info = _type_of(table)
    place = _text_for_number(plain, info)
    if place is None:
        return None
    value, words = _value_at(plain, place), allowed(_type_at(table, place))
    return f"{place_in_words(plain, place)}: found {shown(value)}, allowed: {words}", place


def _text_for_number(value: object, info: msgspec.inspect.Type) -> Place | None:
    if isinstance(value, str):
        return () if isinstance(info, msgspec.inspect.DecimalType) else None
    inside: Iterable[tuple[str | int, object, msgspec.inspect.Type]] = ()
    if isinstance(value, Mapping) and isinstance(info, msgspec.inspect.StructType):
        fields = [field for field in info.fields if field.encode_name in value]
        inside = [(f.encode_name, value[f.encode_name], f.type) for f in fields]
    elif isinstance(value, list) and isinstance(info, msgspec.inspect.ListType):
        inside = [(k, entry, info.item_type) for k, entry in enumerate(value)]
    for key, entry, kind in inside:
        place = _text_for_number(entry, kind)
        if place is not None:
            return (key, *place)
    return None


def place_in_words(plain: Mapping[str, Any], place: Place) -> str:
    """A place as people say it: `destination[2] 'DEV2'.weight`."""
    words = ""
    for k, part in enumerate(place):
        if isinstance(part, int):
            words += f"[{part + 1}]"
            inside = _value_at(plain, place[: k + 1])
            name = inside.get("name") if isinstance(inside, Mapping) else None
            words += f" {name!r}" if isinstance(name, str) else ""
        else:
            words += f".{part}" if words else part
    return words or "the table"


def _value_at(plain: Any, place: Place) -> Any:  # noqa: ANN401 - whatever the file holds
    value = plain
    for part in place:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _type_at(table: type[msgspec.Struct], place: Place) -> msgspec.inspect.Type:
    info = _type_of(table)
    for part in place:
        if isinstance(part, int) and isinstance(info, msgspec.inspect.ListType):
            info = info.item_type
        elif isinstance(info, msgspec.inspect.DictType):
            info = info.value_type
        elif isinstance(info, msgspec.inspect.StructType):
            info = next((f.type for f in info.fields if f.encode_name == part), info)
    return info


@cache
def _type_of(table: type[msgspec.Struct]) -> msgspec.inspect.Type:
    """To be kept: finding it out takes milliseconds."""
    return msgspec.inspect.type_info(table)


def _keys(info: msgspec.inspect.Type) -> list[str]:
    if isinstance(info, msgspec.inspect.StructType):
        return [field.encode_name for field in info.fields]
    return []
