"""What if a group had been raised: the same scenario replayed with one row more, held against it.

read a scenario's decisions → messages → a SetPriority more → replay → compare the starts
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NullType, StringType

from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.columns import quoted
from fairlead.pipeline.intake.scale import EXACT
from fairlead.pipeline.intake.validate import micros, text
from fairlead.pipeline.measure.attempts import last_attempts
from fairlead.pipeline.questions.diff import STARTED_AFTER, STARTED_BEFORE, compare, joined
from fairlead.pipeline.replay import prepare
from fairlead.replay.raised import refuse_fifo
from fairlead.results.whatif import RaiseEffect, Shift
from fairlead.rows import ATTEMPT, DECISION
from fairlead.runs.constants import MAX_LISTED, MAX_NAMED, PREFIX

RAISE: Final = "~" + PREFIX + "raised"
"""How the id of the row more begins: after all others of its time."""
TEXTS: Final = ("id", "group", "tenant", "cluster", "type")
ONLY: Final = "raised"


def messages_of(decisions: DataFrame) -> DataFrame:
    """The messages that a scenario's decisions are about."""
    columns = [quoted(name) for name in decisions.columns if name not in (*DECISION, *ATTEMPT)]
    return decisions.where("attempt = 1").select(*columns).dropDuplicates(["id"])


def with_raise(messages: DataFrame, group: str, time: int, priority: int) -> DataFrame:
    """The same messages, and one that raises a group at a time (microseconds).

    One for each cluster that has the group. Raises MessageError; UserError where none has.
    """
    if "group" not in messages.columns:
        raise MessageError(
            "decisions: no column 'group', so there is no group that could be raised"
        )
    if "position" in messages.columns:
        raise MessageError(
            "decisions: column 'position' orders the messages, so a time is no place among them"
        )
    alike = _alike(messages)
    values = {"time": Decimal(time) / MICROS, "type": SET_PRIORITY, "group": group}
    for k, whose in enumerate(_whose(alike, group)):
        row = {**values, **whose, "id": f"{RAISE}-{k}", "priority": priority}
        more = [
            F.lit(row.get(field.name)).cast(field.dataType).alias(field.name)
            for field in alike.schema.fields
        ]
        alike = alike.unionByName(alike.sparkSession.range(1).select(*more))
    return alike


def _alike(messages: DataFrame) -> DataFrame:
    """The messages with columns that can hold a raise, of whatever types the table has."""
    table = messages.withColumn("time", (micros(messages).cast(EXACT) / MICROS).cast(EXACT))
    for name in TEXTS:
        if name in ("type", *messages.columns):
            table = table.withColumn(name, text(messages, name))
    kind = table.schema["priority"].dataType if "priority" in table.columns else NullType()
    if isinstance(kind, StringType):
        return table
    number = F.col("priority") if "priority" in table.columns else F.lit(None)
    return table.withColumn("priority", number.cast("int"))


def _whose(messages: DataFrame, group: str) -> list[dict[str, str]]:
    """The clusters that have a group, and its tenant there. Raises UserError where none has."""
    names = [name for name in ("cluster", "tenant") if name in messages.columns]
    named = messages.where(F.col("group") != "")
    members = named.where(F.col("group") == group).select(F.lit(group).alias("group"), *names)
    owners = [row.asDict() for row in members.distinct().collect()]
    if not owners:
        others = named.select("group").distinct()
        near = others.orderBy(F.levenshtein("group", F.lit(group)), "group").limit(MAX_NAMED)
        known = ", ".join(repr(row["group"]) for row in near.collect())
        raise UserError(
            f"--promote: found {group!r}, allowed: a group of the scenario's messages"
            + (f", such as {known}" if known else "; none of them has one")
        )
    return sorted(owners, key=lambda row: [row[name] for name in names])


def what_if(decisions: DataFrame, plan: Plan, group: str, time: int, priority: int) -> RaiseEffect:
    """Raise a group of a scenario at a time, and tell what that does. Raises UserError."""
    refuse_fifo(plan)
    messages = messages_of(decisions)
    again = prepare(with_raise(messages, group, time, priority), {ONLY: plan}).attempts()
    before, after = last_attempts(decisions), last_attempts(again)
    compared = compare(joined(before), joined(after)).persist()
    try:
        return _effect(compared, group)
    finally:
        compared.unpersist()


def _effect(compared: DataFrame, group: str) -> RaiseEffect:
    later = (F.col(STARTED_AFTER) - F.col(STARTED_BEFORE)) / MICROS
    moved = compared.select(
        "id",
        "group",
        (F.col(STARTED_BEFORE) / MICROS).alias("before"),
        later.alias("later"),
        (F.col("group") == group).alias("own"),
    )
    totals = moved.agg(
        F.count_if(F.col("own") & (F.col("later") < 0)).alias("waiting"),
        F.count_if(~F.col("own") & (F.col("later") > 0)).alias("delayed"),
        F.count_if(~F.col("own") & (F.col("later") < 0)).alias("sooner"),
        F.coalesce(F.max(F.when(~F.col("own"), F.col("later"))), F.lit(0.0)).alias("longest"),
        F.coalesce(
            F.sum(F.when(~F.col("own") & (F.col("later") > 0), F.col("later"))), F.lit(0.0)
        ).alias("total"),
    ).collect()[0]
    raised = moved.where("own and later < 0").orderBy("before", "id").limit(MAX_LISTED).collect()
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
        .limit(MAX_LISTED)
        .collect()
    )
    figures: Mapping[str, Any] = totals.asDict()
    return RaiseEffect(
        group=group,
        waiting=figures["waiting"],
        raised=[Shift(row["id"], 1, row["before"], row["later"]) for row in raised],
        delayed=figures["delayed"],
        longest=max(0.0, figures["longest"]),
        total=figures["total"],
        hurt=[Shift(row["name"], row["n"], row["before"], row["later"]) for row in hurt],
        sooner=figures["sooner"],
    )
