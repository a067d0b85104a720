"""Differing: what makes the stream that is asked for another than the one in the folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairlead.balance.objects import listed, shown
from fairlead.runs.stream_folder import Commit

MOST: Final = 3


def differing(before: Commit, now: Commit) -> str:
    """What differs, in words; "" where nothing does."""
    differences = [
        *_values("", {"options": before.options}, {"options": now.options}),
        *_values("", _by_name(before), _by_name(now)),
    ]
    return listed(differences, MOST)


def _by_name(commit: Commit) -> dict[str, Any]:
    return {f"cluster {cluster['name']!r}": cluster["tables"] for cluster in commit.clusters}


def _values(where: str, before: object, now: object) -> Iterator[str]:
    """Each value that is another one, with its place."""
    one, other = _parts(before), _parts(now)
    if one is not None and other is not None:
        for key in dict.fromkeys([*one, *other]):
            place = (where + key).removeprefix(".")
            yield from _values(place, one.get(key), other.get(key))
        both = [[key for key in side if key in one and key in other] for side in (one, other)]
        if isinstance(now, list) and both[0] != both[1]:
            yield f"{where}: was in another order"
    elif now is None and one is not None:
        yield f"{where} is gone"
    elif before is None and other is not None:
        yield f"{where} is new"
    elif before != now:
        yield f"{where}: was {_shown(before)}, found {_shown(now)}"


def _parts(value: object) -> dict[str, object] | None:
    """What is in a table, or in a list of tables, by its place in it; None: it is neither."""
    if isinstance(value, Mapping):
        return {f".{key}": part for key, part in value.items()}
    if not (isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value)):
        return None
    names = [part.get("name", k) for k, part in enumerate(value)]
    if len({*names}) < len(names):  # as queues that several queue managers have
        names = [*range(len(names))]
    return {f"[{name}]": part for name, part in zip(names, value, strict=True)}


def _shown(value: object) -> str:
    return "nothing" if value is None else shown(value)
