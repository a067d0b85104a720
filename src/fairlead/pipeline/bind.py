"""Bind: messages that go where an earlier one went.

The first message of each opener or group that finds somebody is chosen for like any other; the
rest are joined to it. Everything here needs two shuffles of narrow rows, and only tables whose
messages can be bound pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.balance.message import ON_GROUP, ON_OPEN
from fairlead.compiled.router import Plan
from fairlead.pipeline.accept import text
from fairlead.pipeline.blocks import Blocks
from fairlead.pipeline.columns import (
    BLOCK,
    BOUND,
    CLASS,
    FREE,
    ID,
    KEY,
    PACKED,
    PREFIX,
    SERVICE,
    TIME,
    VERSION,
)
from fairlead.pipeline.route import States, in_blocks, route
from fairlead.pipeline.survey import verdicts

OK, BIND, WHOSE, WORD, FIRST = (PREFIX + name for name in ("ok", "bind", "whose", "word", "first"))


def can_bind(plan: Plan, columns: list[str]) -> bool:
    """Whether any message of the table may be bound."""
    if not plan.binds:
        return False
    said = "bind" in columns
    kinds = {row[3] for row in verdicts(plan)}
    return said or ON_OPEN in kinds or (ON_GROUP in kinds and "group" in columns)


def keyed(rows: DataFrame, plan: Plan) -> DataFrame:
    """The rows with WORD, WHOSE, BIND (what binds them; WORD null: nothing) and FREE.

    FREE: the message is not bound to an earlier one, so it is chosen for, or finds nobody.
    """
    spark = rows.sparkSession
    table = spark.createDataFrame(
        list(verdicts(plan)), f"{VERSION} int, {CLASS} int, {OK} boolean, {BIND}_default string"
    )
    homes: dict[object, int] = {}
    whose = [
        (code, homes.setdefault((each.cluster, each.raw[:2]), len(homes)))
        for code, each in enumerate(plan.classes)
    ]
    owners = spark.createDataFrame(whose, f"{CLASS} int, {WHOSE} int")
    joined = rows.join(F.broadcast(table), [VERSION, CLASS]).join(F.broadcast(owners), CLASS)
    said = text(rows, "bind")
    kind = F.when(said != "", said).otherwise(F.col(f"{BIND}_default"))
    group = text(rows, "group")
    word = F.when(kind == ON_OPEN, text(rows, "producer")).when(
        (kind == ON_GROUP) & (group != ""), group
    )
    marked = joined.withColumns({BIND: kind, WORD: word}).drop(f"{BIND}_default")
    place = F.struct(KEY, ID)
    firsts = (
        marked.where(F.col(WORD).isNotNull() & F.col(OK))
        .groupBy(BIND, WHOSE, WORD)
        .agg(F.min(place).alias(FIRST))
    )
    found = marked.join(firsts, [BIND, WHOSE, WORD], "left")
    free = F.col(WORD).isNull() | F.col(FIRST).isNull() | (place <= F.col(FIRST))
    return found.withColumn(FREE, free)


def bound(
    rows: DataFrame, plan: Plan, states: States, blocks: Blocks, sizes: Sequence[int]
) -> DataFrame:
    """The rows with BOUND: the label that an earlier message's choice gives those not free.

    `sizes`: how many free rows each block has.
    """
    own = [name for name in ("id", "position") if name in rows.columns]
    narrow = rows.where(FREE).select(
        *own, BLOCK, CLASS, KEY, ID, TIME, SERVICE, BIND, WHOSE, WORD, FIRST, FREE
    )
    routed = route(in_blocks(narrow, blocks), plan, states, sizes)
    firsts = routed.where(F.struct(KEY, ID) == F.col(FIRST)).select(
        BIND, WHOSE, WORD, F.pmod(F.col(PACKED), F.lit(plan.codes.codes)).cast("int").alias(BOUND)
    )
    return rows.join(firsts, [BIND, WHOSE, WORD], "left")
