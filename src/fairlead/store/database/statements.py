"""The SQL of a dialect: statements with names, in files that a database administrator can read.

Each room of the store has those that it uses beside it, in `sql/`, in files for each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

ROOMS: Final = (
    *("database", "journal", "queues", "clusters", "channels", "dialogs", "schedules", "admin"),
)
"""Those with statements, the lowest first."""
HEAD = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """Name → statement. `dialect`: sqlite | postgresql."""
    return {name: text for room in ROOMS for name, text in statements_of(room, dialect).items()}


@cache
def statements_of(room: str, dialect: str) -> Mapping[str, str]:
    """Those of one room."""
    texts: dict[str, str] = {}
    for text in _files(room, rf"{dialect}(_(?!functions|roles)[a-z]+)?\.sql"):
        parts = HEAD.split(text)[1:]
        for name, statement in zip(parts[::2], parts[1::2], strict=True):
            texts[name] = statement.strip().removesuffix(";")
    return texts


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """The scripts that lead from each version of the schema to the next; the first makes it.

    A script is what the rooms have in files of its number, one room after another.
    """
    scripts: dict[str, list[str]] = {}
    for room in ROOMS:
        for name, text in _named(room, rf"{dialect}_\d{{4}}\.sql"):
            scripts.setdefault(name, []).append(text)
    return tuple("\n".join(scripts[name]) for name in sorted(scripts))


@cache
def functions(dialect: str) -> str:
    """The functions that a schema has for plain SQL, made anew with each version; "" for none."""
    return "\n".join(text for room in ROOMS for text in _files(room, rf"{dialect}_functions.*"))


@cache
def roles(dialect: str) -> str:
    """Makes the roles that users may be members of, and says what each may do."""
    return "".join(_files("database", rf"{dialect}_roles.*"))


@cache
def grants(dialect: str) -> str:
    """What roles that there are may do; nothing that they could do is taken away."""
    (text,) = _files("database", rf"{dialect}_roles_grants\.sql")
    return text


def _files(room: str, pattern: str) -> Iterator[str]:
    """What stands in the files of a room that are named so, in the order of their names."""
    return (text for _, text in _named(room, pattern))


def _named(room: str, pattern: str) -> Iterator[tuple[str, str]]:
    """The same, with their names."""
    every = {file.name: file for file in (files("fairlead.store") / room / "sql").iterdir()}
    for name in sorted(every):
        if re.fullmatch(pattern, name):
            yield name, every[name].read_text("utf-8")
