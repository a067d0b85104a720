"""Validate: which rows are messages, and why the others are not.

Adds the order key, the id as text, times in whole microseconds, whether a row is a message, and
the reason of a rejection. Whoever asks only which rows are messages makes none of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from fairlead.balance.message import SET_PRIORITY, SPELLED_ALIKE
from fairlead.balance.times import (
    BLANK,
    FINE,
    LATEST,
    MICROS,
    NEAR,
    TIMES,
    TIMESTAMP,
)
from fairlead.compiled.intake.units import OTHER_UNITS, refuse_other_unit
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import ServedClusters
from fairlead.compiled.row_checks import (
    LONGEST_SHOWN,
    NUMBER_OR_TEXT,
    TIME_TYPES,
    CellCondition,
    RowCheck,
    row_checks,
    wrong_type,
)
from fairlead.pipeline.columns import GOOD, ID, KEY, REASON, SERVICE, TIME, quoted
from fairlead.runs.constants import MALFORMED

LONGEST_DATE = 10
DECIMAL = "decimal(28,9)"
DIGITS_KEPT: Final = 6
"""Of seconds: a service is whole microseconds before it is too short or too long."""


def validate(
    messages: DataFrame, *plans: Plan, worked: bool = False, sent: bool = False
) -> DataFrame:
    """The same rows with KEY, ID, TIME, SERVICE, GOOD and REASON.

    `worked`: whether they are to be worked on (replay); `sent`: whether they go into queues.
    """
    kinds = {field.name: field.dataType for field in messages.schema.fields}
    _check_types(kinds)
    checks = list(row_checks(kinds, *plans, worked=worked, sent=sent))
    passed = [PASSED[check.condition](messages, check) for check in checks]
    reasons = [_reason(kinds, check) for check in checks]
    if MALFORMED in kinds:
        passed.insert(0, F.col(MALFORMED).isNull())
        reasons.insert(0, F.col(MALFORMED))
    key = time = time_of(kinds["time"])
    if "position" in kinds:
        key = F.expr("try_cast(position as bigint)")
    service: Column = F.lit(None).cast("long")
    if "service_time" in kinds:
        service = _micros("service_time", kinds["service_time"])
    return messages.select(
        *(quoted(name) for name in messages.columns if name != MALFORMED),
        key.alias(KEY),
        F.col("id").cast("string").alias(ID),
        time.alias(TIME),
        service.alias(SERVICE),
        reduce(and_, passed).alias(GOOD),
        F.coalesce(*(F.when(~good, why) for good, why in zip(passed, reasons, strict=True))).alias(
            REASON
        ),
    )


def rejected_rows(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows that are no messages: these columns of theirs, and the `reason`."""
    selection = [quoted(name) for name in columns]
    return rows.where(~F.col(GOOD)).select(*selection, F.col(REASON).alias("reason"))


def _check_types(kinds: Mapping[str, DataType]) -> None:
    """Refuse columns of types that Spark takes for numbers, or spells in its own way."""
    for name in NUMBER_OR_TEXT:
        kind = kinds.get(name, StringType())
        if not isinstance(kind, NumericType | StringType | NullType):
            raise wrong_type(name, kind.simpleString())
    if isinstance(kinds["id"], FractionalType) and not isinstance(kinds["id"], DecimalType):
        raise wrong_type("id", kinds["id"].simpleString(), SPELLED_ALIKE)


# -------- whether a row passes: each as short as can be, as Spark compiles it into every stage


def _said(messages: DataFrame, check: RowCheck) -> Column:
    return said(messages, check.column)


def _is_text(messages: DataFrame, check: RowCheck) -> Column:
    if isinstance(messages.schema[check.column].dataType, StringType | BinaryType):
        return F.is_valid_utf8(_text(check.column))
    return F.lit(True)


def _is_moment(messages: DataFrame, check: RowCheck) -> Column:
    kind = messages.schema[check.column].dataType
    return _is_time(kind, time_of(kind))


def _is_place(messages: DataFrame, check: RowCheck) -> Column:
    name = check.column
    place = F.expr(f"try_cast({name} as bigint)")
    bad = place.isNull()
    if isinstance(messages.schema[name].dataType, NumericType):
        bad |= F.col(name) != place  # Spark cuts decimals off
    return _unless(bad)


def _is_served(messages: DataFrame, check: RowCheck) -> Column:
    nothing = ~said(messages, check.column)
    return _unless(nothing & _are(messages, check.whose))


