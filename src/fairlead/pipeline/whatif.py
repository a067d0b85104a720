"""What if a group had been raised: the same scenario replayed with one row more, held against it.

read a scenario's decisions → messages → one SetPriority more → replay → compare the starts
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, TimestampType

from fairlead.balance.message import DECISION, SET_PRIORITY, WORKED
from fairlead.compiled.router import Plan
from fairlead.config.changes import MICROS
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.columns import quoted
from fairlead.pipeline.diff import STARTED_AFTER, STARTED_BEFORE, compare, joined
from fairlead.pipeline.replay import replay
from fairlead.replay.words import AGAIN

RAISE: Final = "~raised"
"""The id of the row more: after all others of its time."""
ONLY: Final = "raised"
MOST: Final = 20


@dataclass(frozen=True)
class Shift:
    """A group's message that waited, or a group that waits longer: by how much its start moves."""

    name: str
    messages: int
    before: float
    """Seconds, as the messages' times count."""
    seconds: float
    """Later than before; negative: sooner."""


@dataclass(frozen=True)
class WhatIf:
    """What raising a group would have done."""

    group: str
    waiting: int
    """Messages of the group that would be begun with sooner."""
    raised: list[Shift]
    """These, by their ids, the first first."""
    delayed: int
    """Messages of others that would be begun with later."""
    longest: float
    total: float
    """Seconds: the longest delay, and all delays together."""
    hurt: list[Shift]
    """The groups (or messages without one) that wait longest, by their longest delay."""
    sooner: int
    """Messages of others that would be begun with sooner."""


def messages_of(decisions: DataFrame) -> DataFrame:
    """The messages that a scenario's decisions are about."""
    own = [quoted(name) for name in decisions.columns if name not in (*DECISION, *WORKED)]
    return decisions.where("attempt = 1").select(*own).dropDuplicates(["id"])


def with_raise(messages: DataFrame, group: str, time: int, priority: int) -> DataFrame:
    """The same messages, and one that raises a group at a time (microseconds)."""
    if "group" not in messages.columns:
        raise MessageError(
            "decisions: no column 'group', so there is no group that could be raised"
        )
    if "position" in messages.columns:
        raise MessageError(
            "decisions: column 'position' orders the messages, so a time is no place among them"
        )
    for name in ("type", "priority"):
        if name not in messages.columns:
            messages = messages.withColumn(name, F.lit(None).cast("string"))
    kind = messages.schema["time"].dataType
    at: Any = str(time / MICROS)
    if isinstance(kind, TimestampType):
        at = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=time)
    elif isinstance(kind, NumericType):
        at = time / MICROS
    given = {"id": RAISE, "time": at, "type": SET_PRIORITY, "group": group, "priority": priority}
    row = [
        F.lit(given.get(field.name)).cast(field.dataType).alias(field.name)
        for field in messages.schema.fields
    ]
    more = messages.sparkSession.range(1).select(*row)
    return messages.unionByName(more)


def refuse_fifo(plan: Plan) -> None:
    """Refuse a scenario in which a raise would change nothing. Raises UserError."""
    for cluster in plan.clusters:
        if cluster.tables.order.discipline == "fifo":
            raise UserError(
                f"{cluster.name}: order.discipline: found fifo, allowed: priority; "
                "first come, first served, nobody can be raised"
            )


def what_if(decisions: DataFrame, plan: Plan, group: str, time: int, priority: int) -> WhatIf:
    """Raise a group of a scenario at a time, and tell what that does. Raises UserError."""
    refuse_fifo(plan)
    messages = messages_of(decisions)
    again = replay(with_raise(messages, group, time, priority), {ONLY: plan})
    after = again.where((F.col("id") != RAISE) & ~F.col("outcome").isin(*AGAIN)).drop("scenario")
    before = decisions.where(~F.col("outcome").isin(*AGAIN))
    compared = compare(joined(before), joined(after)).persist()
    try:
        return _told(compared, group)
    finally:
        compared.unpersist()


def _told(compared: DataFrame, group: str) -> WhatIf:
    later = (F.col(STARTED_AFTER) - F.col(STARTED_BEFORE)) / MICROS
    moved = compared.select(
        "id",
        "group",
        (F.col(STARTED_BEFORE) / MICROS).alias("before"),
        later.alias("later"),
        (F.col("group") == group).alias("own"),
    )
    known = moved.where("own").count()
    if not known:
        raise UserError(f"--promote: found no message of a group {group!r}, allowed: one of them")
    totals = moved.agg(
        F.count_if(F.col("own") & (F.col("later") < 0)).alias("waiting"),
        F.count_if(~F.col("own") & (F.col("later") > 0)).alias("delayed"),
        F.count_if(~F.col("own") & (F.col("later") < 0)).alias("sooner"),
        F.coalesce(F.max(F.when(~F.col("own"), F.col("later"))), F.lit(0.0)).alias("longest"),
        F.coalesce(
            F.sum(F.when(~F.col("own") & (F.col("later") > 0), F.col("later"))), F.lit(0.0)
        ).alias("total"),
    ).collect()[0]
    raised = moved.where("own and later < 0").orderBy("before", "id").limit(MOST).collect()
    who = F.when(F.col("group") == "", F.col("id")).otherwise(F.col("group"))
    hurt = (
        moved.where("not own and later > 0")
        .groupBy(who.alias("name"))
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.max("later").alias("later"),
            F.min("before").alias("before"),
        )
        .orderBy(F.desc("later"), "name")
        .limit(MOST)
        .collect()
    )
    found: Mapping[str, Any] = totals.asDict()
    return WhatIf(
        group=group,
        waiting=found["waiting"],
        raised=[Shift(row["id"], 1, row["before"], row["later"]) for row in raised],
        delayed=found["delayed"],
        longest=max(0.0, found["longest"]),
        total=found["total"],
        hurt=[Shift(row["name"], row["n"], row["before"], row["later"]) for row in hurt],
        sooner=found["sooner"],
    )
