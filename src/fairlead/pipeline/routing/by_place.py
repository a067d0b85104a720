"""By place: route the messages of one stream where they are, in the JVM.

Nothing goes to Python: a message's place in its block is a running number, and a timetable says
what each place gets.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.timetable import Timetable
from fairlead.pipeline.columns import BLOCK, PACKED, PLACE, VERSION, looked_up
from fairlead.pipeline.routing.route import changed, place_in_block


def by_place(
    rows: DataFrame, plan: ClassifiedPlan, table: Timetable, sizes: Sequence[int]
) -> DataFrame:
    """The rows with PACKED, as `route` has it.

    `rows`: in blocks (see `in_blocks`; not in place), with BLOCK and VERSION. `sizes`: how many
    rows each block has; a row more stops the job.
    """
    # A column of its own: what counts rows must see each of them, whatever a condition says.
    counted = rows.withColumn(PLACE, place_in_block())
    place = F.col(PLACE)
    known = place < looked_up(sizes, F.col(BLOCK), "bigint")
    cycle, length = _cycle(table)
    since = place - _of(table.starts)
    turn = F.pmod(since + _of(table.turns), length).cast("int")
    code = F.element_at(cycle, turn + 1)
    if len(table.heads) > 1:
        which = _of(table.head_of).cast("int")
        head = looked_up(table.heads, which, "array<int>")
        lengths = looked_up([len(each) for each in table.heads], which, "bigint")
        early = F.element_at(head, (since + 1).cast("int"))
        code = F.when(since < lengths, early).otherwise(code)
    sequence = looked_up(table.sequences, F.col(BLOCK), "bigint") + place
    packed = sequence * F.lit(plan.codes.codes) + code
    return counted.withColumn(PACKED, F.when(known, packed).otherwise(changed("long")))


def _cycle(table: Timetable) -> tuple[Column, Column]:
    """The cycle of a row, and its length."""
    if len(table.cycles) == 1:
        (only,) = table.cycles
        return F.array(*map(F.lit, only)) if len(only) == 1 else _one(only), F.lit(len(only))
    which = _of(table.which).cast("int")
    lengths = looked_up([len(each) for each in table.cycles], which, "bigint")
    return looked_up(table.cycles, which, "array<int>"), lengths


def _one(cycle: Sequence[int]) -> Column:
    return looked_up([cycle], F.lit(0), "array<int>")


def _of(values: Sequence[Sequence[int]]) -> Column:
    """A number by block and version."""
    if len(values[0]) == 1:
        return looked_up([each[0] for each in values], F.col(BLOCK), "bigint")
    own = looked_up(values, F.col(BLOCK), "array<bigint>")
    return F.element_at(own, F.col(VERSION).cast("int") + 1)