def _is_service(messages: DataFrame, check: RowCheck) -> Column:
    name = check.column
    seconds = F.expr(f"round(try_cast({name} as {DECIMAL}), {DIGITS_KEPT})")
    bad = seconds.isNull() | ~seconds.between(check.least, check.most)
    if isinstance(messages.schema[name].dataType, NumericType):
        # A decimal takes long.
        bad = ~F.col(name).between(check.least, check.most) & bad
    bad = said(messages, name) & bad
    return _unless(bad if check.whose is None else bad & _are(messages, check.whose))


def _is_whole(messages: DataFrame, check: RowCheck) -> Column:
    name = check.column
    number = _decimal(name)
    bad = number.isNull() | (number != F.floor(number)) | ~number.between(check.least, check.most)
    if isinstance(messages.schema[name].dataType, IntegralType):
        bad = ~F.col(name).between(check.least, check.most)
    return _unless(said(messages, name) & bad)


def _is_one_of(_: DataFrame, check: RowCheck) -> Column:
    return _text(check.column).isin("", *check.words)


def _is_without(_: DataFrame, check: RowCheck) -> Column:
    return ~((_text(check.column) == "true") & (_text(check.words[0]) != ""))


PASSED: Final[Mapping[CellCondition, Callable[[DataFrame, RowCheck], Column]]] = {
    CellCondition.SAID: _said,
    CellCondition.UTF8: _is_text,
    CellCondition.MOMENT: _is_moment,
    CellCondition.PLACE: _is_place,
    CellCondition.SERVED: _is_served,
    CellCondition.SERVICE: _is_service,
    CellCondition.WHOLE: _is_whole,
    CellCondition.ONE_OF: _is_one_of,
    CellCondition.WITHOUT: _is_without,
}
"""Never null."""


def _unless(bad: Column) -> Column:
    """`bad`: null where nothing is to be said against a row."""
    return ~F.coalesce(bad, F.lit(False))


def _are(messages: DataFrame, served: ServedClusters | None) -> Column:
    """Which messages these are."""
    work = text(messages, "type") != SET_PRIORITY
    if served is None or served.clusters is None:
        return work
    return work & text(messages, "cluster").isin(sorted(served.clusters))


# -------- what is said of a row that does not pass


def _reason(kinds: Mapping[str, DataType], check: RowCheck) -> Column:
    if check.condition is CellCondition.MOMENT:
        return _no_time(kinds["time"], time_of(kinds["time"]))
    return F.lit(check.fixed) if check.fixed else _found(check.column, check.allowed)


def _is_time(kind: DataType, time: Column) -> Column:
    """Whether a row has a time. `time`: `time_of` it.

    A number that would be a moment of these years in another unit is none in seconds.
    """
    condition = time.isNotNull()
    if not isinstance(kind, NumericType | StringType):
        return condition
    seconds, unit = time, MICROS
    if isinstance(kind, IntegralType | FloatType | DoubleType):
        # The number itself tells it, so that it is not converted once more.
        seconds, unit = F.col("time"), 1
        if isinstance(kind, FloatType):
            seconds = seconds.cast("double")  # else the bounds become floats, and others
        condition = F.coalesce(seconds.between(-LATEST, LATEST), F.lit(False))
    for first, last, _ in OTHER_UNITS:
        if first <= LATEST:
            condition &= ~F.coalesce(seconds.between(first * unit, last * unit), F.lit(False))
    return condition


def _no_time(kind: DataType, time: Column) -> Column:
    """Why a row has no time."""
    hints = []
    if isinstance(kind, NumericType | StringType):
        number = F.col("time").try_cast("double")
        for first, last, hint in OTHER_UNITS:
            meant = number.between(first, last)
            if first <= LATEST:
                meant = time.between(first * MICROS, last * MICROS)
            said_of_it = F.concat(F.lit("time: found "), _shown("time"), F.lit(hint))
            hints.append(F.when(meant, said_of_it))
    return F.coalesce(*hints, _found("time", TIMES))


def refuse_other_units(rows: DataFrame, where: str) -> None:
    """Refuse a table without any message, if its times are in another unit. Raises MessageError.

    `rows`: with REASON.
    """
    first = rows.select(REASON).first()
    refuse_other_unit(None if first is None else first[0], where)


