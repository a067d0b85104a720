"""By place: route messages where they are, in the JVM.

Nothing goes to Python: a message's place in its stream is a running number, and a timetable says
what each place gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.timetable import NO_PLACE, Counts, Timetable, timetable
from fairlead.pipeline.columns import BLOCK, CLASS, PACKED, PLACE, VERSION, looked_up
from fairlead.pipeline.constants import PREFIX
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import changed, place_in_block

MOST_COUNTED: Final = 128
"""What is counted side by side in a task; of more, Java no longer compiles what counts."""
SEQUENCE: Final = PREFIX + "sequence"


def timetable_of(
    plan: ClassifiedPlan, counts: Counts, blocks: Blocks, start: Mapping[str, object]
) -> Timetable | None:
    """The timetable by which `by_place` routes; None where it cannot."""
    # A task may get any of the blocks that are in place, and several.
    if len(plan.streams) * (len(blocks) if blocks.in_place else 1) > MOST_COUNTED:
        return None
    return timetable(plan, counts, len(blocks), start)


def by_place(
    rows: DataFrame, plan: ClassifiedPlan, table: Timetable, counts: Counts, blocks: Blocks
) -> DataFrame:
    """The rows with PACKED, as `route` has it.

    `rows`: in blocks (see `in_blocks`), with BLOCK, VERSION and CLASS. `counts`: how
    many rows there are in each; a row more stops the job.
    """
    # Columns of their own: what counts rows must see each of them, whatever a condition says.
    counted = rows.withColumn(PLACE, _place(table, blocks))
    own = _of_block(_sizes(table, counts))
    sequence = _of_block(table.sequences) + F.col(PLACE)
    known = F.col(PLACE) < own
    numbered = counted.withColumn(SEQUENCE, F.when(known, sequence).otherwise(changed("long")))
    since = F.col(SEQUENCE) - _of_version(table.since)
    cycle, length = _cycle(table)
    turn = F.pmod(since + _of_version(table.turns), length).cast("int")
    code = F.element_at(cycle, turn + 1)
    if len(table.heads) > 1:
        which = _of_version(table.head_of)
        head = looked_up(table.heads, which, "array<int>")
        lengths = looked_up([len(each) for each in table.heads], which, "bigint")
        early = F.element_at(head, (since + 1).cast("int"))
        code = F.when(since < lengths, early).otherwise(code)
    packed = F.col(SEQUENCE) * F.lit(plan.codes.codes) + code
    return numbered.withColumn(PACKED, packed).drop(PLACE, SEQUENCE)


def _place(table: Timetable, blocks: Blocks) -> Column:
    """The place of a row among those of its stream in its block, from 0; 0 where it has none."""
    classes = len(table.sequences[0])
    streams = [code for code, first in enumerate(table.sequences[0]) if first != NO_PLACE]
    if blocks.in_place:
        each = [block * classes + code for block in range(len(blocks)) for code in streams]
        return _counted(each, F.col(BLOCK) * classes + F.col(CLASS))
    if len(streams) == classes == 1:
        return place_in_block()
    return _counted(streams, F.col(CLASS))


def _counted(each: Sequence[int], own: Column) -> Column:
    """Bisection among numbers. Each counts only the rows for which it is asked: its own."""
    if not each:
        return F.lit(0).cast("bigint")
    if len(each) == 1:
        return F.when(own == each[0], place_in_block()).otherwise(0)
    middle = len(each) // 2
    before, after = _counted(each[:middle], own), _counted(each[middle:], own)
    return F.when(own < each[middle], before).otherwise(after)


def _sizes(table: Timetable, counts: Counts) -> list[list[int]]:
    """How many rows there are, by block and class."""
    found = [[0] * len(own) for own in table.sequences]
    for block, versions in counts.items():
        for classes in versions.values():
            for code, n in classes.items():
                found[block][code] += n
    return found


def _cycle(table: Timetable) -> tuple[Column, Column]:
    """The cycle of a row, and its length."""
    which = _of_version(table.which)
    lengths = [len(each) for each in table.cycles]
    return looked_up(table.cycles, which, "array<int>"), looked_up(lengths, which, "bigint")


def _of_block(values: Sequence[Sequence[int]]) -> Column:
    """A number by block and class."""
    return _of(values, F.col(BLOCK))


def _of_version(values: Sequence[Sequence[int]]) -> Column:
    """A number by version and class."""
    return _of(values, F.col(VERSION))


def _of(values: Sequence[Sequence[int]], first: Column) -> Column:
    flat = [value for own in values for value in own]
    if len({*flat}) == 1:
        return F.lit(flat[0]).cast("bigint")
    return looked_up(flat, first.cast("int") * len(values[0]) + F.col(CLASS), "bigint")
