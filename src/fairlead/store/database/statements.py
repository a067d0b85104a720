"""The SQL of a dialect: statements with names, in files that a database administrator can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

HEAD = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """Name → statement. `dialect`: sqlite | postgresql."""
    parts = HEAD.split("\n".join(_text(f"{dialect}{part}.sql") for part in ("", "_check")))[1:]
    return {
        name: text.strip().removesuffix(";")
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """The scripts that lead from each version of the schema to the next; the first makes it."""
    folder = files("fairlead.store.database") / "sql"
    names = sorted(each.name for each in folder.iterdir())
    return tuple(_text(name) for name in names if re.fullmatch(rf"{dialect}_\d{{4}}\.sql", name))


@cache
def functions(dialect: str) -> str:
    """The functions that a schema has for plain SQL, made anew with each version; "" for none."""
    folder = files("fairlead.store.database") / "sql"
    names = sorted(each.name for each in folder.iterdir())
    return "\n".join(_text(name) for name in names if name.startswith(f"{dialect}_functions"))


@cache
def roles(dialect: str) -> str:
    """Makes the roles that users may be members of, and says what each may do."""
    return _text(f"{dialect}_roles.sql")


def _text(name: str) -> str:
    return (files("fairlead.store.database") / "sql" / name).read_text("utf-8")