def whole_number(messages: DataFrame, name: str) -> Column:
    """A column of whole numbers, however they are written; null where it is not given."""
    if isinstance(messages.schema[name].dataType, IntegralType):
        return F.col(name).cast("bigint")
    return _decimal(name).cast("bigint")  # Spark makes an integer of no `1e2`


def _decimal(name: str) -> Column:
    return F.expr(f"try_cast(`{name}` as {DECIMAL})")


def _text(name: str) -> Column:
    return F.coalesce(F.col(name).cast("string"), F.lit(""))


def text(messages: DataFrame, name: str) -> Column:
    """A column as text, "" where it is not given or there is none."""
    return _text(name) if name in messages.columns else F.lit("")


def said(messages: DataFrame, name: str) -> Column:
    """Whether a row says anything in a column."""
    if name not in messages.columns:
        return F.lit(False)
    if isinstance(messages.schema[name].dataType, NumericType):
        return F.col(name).isNotNull()  # to make a text of it takes long
    return _text(name) != ""


def _found(name: str, allowed: str) -> Column:
    return F.concat(F.lit(f"{name}: found "), _shown(name), F.lit(f", allowed: {allowed}"))


def _shown(name: str) -> Column:
    word = F.substring(F.make_valid_utf8(_text(name)), 1, LONGEST_SHOWN)
    quote = F.lit("'")
    return F.when(word == "", F.lit("nothing")).otherwise(F.concat(quote, word, quote))


def time_of(kind: DataType, name: str = "time") -> Column:
    """A column's whole microseconds since the epoch, or since 0 for a plain number of seconds."""
    if isinstance(kind, TimestampType):
        return F.unix_micros(name)
    if isinstance(kind, TimestampNTZType | DateType):
        return _without_zone(name)
    if not isinstance(kind, NumericType | StringType):
        raise wrong_type(name, kind.simpleString(), TIME_TYPES)
    seconds = _micros(name, kind)
    if isinstance(kind, NumericType):
        return seconds
    # What is tried in vain takes twenty times as long: Java makes an exception of each.
    return F.when(is_timestamp(name), _timestamp(name)).otherwise(seconds)


def is_timestamp(name: str) -> Column:
    """Whether a text is one; Spark itself would complete a time of day by the day of the run."""
    return F.btrim(name, F.lit(BLANK)).rlike(f"^(?:{TIMESTAMP})$")


def _timestamp(name: str) -> Column:
    """Microseconds of a text that is a timestamp; null where there is no such moment."""
    text = F.btrim(name, F.lit(BLANK))
    # Spark wants seconds before a zone, and without a zone would take that of the session.
    timed = F.regexp_replace(text, r"([T ]\d{1,2}:\d{1,2})(?= ?(?:[A-Z+-]|$))", "$1:00")
    whole = (
        F.when(F.length(text) <= LONGEST_DATE, F.concat(text, F.lit("T00:00:00Z")))
        .when(timed.rlike(r"(?:[A-Z]|[+-][\d:]+)$"), timed)
        .otherwise(F.concat(timed, F.lit("Z")))
    )
    return F.unix_micros(whole.try_cast("timestamp"))


def _without_zone(name: str) -> Column:
    """Microseconds of a date, or of a timestamp without a zone, which are UTC."""
    # Every way by which Spark makes one number of it goes through the session's time zone.
    ntz = f"cast({name} as timestamp_ntz)"
    return F.expr(f"""
        unix_date(cast({name} as date)) * 86400000000L
        + (hour({ntz}) * 60 + minute({ntz})) * 60000000L
        + cast(extract(second from {ntz}) * {MICROS} as bigint)
    """)


def micros(messages: DataFrame) -> Column:
    """The column `time` in whole microseconds; null where it is no time."""
    return time_of(messages.schema["time"].dataType)


def _micros(name: str, kind: DataType) -> Column:
    """A column's seconds as whole microseconds; null where 64 bits would not hold them."""
    seconds = F.expr(f"try_cast({name} as {DECIMAL})")
    amount = F.when(F.abs(seconds) <= LATEST, F.round(seconds * MICROS).cast("long"))
    if not isinstance(kind, DoubleType):
        return amount
    about = F.col(name) * MICROS
    whole = F.rint(about)
    sure = (F.abs(F.col(name)) < FINE) & (F.abs(about - whole) <= NEAR)
    return F.when(sure, whole.cast("long")).otherwise(amount)
