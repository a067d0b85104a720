"""Arithmetic and comparisons between two columns, with the types that Spark gives their results."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled.intake.columns import is_number
from fairlead.compiled.intake.texts import TEXT, is_text
from fairlead.errors import UserError
from fairlead.memory.values import (
    BOOL,
    DOUBLE,
    EXACT,
    INT,
    LEAST_SCALE,
    LONG,
    MOST_DIGITS,
    cast,
    is_decimal,
    is_whole,
    rounded,
)

PLAIN: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
}
EXACTLY: Final[dict[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": EXACT.divide,
    "%": EXACT.remainder,
}
COMPARED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
OF_WHOLE: Final = {pa.int8(): 3, pa.int16(): 5, INT: 10, LONG: 20}
"""How many digits an integer needs as a decimal."""


def calculated(sign: str, left: pa.Array, right: pa.Array, digits: tuple[int, int]) -> pa.Array:
    """`left sign right`. `digits`: of a literal integer on either side, else 0."""
    for operand in (left, right):
        if not (is_number(operand.type) or is_text(operand.type) or pa.types.is_null(operand.type)):
            raise UserError(f"{sign}: found {operand.type}, allowed: numbers")
    if any(is_text(operand.type) or pa.types.is_null(operand.type) for operand in (left, right)):
        left, right = (cast(operand, DOUBLE) for operand in (left, right))
    kinds = left.type, right.type
    if any(pa.types.is_floating(kind) for kind in kinds):
        return _doubles(sign, cast(left, DOUBLE), cast(right, DOUBLE))
    if any(is_decimal(kind) for kind in kinds):
        return _decimals(
            sign, *(_as_decimal(*pair) for pair in zip((left, right), digits, strict=True))
        )
    if sign == "/":
        return _doubles(sign, cast(left, DOUBLE), cast(right, DOUBLE))
    kind = LONG if LONG in kinds or sign == "div" else INT
    left, right = left.cast(kind), right.cast(kind)
    if sign in PLAIN:
        return PLAIN[sign](left, right)
    return _divided(sign, left, right)


def _divided(sign: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """Whole quotients and remainders, cut off towards zero; null where the divisor is 0."""
    one, other = (np.asarray(operand.fill_null(1)).astype(np.int64) for operand in (left, right))
    nothing = np.asarray(left.is_null()) | np.asarray(right.is_null()) | (other == 0)
    divisor = np.where(other == 0, 1, other)
    quotient = np.abs(one) // np.abs(divisor) * np.sign(one) * np.sign(divisor)
    result = quotient if sign == "div" else one - quotient * divisor
    return pa.array(result, LONG, mask=nothing).cast(left.type)


def _doubles(sign: str, left: pa.Array, right: pa.Array) -> pa.Array:
    if sign in PLAIN:
        return PLAIN[sign](left, right)
    zero = pc.equal(right, 0.0)
    divisor = pc.if_else(zero, pa.scalar(None, DOUBLE), right)
    if sign == "/":
        return pc.divide(left, divisor)
    if sign == "div":
        return cast(pc.divide(left, divisor), LONG)
    mask = np.asarray(pc.or_kleene(left.is_null(), divisor.is_null()))
    one, other = (np.asarray(operand.fill_null(1.0)) for operand in (left, divisor))
    return pa.array(np.fmod(one, other), DOUBLE, mask=mask)


def _as_decimal(values: pa.Array, digits: int) -> pa.Array:
    if is_decimal(values.type):
        return values
    return cast(values, pa.decimal128(digits or OF_WHOLE[values.type], 0))


def _decimals(sign: str, left: pa.Array, right: pa.Array) -> pa.Array:
    kind = LONG if sign == "div" else decimal_of(sign, left.type, right.type)
    if sign in PLAIN and _fits(sign, left.type, right.type):
        return PLAIN[sign](left, right).cast(kind)
    results: list[Any] = []
    for one, other in zip(left.to_pylist(), right.to_pylist(), strict=True):
        if one is None or other is None or (sign not in PLAIN and not other):
            results.append(None)
        elif sign == "div":
            results.append(int(EXACT.divide_int(one, other)))
        else:
            results.append(rounded(EXACTLY[sign](one, other), kind))
    return pa.array(results, kind)


def _fits(sign: str, one: pa.DataType, other: pa.DataType) -> bool:
    digits, _ = _digits(sign, one, other)
    return digits <= MOST_DIGITS


def _digits(sign: str, one: pa.DataType, other: pa.DataType) -> tuple[int, int]:
    before = one.precision - one.scale, other.precision - other.scale
    if sign == "*":
        return one.precision + other.precision + 1, one.scale + other.scale
    if sign == "/":
        scale = max(LEAST_SCALE, one.scale + other.precision + 1)
        return before[0] + other.scale + scale, scale
    scale = max(one.scale, other.scale)
    if sign == "%":
        return min(before) + scale, scale
    return max(before) + scale + 1, scale


def decimal_of(sign: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type of a result, as Spark's DecimalPrecision has it."""
    digits, scale = _digits(sign, one, other)
    if digits > MOST_DIGITS:
        least = min(scale, LEAST_SCALE)
        digits, scale = MOST_DIGITS, max(MOST_DIGITS - (digits - scale), least)
    return pa.decimal128(digits, scale)


