"""Values of columns as texts, spelled as Spark spells them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

TEXT: Final = pa.string()
PLAIN_FROM, PLAIN_TO = 1e-3, 1e7


def is_text(kind: pa.DataType) -> bool:
    """Whether it is a text."""
    return bool(pa.types.is_string(kind))


def words_of(texts: pa.Array) -> list[Any]:
    """Texts for Python, and None; of bytes that are no UTF-8 what can be read."""
    try:
        words: list[Any] = texts.to_pylist()
    except UnicodeDecodeError:
        words = to_text(texts.cast(pa.binary())).to_pylist()
    return words


def to_text(values: pa.Array) -> pa.Array:
    """The values as Spark writes them. Raises ArrowException for what is no text."""
    kind = values.type
    if is_text(kind):
        return values
    if pa.types.is_null(kind):
        return pa.nulls(len(values), TEXT)
    if pa.types.is_floating(kind):
        return _of_floats(values)
    if pa.types.is_timestamp(kind):
        return _of_moments(values)
    if pa.types.is_decimal(kind):
        return pa.array(
            [None if value is None else str(value) for value in values.to_pylist()], TEXT
        )
    try:
        return values.cast(TEXT)
    except pa.ArrowInvalid:
        if not pa.types.is_binary(kind):
            raise
        every = values.to_pylist()
        return pa.array(
            [None if value is None else value.decode(errors="replace") for value in every], TEXT
        )


def _of_floats(values: pa.Array) -> pa.Array:
    """Each different number is spelled once; 0.0 and -0.0 are two."""
    kind = values.type
    coded = values.view(f"int{kind.bit_width}").dictionary_encode()
    texts = [double_text(value) for value in coded.dictionary.view(kind).to_pylist()]
    return pa.array(texts, TEXT).take(coded.indices)


def double_text(value: float) -> str:
    """A floating-point number as Java writes it: shortest, with a power of ten outside 1e-3..1e7.

    >>> double_text(0.1), double_text(12345678.0), double_text(100.0), double_text(1e-4)
    ('0.1', '1.2345678E7', '100.0', '1.0E-4')
    """
    if value != value:  # noqa: PLR0124 - so is NaN known
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or PLAIN_FROM <= abs(value) < PLAIN_TO:
        plain = f"{Decimal(repr(value)):f}"
        return plain if "." in plain else plain + ".0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # it is no infinity  # noqa: S101
    word = "".join(map(str, digits))
    power = exponent + len(word) - 1
    return f"{'-' if sign else ''}{word[0]}.{word[1:] or '0'}E{power}"


def _of_moments(values: pa.Array) -> pa.Array:
    """Moments as clocks show them; the numbers that they are, where one is in no year of these."""
    try:
        fine = values.type.unit == "ns"
        moments = values.cast(pa.timestamp("us"), safe=not fine).to_pylist()
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return values.cast(pa.int64()).cast(TEXT)
    return pa.array([None if moment is None else _shown(moment) for moment in moments], TEXT)


def _shown(moment: Any) -> str:  # noqa: ANN401 - a datetime
    shown = f"{moment:%Y-%m-%d %H:%M:%S}"
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return f"{shown}.{fraction}" if fraction else shown
