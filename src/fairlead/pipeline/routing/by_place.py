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
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import IN_PARTITION, changed
from fairlead.runs.constants import PREFIX

MOST_COUNTED: Final = 32
"""Streams that are counted side by side. Java compiles no method of more than 8,000 bytes, such as
that for 60 of them is; what is not compiled takes longer than Python."""
SLOT: Final = PREFIX + "slot"
"""Which running number counts a row."""
SEQUENCE: Final = PREFIX + "sequence"
SEGMENT: Final = PREFIX + "segment"
"""The number of a row's segment in the timetable."""


def timetable_of(
    plan: ClassifiedPlan, counts: Counts, blocks: Blocks, start: Mapping[str, object]
) -> Timetable | None:
    """The timetable by which `by_place` routes; None where it cannot."""
    if len(plan.streams) > MOST_COUNTED:
        return None
    return timetable(plan, counts, len(blocks), start)


def by_place(
    rows: DataFrame, plan: ClassifiedPlan, table: Timetable, counts: Counts, blocks: Blocks
) -> DataFrame:
    """The rows with PACKED, as `route` has it.

    `rows`: in blocks (see `in_blocks`), with BLOCK, VERSION and CLASS. `counts`: how
    many rows there are in each; a row more stops the job.
    """
    slots, sizes = _slots(table), _sizes(table, counts)
    # Columns of their own: what counts rows must see each of them, whatever a condition says.
    rows = rows.withColumn(SLOT, _slot(slots))
    counted = rows.withColumn(PLACE, _place(max(slots, default=NO_PLACE) + 1))
    if blocks.in_place:
        counted = counted.withColumn(PLACE, F.col(PLACE) - _counted_before(slots, sizes, blocks))
    size = _of_block(sizes)
    sequence = _of_block(table.sequences) + F.col(PLACE)
    known = F.col(PLACE).between(0, size - 1)
    numbered = counted.withColumn(SEQUENCE, F.when(known, sequence).otherwise(changed("long")))
    numbered = numbered.withColumn(SEGMENT, _segment(table))
    since = F.col(SEQUENCE) - _of_segment(table.since)
    cycle, length = _cycle(table)
    turn = F.pmod(since + _of_segment(table.turns), length).cast("int")
    code = F.element_at(cycle, turn + 1)
    if len(table.heads) > 1:
        which = _of_segment(table.head_of)
        head = looked_up(table.heads, which, "array<int>")
        lengths = looked_up([len(codes) for codes in table.heads], which, "bigint")
        early = F.element_at(head, (since + 1).cast("int"))
        code = F.when(since < lengths, early).otherwise(code)
    packed = F.col(SEQUENCE) * F.lit(plan.codes.codes) + code
    return numbered.withColumn(PACKED, packed).drop(SLOT, PLACE, SEQUENCE, SEGMENT)


def _slots(table: Timetable) -> list[int]:
    """By class: which running number counts its messages; NO_PLACE where they have no stream."""
    streams = [code for code, first in enumerate(table.sequences[0]) if first != NO_PLACE]
    slots = {code: k for k, code in enumerate(streams)}
    return [slots.get(code, NO_PLACE) for code in range(len(table.sequences[0]))]


def _slot(slots: Sequence[int]) -> Column:
    """The running number of a row."""
    if len({*slots}) == 1:
        return F.lit(slots[0])
    return F.coalesce(looked_up(slots, F.col(CLASS), "int"), F.lit(NO_PLACE))


def _counted_before(slots: Sequence[int], sizes: Sequence[Sequence[int]], blocks: Blocks) -> Column:
    """How many rows of a row's stream its task has counted before it came to this block."""
    before = []
    of_task: dict[int, list[int]] = {}
    for task, counts in zip(blocks.tasks, sizes, strict=True):
        seen = of_task.setdefault(task, [0] * len(slots))
        before.append(list(seen))
        for code, slot in enumerate(slots):
            seen[code] += counts[code] if slot != NO_PLACE else 0
    same = F.spark_partition_id() == looked_up(blocks.tasks, F.col(BLOCK), "int")
    return F.when(same, _of_block(before)).otherwise(changed("long"))


def _place(numbers: int) -> Column:
    """The place of a row among those of its stream in its task, from 0; 0 where it has none.

    A block is a task, but for those that are in place. `numbers`: so many count rows.
    """
    if not numbers:
        return F.lit(0).cast("bigint")
    counted = F.expr(_counted(0, numbers)).bitwiseAND(F.lit(IN_PARTITION))
    return F.when(F.col(SLOT) >= 0, counted).otherwise(0)


def _counted(low: int, high: int) -> str:
    """Bisection among running numbers. Each counts only the rows for which it is asked."""
    if high - low == 1:
        return "monotonically_increasing_id()"
    middle = (low + high) // 2
    return f"if(`{SLOT}` < {middle}, {_counted(low, middle)}, {_counted(middle, high)})"


def _sizes(table: Timetable, counts: Counts) -> list[list[int]]:
    """How many rows there are, by block and class."""
    sizes = [[0] * len(row) for row in table.sequences]
    for block, versions in counts.items():
        for classes in versions.values():
            for code, n in classes.items():
                sizes[block][code] += n
    return sizes


def _segment(table: Timetable) -> Column:
    """The segment of a row: the first of its version, and one more for each that has begun."""
    segment = _of_version(table.first)
    for begins in table.later:
        segment += (F.col(SEQUENCE) >= _of_version(begins)).cast("int")
    return segment


def _cycle(table: Timetable) -> tuple[Column, Column]:
    """The cycle of a row, and its length."""
    which = _of_segment(table.which)
    lengths = [len(cycle) for cycle in table.cycles]
    return looked_up(table.cycles, which, "array<int>"), looked_up(lengths, which, "bigint")


def _of_block(values: Sequence[Sequence[int]]) -> Column:
    """A number by block and class."""
    return _of(values, F.col(BLOCK))


def _of_version(values: Sequence[Sequence[int]]) -> Column:
    """A number by version and class."""
    return _of(values, F.col(VERSION))


def _of_segment(values: Sequence[int]) -> Column:
    """A number by segment."""
    if len({*values}) == 1:
        return F.lit(values[0]).cast("bigint")
    return looked_up(values, F.col(SEGMENT), "bigint")


def _of(values: Sequence[Sequence[int]], first: Column) -> Column:
    flat = [value for row in values for value in row]
    if len({*flat}) == 1:
        return F.lit(flat[0]).cast("bigint")
    return looked_up(flat, first.cast("int") * len(values[0]) + F.col(CLASS), "bigint")