def compared(sign: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """Whether `left sign right`; null where either is null, but for <=>."""
    left, right = alike(left, right)
    if pa.types.is_floating(left.type):
        left, right = _in_order(left), _in_order(right)
    if sign == "<=>":
        same = pc.fill_null(pc.equal(left, right), False)
        return pc.or_(same, pc.and_(left.is_null(), right.is_null()))
    return COMPARED[sign](left, right)


def _in_order(values: pa.Array) -> pa.Array:
    """Integers in the order of floating-point numbers: to Spark NaN is one, and the greatest."""
    numbers = np.asarray(values.fill_null(0.0)) + 0.0  # so that -0.0 is 0.0
    bits = numbers.view(np.int64)
    order = np.where(bits < 0, np.int64(-(1 << 63)) - bits, bits)
    order = np.where(np.isnan(numbers), np.int64((1 << 63) - 1), order)
    return pa.array(order, LONG, mask=np.asarray(values.is_null()))


def alike(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both as one type in which they can be compared; a text becomes what the other is."""
    kind = common(left.type, right.type, texts=False)
    return cast(left, kind), cast(right, kind)


def common(one: pa.DataType, other: pa.DataType, *, texts: bool = True) -> pa.DataType:
    """A type for both. `texts`: a text and a number are a text. Raises UserError."""
    if one == other or pa.types.is_null(other):
        return TEXT if pa.types.is_null(one) else one
    if pa.types.is_null(one):
        return other
    if is_text(one) or is_text(other):
        kind = other if is_text(one) else one
        return TEXT if texts else DOUBLE if is_decimal(kind) else kind
    if is_number(one) and is_number(other):
        if pa.types.is_floating(one) or pa.types.is_floating(other):
            return DOUBLE
        if is_whole(one) and is_whole(other):
            return LONG
        wide = [
            kind if is_decimal(kind) else pa.decimal128(OF_WHOLE[kind], 0) for kind in (one, other)
        ]
        scale = max(kind.scale for kind in wide)
        digits = max(kind.precision - kind.scale for kind in wide) + scale
        return pa.decimal128(min(digits, MOST_DIGITS), scale)
    raise UserError(f"found {one} and {other} together, allowed: values of one type")


def negative(values: pa.Array) -> pa.Array:
    """The same below zero."""
    if is_text(values.type):
        values = cast(values, DOUBLE)
    if not is_number(values.type):
        raise UserError(f"-: found {values.type}, allowed: a number")
    return pc.negate(values)


def logical(values: pa.Array, what: str) -> pa.Array:
    """A condition. Raises UserError where it is none."""
    if pa.types.is_null(values.type) or is_text(values.type):
        return cast(values, BOOL)
    if not pa.types.is_boolean(values.type):
        raise UserError(f"{what}: found {values.type}, allowed: a condition")
    return values
