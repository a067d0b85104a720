"""Turn a rejected table into one line: which key, what was found, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.balance.objects import allowed, hint, listed, shown

PATH = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)
PART = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]")
FIELD = re.compile(r"field `(?P<name>[^`]*)`")

Place = Sequence[str | int]


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
        ignored = f" (a key of {listed(elsewhere)}; here it would be ignored)" if elsewhere else ""
        line = f"{spelled(plain, [*place, name])}: found a key that is not known{ignored}, "
        words = listed(known, 20) or "none"
        return f"{line}allowed: {words}{hint(name, known)}", [*place, name]
    if "missing required field" in what and named:
        place.append(named["name"])
        info = _type_at(table, place)
        return f"{spelled(plain, place)}: found nothing, allowed: {allowed(info)}", place
    if ": found " in what:
        return f"{spelled(plain, place)}.{what}" if place else what, place
    found, info = _value_at(plain, place), _type_at(table, place)
    words = allowed(info)
    close = hint(str(found), words.split(", ")) if isinstance(found, str) else ""
    return f"{spelled(plain, place)}: found {shown(found)}, allowed: {words}{close}", place


def spelled(plain: Mapping[str, Any], place: Place) -> str:
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
    found = plain
    for part in place:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def _type_at(table: type[msgspec.Struct], place: Place) -> msgspec.inspect.Type:
    info: msgspec.inspect.Type = msgspec.inspect.type_info(table)
    for part in place:
        if isinstance(part, int) and isinstance(info, msgspec.inspect.ListType):
            info = info.item_type
        elif isinstance(info, msgspec.inspect.StructType):
            info = next((f.type for f in info.fields if f.encode_name == part), info)
    return info


def _keys(info: msgspec.inspect.Type) -> list[str]:
    if isinstance(info, msgspec.inspect.StructType):
        return [each.encode_name for each in info.fields]
    return []
