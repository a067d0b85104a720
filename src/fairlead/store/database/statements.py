"""The SQL of a dialect: statements with names, in files that a database administrator can read.

Each room of the store has those that it uses beside it, in `sql/`, a file for each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

ROOMS: Final = ("database", "journal", "queues", "clusters", "dialogs", "admin")
"""Those with statements, the lowest first."""
HEAD = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """Name → statement. `dialect`: sqlite | postgresql."""
    return {name: text for room in ROOMS for name, text in statements_of(room, dialect).items()}


@cache
def statements_of(room: str, dialect: str) -> Mapping[str, str]:
    """Those of one room."""
    file = _folder(room) / f"{dialect}.sql"
    if not file.is_file():
        return {}
    parts = HEAD.split(file.read_text("utf-8"))[1:]
    return {
        name: text.strip().removesuffix(";")
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """The scripts that lead from each version of the schema to the next; the first makes it."""
    every = {each.name: each for each in _folder("database").iterdir()}
    names = sorted(name for name in every if re.fullmatch(rf"{dialect}_\d{{4}}\.sql", name))
    return tuple(every[name].read_text("utf-8") for name in names)


@cache
def afterwards(dialect: str) -> tuple[str, ...]:
    """Scripts that drop what migrations have left for calls under way; each looks first."""
    every = {each.name: each for each in _folder("database").iterdir()}
    names = sorted(
        name for name in every if re.fullmatch(rf"{dialect}_\d{{4}}_afterwards\.sql", name)
    )
    return tuple(every[name].read_text("utf-8") for name in names)


@cache
def functions(dialect: str) -> str:
    """The functions that a schema has for plain SQL, made anew with each version; "" for none."""
    texts = []
    for room in ROOMS:
        every = {each.name: each for each in _folder(room).iterdir()}
        names = sorted(name for name in every if name.startswith(f"{dialect}_functions"))
        texts += [every[name].read_text("utf-8") for name in names]
    return "\n".join(texts)


@cache
def roles(dialect: str) -> str:
    """Makes the roles that users may be members of, and says what each may do."""
    return (_folder("database") / f"{dialect}_roles.sql").read_text("utf-8")


def _folder(room: str) -> Traversable:
    return files("fairlead.store") / room / "sql"
