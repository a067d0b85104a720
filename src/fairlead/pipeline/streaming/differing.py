"""Differing: what makes the stream that is asked for another than the one in the folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairlead.balance.objects import listed, shown
from fairlead.pipeline.streaming.commit import Commit

MOST: Final = 3


def differing(before: Commit, now: Commit) -> str:
    """What differs, in words; "" where nothing does."""
    found = [
        *_values("", {"options": before.options}, {"options": now.options}),
        *_values("", _by_name(before), _by_name(now)),
    ]
    return listed(found, MOST)


def _by_name(commit: Commit) -> dict[str, Any]:
    return {f"cluster {each['name']!r}": each["tables"] for each in commit.clusters}


def _values(where: str, before: object, now: object) -> Iterator[str]:
    """Each value that is another one, with its place."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            inside = f"{where}.{key}" if where else str(key)
            yield from _values(inside, before.get(key), now.get(key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (one, other) in enumerate(zip(before, now, strict=True)):
            name = one.get("name", k) if isinstance(one, Mapping) else k
            yield from _values(f"{where}[{name}]", one, other)
    elif before != now:
        yield f"{where}: was {_shown(before)}, found {_shown(now)}"


def _shown(value: object) -> str:
    return "nothing" if value is None else shown(value)
