"""Names of columns: those that a table must and must not have, and what options make of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fairlead.balance.objects import hint
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import check_columns, mapping, named
from fairlead.errors import MessageError, UserError
from fairlead.rows import ATTEMPT
from fairlead.runs.constants import PREFIX, RESERVED

IDENTITY = "id"
COLUMN = re.compile(r"[A-Za-z_]\w*")
"""An expression that is a column and nothing else, or one of CONSTANTS."""
CONSTANTS = {
    *("null", "true", "false", "user", "current_user", "session_user", "current_date"),
    *("current_time", "current_timestamp", "localtimestamp", "current_catalog", "_metadata"),
}


SEPARATORS = {";": ";", "\t": r"\t", "|": "|"}
"""What else may stand between cells, as Spark's option has it."""


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names without id or time, or with what the decisions need. Raises MessageError."""
    for name in ("id", "time"):
        if name not in names:
            line = f"{where}: no column {name!r}, found: {named(names)}{hint(name, names)}"
            raise MessageError(line, mapping(line, name) + _instead(name, names))
    folded = Counter(name.lower() for name in names)
    for name in names:
        if folded[name.lower()] > 1:
            line = (
                f"{where}: column {name!r}: found another that differs only in upper and lower "
                "case, allowed: one"
            )
            raise MessageError(line, f"{line}; --drop the other")
        # Spark does not tell upper from lower case in names.
        if name.lower() in RESERVED or name.lower().startswith(PREFIX):
            line = f"{where}: column {name!r} is what the decisions add; rename it"
            raise MessageError(line, renaming(line, name))


def renaming(line: str, name: str) -> str:
    """A line about a column that must be called otherwise, as the command line says it."""
    return f"{line} with --column new_{name}={name} --drop {name}"


def _instead(name: str, names: Sequence[str]) -> str:
    """How else the column could be had, by what the table has instead."""
    if len(names) == 1:
        for mark, separator in SEPARATORS.items():
            if mark in names[0]:
                return (
                    f"; or is it {separator} that is between cells: --read-option 'sep={separator}'"
                )
    other = [column for column in names if column.lower() == name]
    if other:
        return f", here --column {name}={other[0]}"
    return ", or use --number-rows" if name == IDENTITY else ""


def check_replayed(names: Sequence[str], where: str, plans: Iterable[Plan]) -> None:
    """Refuse a table of these names, which cannot be replayed so. Raises MessageError."""
    check_names(names, where)
    for name in ATTEMPT:
        if name in (column.lower() for column in names):
            line = f"{where}: column {name!r} is what a replay adds; rename it"
            raise MessageError(line, renaming(line, name))
    for plan in plans:
        check_columns(plan, names, where, worked=True)


def names_of(
    names: Sequence[str],
    path: str,
    *,
    columns: Mapping[str, str],
    drop: Sequence[str],
    number_rows: bool,
) -> list[str]:
    """What `read` makes of a table's names. Raises UserError for what it cannot do with them."""
    if number_rows and IDENTITY in names and IDENTITY not in drop:
        line = "makes the column id, found one in the table; leave it out, or"
        raise UserError(
            f"{path}: number_rows {line} drop id to lose the table's own",
            f"{path}: --number-rows {line} --drop id to lose the table's own",
        )
    for name in drop:
        if name not in names:
            line = f"drop: found {name!r}, allowed: {named(names)}{hint(name, names)}"
            raise UserError(f"{path}: {line}", f"{path}: --{line}")
    for name, expression in columns.items():
        column = expression.strip()
        known = {other.lower() for other in names} | CONSTANTS
        if COLUMN.fullmatch(column) and column.lower() not in known:
            raise unmapped(path, f"{name}={expression}", no_column(column, names), names)
    return [*kept(names, columns, drop), *([IDENTITY] if number_rows else []), *columns]


def no_column(name: str, names: Sequence[str]) -> str:
    """What an error line says of a column that is not there."""
    return f"found no column {name!r}{hint(name, names)}"


def unmapped(path: str, spelled: str, found: str, names: Sequence[str]) -> UserError:
    """Why a column cannot be made. `spelled`: as it was asked for; `found`: what is wrong."""
    line = f"{spelled}: {found}; the table has: {named(names)}"
    return UserError(f"{path}: columns: {line}", f"{path}: --column {line}")


def kept(names: Sequence[str], columns: Mapping[str, str], drop: Sequence[str]) -> list[str]:
    """The table's own columns that stay. Spark does not tell upper from lower case in names."""
    made = {name.lower() for name in columns}
    return [name for name in names if name.lower() not in made and name not in drop]
