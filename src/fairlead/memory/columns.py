"""Columns of a table in memory, made by expressions of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.objects import hint, listed
from fairlead.compiled.intake.texts import TEXT
from fairlead.compiled.required_columns import named
from fairlead.errors import UserError
from fairlead.memory.arithmetic import COMPARED, calculated, compared, logical, negative
from fairlead.memory.expressions import (
    USE_SPARK,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Name,
    parse,
)
from fairlead.memory.functions import FUNCTIONS, chosen
from fairlead.memory.values import BOOL, DOUBLE, INT, LONG, cast, kind_of

LOGIC: Final = {"and": pc.and_kleene, "or": pc.or_kleene}
ARITHMETIC: Final = ("+", "-", "*", "/", "%", "div")
LONGEST: Final = 200
"""Characters of an expression that is refused."""
MOST_INT, MOST_LONG = 2**31 - 1, 2**63 - 1


def mapped(table: pa.Table, path: str, columns: Mapping[str, str], drop: Sequence[str]) -> pa.Table:
    """The table with these columns instead of its own. Raises UserError."""
    made = {}
    for name, text in columns.items():
        try:
            made[name] = evaluated(parse(text), table)
        except UserError as error:
            line = f"{name}={text if len(text) <= LONGEST else text[:LONGEST] + '…'}: {error}"
            if "no column" in str(error):
                line += f"; the table has: {named(table.column_names)}"
            raise UserError(f"{path}: columns: {line}", f"{path}: --column {line}") from None
    # Spark does not tell upper from lower case in names.
    lower = {name.lower() for name in made}
    others = [n for n in table.column_names if n.lower() not in lower and n not in drop]
    arrays = [*(table.column(name) for name in others), *made.values()]
    return pa.Table.from_arrays(arrays, names=[*others, *made])


def evaluated(expression: Expression, table: pa.Table) -> pa.Array:
    """The values of an expression, by the row. Raises UserError."""
    match expression:
        case Name(name):
            return _column(name, table)
        case Literal():
            value, kind = literal(expression)
            return pa.repeat(pa.scalar(value, kind), len(table))
        case Cast(of, kind):
            return cast(evaluated(of, table), kind_of(kind))
        case Case(branches, otherwise):
            pairs = [
                (logical(evaluated(condition, table), "CASE"), evaluated(value, table))
                for condition, value in branches
            ]
            return chosen(pairs, evaluated(otherwise, table))
        case Call(name, of):
            return _called(name, of, table)


def literal(found: Literal) -> tuple[object, pa.DataType]:
    """A value and its type, as Spark reads them."""
    if not found.number:
        kind = TEXT if isinstance(found.value, str) else BOOL
        return found.value, pa.null() if found.value is None else kind
    text = str(found.value)
    if text[-1] in "Ll":
        return int(text[:-1]), LONG
    if text[-1] in "Dd" or "e" in text.lower():
        return float(text.rstrip("dD")), DOUBLE
    if "." in text:
        number = Decimal(text)
        _, digits, exponent = number.as_tuple()
        scale = -int(exponent)
        return number, pa.decimal128(max(len(digits), scale), scale)
    whole = int(text)
    if whole > MOST_LONG:
        return Decimal(whole), pa.decimal128(len(text), 0)
    return whole, INT if whole <= MOST_INT else LONG


def _column(name: str, table: pa.Table) -> pa.Array:
    names = table.column_names
    matches = [other for other in names if other.lower() == name.lower()]
    if len(matches) != 1:
        raise UserError(f"found no column {name!r}{hint(name, names)}")
    column = table.column(matches[0]).combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(TEXT)
    return column.cast(DOUBLE) if pa.types.is_floating(kind) else column


def _called(name: str, of: tuple[Expression, ...], table: pa.Table) -> pa.Array:
    if name in ("timestampadd", "dateadd") and of and isinstance(of[0], Name):
        # Its unit is a word, not a column.
        name, of = "timestampadd", (Literal(of[0].name), *of[1:])
    name = "concat" if name == "||" else name
    known = (*FUNCTIONS, *LOGIC, *COMPARED, *ARITHMETIC, "not", "negative", "<=>")
    if name not in known:
        raise UserError(
            f"found the function {name}, allowed: {listed(sorted(FUNCTIONS))}; {USE_SPARK}"
        )
    values = [evaluated(argument, table) for argument in of]
    if name in FUNCTIONS:
        least, most, function = FUNCTIONS[name]
        if not least <= len(of) <= most:
            raise UserError(f"{name}: found {len(of)} arguments, allowed: {_range(least, most)}")
        return _plain(function(values))
    return _operator(name, of, values)


def _operator(name: str, of: tuple[Expression, ...], values: list[pa.Array]) -> pa.Array:
    if name in LOGIC:
        return LOGIC[name](*(logical(value, name) for value in values))
    if name == "not":
        return pc.invert(logical(values[0], name))
    if name == "negative":
        return negative(values[0])
    if name in ARITHMETIC:
        left, right = values
        return calculated(name, left, right, (_digits(of[0]), _digits(of[1])))
    return compared(name, *values)


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _range(least: int, most: int) -> str:
    return (
        str(least) if least == most else f"{least} to {most}" if most < 99 else f"{least} or more"
    )


def _digits(expression: Expression) -> int:
    """How many digits a literal integer has; 0 for anything else."""
    if isinstance(expression, Literal) and expression.number:
        text = str(expression.value).rstrip("Ll")
        return len(text) if text.isdigit() else 0
    return 0
