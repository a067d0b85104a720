"""Affinity: messages that go where an earlier one went.

The first message of each opener or group that finds somebody is chosen for like any other; the
rest are joined to it. The firsts are found once, in a shuffle of narrow rows, and kept until the
run ends; only tables whose messages can be bound pay for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fairlead.balance.message import ON_GROUP, ON_OPEN
from fairlead.compiled.classes import homes, numbered_homes
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.pipeline.columns import (
    AT,
    BIND,
    BLOCK,
    BOUND,
    CLASS,
    EPOCH,
    FIRST,
    FREE,
    HOME,
    ID,
    KEY,
    MEMBER,
    PACKED,
    SERVICE,
    TIME,
    VERSION,
    WHO,
    WHOSE,
    WORD,
    small_table,
)
from fairlead.pipeline.intake.validate import text
from fairlead.pipeline.routing.class_counts import eligible_rows
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import States, in_blocks, route
from fairlead.runs.constants import PREFIX

OK, DEFAULT, HEEDED = (PREFIX + name for name in ("ok", "bind_default", "bind_heeded"))
LAST: Final = PREFIX + "last"
"""When a group was seen last, before the messages of this table."""
BEFORE: Final = PREFIX + "before"
"""The key of the message before, of those that are bound by the same."""
PARTITIONS: Final = "spark.sql.shuffle.partitions"
MOST_BROADCAST: Final = 100_000
"""Groups whose destinations are sent to every executor."""
MOST_IN_MEMORY: Final = 250_000
"""Groups, of those of one task, that are held in memory; more are sorted."""
GAP: Final = PREFIX + "gap"
SESSION: Final = PREFIX + "session"
ELIGIBLE = {
    VERSION: pa.int32(),
    CLASS: pa.int32(),
    OK: pa.bool_(),
    DEFAULT: pa.string(),
    HEEDED: pa.bool_(),
    EPOCH: pa.int32(),
}
"""The columns of `eligible_rows`."""


def can_bind(plan: ClassifiedPlan, columns: Sequence[str]) -> bool:
    """Whether any message of the table may be bound."""
    if not plan.binds:
        return False
    has_column = "bind" in columns and "bind" in plan.relevant_attributes
    kinds = {row[3] for row in eligible_rows(plan)}
    return has_column or ON_OPEN in kinds or (ON_GROUP in kinds and "group" in columns)


def ends(plan: ClassifiedPlan) -> bool:
    """Whether a binding can end, because a destination drops out or moves."""
    return any(row[5] for row in eligible_rows(plan))


def known(groups: DataFrame, plan: ClassifiedPlan) -> DataFrame:
    """Bindings that are remembered, as the classes of these messages name them.

    `groups`: BIND, HOME, WORD, MEMBER, AT; returned with WHOSE in the place of HOME.
    """
    rows = [(json.dumps(home), number) for home, number in numbered_homes(plan).items()]
    names = small_table(groups.sparkSession, {HOME: pa.string(), WHOSE: pa.int32()}, rows)
    return groups.join(F.broadcast(names), HOME).drop(HOME)


def still_bound(known: DataFrame, keyed: DataFrame, horizon: int | None) -> DataFrame:
    """Of what is remembered, that which messages of the table may be bound by."""
    word = F.col(WORD) if horizon is None else F.concat(F.lit("0:"), F.col(WORD))
    named = known.select(BIND, WHOSE, word.alias(WORD), MEMBER)
    words = keyed.where(F.col(WORD).isNotNull()).select(BIND, WHOSE, WORD)
    return named.join(words, [BIND, WHOSE, WORD], "left_semi")


def _in_sessions(marked: DataFrame, known: DataFrame | None, horizon: int) -> DataFrame:
    """WORD tells apart what was said before and after a group was forgotten: `0:word`, `1:word`."""
    who = [BIND, WHOSE, WORD]
    if known is None:
        seen = marked.withColumn(LAST, F.lit(None).cast("bigint"))
    else:
        seen = marked.join(known.select(*who, F.col(AT).alias(LAST)), who, "left")
    # What is bound by nothing has no order to keep, and must not come together.
    alone = F.when(F.col(WORD).isNull(), F.col(ID))
    order = Window.partitionBy(*who, alone).orderBy(KEY, ID)
    before = F.coalesce(F.lag(AT).over(order), F.col(LAST))
    gap = F.when(F.col(AT) - before > horizon, 1).otherwise(0)
    number = F.sum(GAP).over(order.rowsBetween(Window.unboundedPreceding, 0)).cast("string")
    numbered = seen.withColumn(GAP, gap).withColumn(SESSION, number)
    word = F.concat(F.col(SESSION), F.lit(":"), F.col(WORD))
    return numbered.withColumn(WORD, word).drop(LAST, GAP, SESSION)


def keyed(
    rows: DataFrame,
    plan: ClassifiedPlan,
    known: DataFrame | None = None,
    horizon: int | None = None,
) -> DataFrame:
    """The rows with WORD, WHOSE, BIND, EPOCH (what binds them; WORD null: nothing), and OK.

    OK: the message finds somebody. `known`: who was bound before; `horizon`: after so many
    microseconds without a message a group is forgotten.
    """
    owner = homes(plan)
    known_of = [(*row, owner[row[1]]) for row in eligible_rows(plan)]
    table = small_table(rows.sparkSession, {**ELIGIBLE, WHOSE: pa.int32()}, known_of)
    joined = rows.join(F.broadcast(table), [VERSION, CLASS])
    option = text(rows, "bind")
    kind = F.when((option != "") & F.col(HEEDED), option).otherwise(F.col(DEFAULT))
    group = text(rows, "group")
    word = F.when(kind == ON_OPEN, text(rows, "producer")).when(
        (kind == ON_GROUP) & (group != ""), group
    )
    marked = joined.withColumns({BIND: kind, WORD: word}).drop(DEFAULT, HEEDED)
    return marked if horizon is None else _in_sessions(marked, known, horizon)


def firsts(keyed: DataFrame) -> DataFrame:
    """Of the messages that are bound by the same, the first that finds somebody; narrow rows."""
    order = Window.partitionBy(*WHO).orderBy(KEY, ID)
    grouped = narrow(keyed.where(F.col(WORD).isNotNull() & F.col(OK)))
    before = grouped.withColumn(BEFORE, F.lag(KEY).over(order))
    return before.where(F.col(BEFORE).isNull()).drop(BEFORE)


def unbound(keyed: DataFrame) -> DataFrame:
    """The messages that nothing binds, as narrow rows."""
    return narrow(keyed.where(F.col(WORD).isNull()))


def narrow(keyed: DataFrame) -> DataFrame:
    """What choosing needs of the rows."""
    names = [name for name in ("position",) if name in keyed.columns]
    return keyed.select(*names, KEY, ID, TIME, SERVICE, BLOCK, VERSION, CLASS, *WHO)


def following(rows: DataFrame, labels: DataFrame, groups: int) -> DataFrame:
    """The rows with BOUND, the label of the first of those that are bound by the same; and FREE.

    FREE: nothing came before it that it could be bound to, so it is chosen for, or finds nobody,
    unless it is bound since an earlier epoch. `labels`: of `groups` firsts, WHO, FIRST (its place)
    and BOUND.
    """
    if groups <= MOST_BROADCAST:
        labels = F.broadcast(labels)
    elif groups <= MOST_IN_MEMORY * int(rows.sparkSession.conf.get(PARTITIONS) or 1):
        labels = labels.hint("shuffle_hash")
    joined = rows.join(labels, list(WHO), "left")
    first = F.col(FIRST)
    free = F.col(WORD).isNull() | first.isNull() | (F.struct(KEY, ID) <= first)
    return joined.withColumn(FREE, free)


def bound(
    rows: DataFrame,
    chosen_for: DataFrame,
    groups: int,
    plan: ClassifiedPlan,
    states: States,
    blocks: Blocks,
    sizes: Sequence[int],
) -> DataFrame:
    """The rows with BOUND and FREE.

    `chosen_for`: the firsts of the `groups`, and what nothing binds; `sizes`: how many of them each
    block has.
    """
    routed = route(in_blocks(chosen_for, blocks), plan, states, sizes)
    label = F.pmod(F.col(PACKED), F.lit(plan.codes.codes)).cast("int").alias(BOUND)
    place = F.struct(KEY, ID).alias(FIRST)
    labels = routed.where(F.col(WORD).isNotNull()).select(*WHO, place, label)
    return following(rows, labels, groups)
