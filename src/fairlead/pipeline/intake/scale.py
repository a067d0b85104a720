"""Scale: more or less of the same traffic, by whole conversations."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StringType, TimestampType

from fairlead.balance.times import MICROS
from fairlead.pipeline.columns import quoted
from fairlead.pipeline.intake.validate import DECIMAL, micros, text
from fairlead.replay.scale import LIKE_A_COPY, latest_shift, like_a_copy, no_place
from fairlead.runs.constants import PREFIX

ID: Final = "id"
GROUP: Final = "group"
TIME: Final = "time"
NUMBER: Final = PREFIX + "number"
"""0: the message itself; n: its n-th copy."""
DAY: Final = 86_400 * MICROS
EXACT: Final = "decimal(38,6)"
"""Microseconds, and seconds without a loss."""


def scale_rate(messages: DataFrame, rate: Decimal, seed: int) -> DataFrame:
    """The same messages `rate` times, on average; the same columns in the same order.

    `messages`: a table that `dispatch` would take. `rate`: above 0, with at most 6 decimals.
    `seed`: which of the messages are there once more.

    A conversation (the messages of one `group`; a message without one) is there floor(rate) times
    for certain, and once more with the probability that is left. That is decided by a hash of seed,
    copy number and group or id: not by the partitioning, and a conversation is there as a whole.
    With one seed, what is there at a lower rate is there at a higher one too, so that rates differ
    by nothing but what was added.

    The first is the message itself, untouched. Copy n has the id `id~n`, the group `group~n`, and
    comes later, all messages of a conversation by the same time, so that the gaps inside it stay.
    That time is spread evenly from 0 to GAPS mean gaps between the conversations of a cluster
    (at most a tenth of the whole period). At the same time as its original a copy would make
    bursts that nobody recorded, and every queue too long; spread over long, the rushes and lulls
    that were recorded would be levelled, and every queue too short. GAPS is between: of the
    conversations near a copy about one in GAPS is its own original, and whatever lasts longer than
    GAPS conversations keeps its shape.

    Above 1 the ids, groups and times have to hold the copies': id and group become text, a date
    becomes a timestamp without a zone, a number of seconds a decimal with 6 digits; a time that is
    text stays text. The period and the number of conversations are counted at once, in one pass.

    Raises MessageError for a table ordered by `position`, in which copies have no place, and one
    whose ids or groups end like a copy's, both only where there are copies.
    """
    if rate == 1:
        return messages
    shift = _shift(messages, seed) if rate > 1 else None
    copies = int(rate)
    part = int((rate - copies) * MICROS)
    once_more = F.pmod(_hash(messages, seed, F.lit(copies)), F.lit(MICROS)) < part
    number = F.lit(copies) + F.when(once_more, 1).otherwise(0)
    several = messages.where(number > 0).select(
        "*", F.explode(F.sequence(F.lit(0), number - 1)).alias(NUMBER)
    )
    if shift is None:
        return several.drop(NUMBER)
    changed = {ID: _numbered(ID), TIME: _later(messages, shift)}
    if GROUP in messages.columns:
        changed[GROUP] = _numbered(GROUP)
    return several.select(
        *(changed.get(name, quoted(name)).alias(name) for name in messages.columns)
    )


def _hash(messages: DataFrame, seed: int, *more: Column) -> Column:
    """64 bits that a conversation's name, the seed and whatever else decide."""
    group = text(messages, GROUP)
    named = F.when(group != "", group).otherwise(text(messages, ID))
    # A message may be called as a group is.
    return F.xxhash64(F.lit(seed).cast("long"), *more, group != "", named)


def _numbered(name: str) -> Column:
    """The name as text; of a copy with its number."""
    word = quoted(name).cast("string")
    copied = F.concat(word, F.lit("~"), F.col(NUMBER).cast("string"))
    return F.when((F.col(NUMBER) > 0) & (word != ""), copied).otherwise(word)


def _shift(messages: DataFrame, seed: int) -> Column:
    """By how many microseconds each copy comes later."""
    if "position" in messages.columns:
        raise no_place()
    time = micros(messages)
    names = [name for name in (ID, GROUP) if name in messages.columns]
    alike = [F.when(text(messages, name).rlike(LIKE_A_COPY), quoted(name)) for name in names]
    first, last, conversations, clusters, *examples = (
        messages.where(time.isNotNull())
        .agg(
            F.min(time),
            F.max(time),
            F.count_distinct(_hash(messages, seed)),
            F.count_distinct(text(messages, "cluster")),
            *map(F.min, alike),
        )
        .collect()[0]
    )
    for name, like in zip(names, examples, strict=True):
        if like is not None:
            raise like_a_copy(name, like)
    period = (last or 0) - (first or 0)
    most = latest_shift(period, clusters, conversations)
    spread = F.pmod(_hash(messages, seed, F.col(NUMBER), F.lit(TIME)), F.lit(most + 1))
    return F.when(F.col(NUMBER) > 0, spread).otherwise(0)


def _later(messages: DataFrame, shift: Column) -> Column:
    """The time so many microseconds later, in the column's own type where that can hold it."""
    kind = messages.schema[TIME].dataType
    time = micros(messages) + shift
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(time)
    seconds = (time.cast(EXACT) / MICROS).cast(EXACT)
    if isinstance(kind, NumericType):
        return seconds
    if not isinstance(kind, StringType):
        return _moment(time)
    plain = F.expr(f"try_cast(time as {DECIMAL})").isNotNull()
    later = F.when(plain, seconds.cast("string")).otherwise(_moment(time).cast("string"))
    return F.when(F.col(NUMBER) > 0, later).otherwise(quoted(TIME))


def _moment(time: Column) -> Column:
    """A timestamp without a zone, which is UTC, of microseconds since 1970."""
    seconds = (F.pmod(time, F.lit(DAY)).cast(EXACT) / MICROS).cast(EXACT)
    since = F.make_dt_interval(days=F.floor(time / DAY).cast("int"), secs=seconds)
    return F.lit("1970-01-01").cast("timestamp_ntz") + since
