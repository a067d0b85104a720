"""Class counts: the classes of messages, and how many of each in every block and version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from fairlead.balance.message import SET_PRIORITY, AttributeValues
from fairlead.balance.state import AnyState
from fairlead.compiled.bindings import NO_KEY
from fairlead.compiled.classes import homes
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.compiled.router import EARLIEST, Router
from fairlead.pipeline.columns import BLOCK, CLASS, CONTROL, GOOD, KEY, TIME, VERSION, small_table
from fairlead.pipeline.intake.validate import text
from fairlead.pipeline.routing.blocks import PIECE, with_block, with_version
from fairlead.pipeline.routing.places import Blocks
from fairlead.runs.constants import PREFIX

COUNT: Final = PREFIX + "n"
LATEST: Final = PREFIX + "latest"
TASK: Final = PREFIX + "task"
LARGEST_PIECE: Final = 4
"""In blocks; larger pieces are better cut and sent to more executors."""
Counts = dict[int, dict[int, dict[int, int]]]
"""block → version → class code → messages."""


@dataclass
class Survey:
    """What is known of a table before it is routed."""

    blocks: Blocks
    attributes: tuple[str, ...]
    """Columns that tell classes apart, of those that the table has."""
    codes: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Values of the attributes → class code."""
    classes: Sequence[MessageClass] = ()
    """By code."""
    counts: Counts = field(default_factory=dict)
    accepted: int = 0
    rejected: int = 0
    period: tuple[int, int] | None = None
    """The first and the last time of an accepted row, in microseconds."""

    @property
    def sizes(self) -> list[int]:
        """How many accepted rows each block has."""
        return sizes(self.counts, len(self.blocks))

    @property
    def messages(self) -> Mapping[int, int]:
        """How many messages of each class there are, by its code."""
        totals = Counter[int]()
        for versions in self.counts.values():
            for codes in versions.values():
                totals.update(codes)
        return totals

    def classified(self, accepted: DataFrame) -> DataFrame:
        """The rows with their class code."""
        if len(set(self.codes.values())) <= 1:
            return accepted.withColumn(CLASS, F.lit(0))
        spark = accepted.sparkSession
        names = [PREFIX + "attribute_" + str(k) for k in range(len(self.attributes))]
        rows = [(*values, code) for values, code in self.codes.items()]
        kinds = {**dict.fromkeys(names, pa.string()), CLASS: pa.int32()}
        classes = small_table(spark, kinds, rows)
        for name, attribute in zip(names, self.attributes, strict=True):
            accepted = accepted.withColumn(name, attribute_of(accepted, attribute))
        return accepted.join(F.broadcast(classes), names).drop(*names)


def attribute_of(messages: DataFrame, name: str) -> Column:
    """An attribute that tells classes apart, as text."""
    if name == CONTROL:
        return F.when(text(messages, "type") == SET_PRIORITY, F.lit("true")).otherwise(F.lit(""))
    return text(messages, name)


def placed(accepted: DataFrame, blocks: Blocks, plan: Plan, latest: int = EARLIEST) -> DataFrame:
    """The rows with their block and version. `latest`: the latest time before all of them."""
    placed = with_block(accepted, blocks)
    if latest == EARLIEST or not plan.times:
        return with_version(placed, plan.times, TIME)
    so_far = placed.withColumn(LATEST, F.greatest(F.lit(latest), TIME))
    return with_version(so_far, plan.times, LATEST).drop(LATEST)


def survey(accepted: DataFrame, blocks: Blocks, plan: Plan) -> Survey:
    """Count the rows by block, version and class.

    `accepted`: rows with BLOCK and VERSION, rejected ones among them.
    """
    attributes = _attributes(accepted, plan)
    rows = _tally(accepted, attributes, BLOCK)
    return _found(blocks, attributes, ((row[BLOCK], row) for row in rows), plan)


def survey_in_place(accepted: DataFrame, plan: Plan, rows_a_block: int) -> Survey | None:
    """The same, the pieces in which Spark reads Parquet files being the blocks.

    None where they overlap, or are too large; nothing is believed: every key is looked at. Inside
    a piece the rows may stand in any order.
    """
    attributes = _attributes(accepted, plan)
    dated = with_version(accepted, plan.times, TIME)
    rows = _tally(dated, attributes, *PIECE, F.spark_partition_id().alias(TASK))
    ends: dict[tuple[str, int], tuple[int, int, int]] = {}
    for row in rows:
        if row[GOOD]:
            first, last, n = row["first"], row["last"], row[COUNT]
            low, high, before = ends.get(row[:2], (first, last, 0))
            ends[row[:2]] = (min(low, first), max(high, last), before + n)
    tasks = {row[:2]: row[TASK] for row in rows}
    in_order = sorted(ends, key=lambda piece: ends[piece])
    apart = all(ends[one][1] < ends[other][0] for one, other in pairwise(in_order))
    if not apart or max(n for _, _, n in ends.values()) > LARGEST_PIECE * rows_a_block:
        return None
    starts = tuple((ends[piece][0], "") for piece in in_order[1:])
    blocks = Blocks(starts, tuple(tasks[piece] for piece in in_order))
    block_of = {piece: block for block, piece in enumerate(in_order)}
    return _found(blocks, attributes, ((block_of.get(row[:2], 0), row) for row in rows), plan)


def _attributes(accepted: DataFrame, plan: Plan) -> tuple[str, ...]:
    wanted = ("cluster", *plan.reads)
    attributes = tuple(name for name in wanted if name in accepted.columns)
    return (*attributes, CONTROL) if "type" in accepted.columns else attributes


def _tally(dated: DataFrame, attributes: Sequence[str], *where: str | Column) -> list[Row]:
    """Count rows by `where`, GOOD, version and attributes."""
    columns = [F.when(F.col(GOOD), attribute_of(dated, name)).alias(name) for name in attributes]
    return (
        dated.groupBy(*where, GOOD, VERSION, *columns)
        .agg(
            F.count(F.lit(1)).alias(COUNT),
            F.min(KEY).alias("first"),
            F.max(KEY).alias("last"),
            F.min(TIME).alias("earliest"),
            F.max(TIME).alias("latest"),
        )
        .collect()
    )


def _found(
    blocks: Blocks, attributes: tuple[str, ...], rows: Iterable[tuple[int, Row]], plan: Plan
) -> Survey:
    tally = Survey(blocks, attributes)
    classes: dict[MessageClass, int] = {}
    for block, row in rows:
        if not row[GOOD]:
            tally.rejected += row[COUNT]
            continue
        values = tuple(row[name] for name in attributes)
        message = dict(zip(attributes, values, strict=True))
        control = bool(message.pop(CONTROL, ""))
        message_class = plan.message_class(message.get("cluster", ""), message, control=control)
        code = classes.setdefault(message_class, len(classes))
        tally.codes[values] = code
        tally.accepted += row[COUNT]
        earliest, latest = tally.period or (row["earliest"], row["latest"])
        tally.period = (min(earliest, row["earliest"]), max(latest, row["latest"]))
        _add(tally.counts, block, row[VERSION], code, row[COUNT])
    tally.classes = tuple(classes)
    return tally


def sizes(counts: Counts, blocks: int) -> list[int]:
    """How many rows were counted in each block."""
    return [
        sum(n for codes in counts.get(block, {}).values() for n in codes.values())
        for block in range(blocks)
    ]


def _add(counts: Counts, block: int, at: int, code: int, n: int) -> None:
    versions = counts.setdefault(block, {}).setdefault(at, {})
    versions[code] = versions.get(code, 0) + n


def recount(rows: DataFrame) -> Counts:
    """Count rows by block, version and class."""
    counts: Counts = {}
    totals = rows.groupBy(BLOCK, VERSION, CLASS).agg(F.count(F.lit(1)).alias(COUNT)).collect()
    for row in totals:
        _add(counts, row[BLOCK], row[VERSION], row[CLASS], row[COUNT])
    return counts


def added(one: Counts, other: Counts) -> Counts:
    """What both have counted."""
    sums: Counts = {}
    for counts in (one, other):
        for block, versions in counts.items():
            for at, codes in versions.items():
                for code, n in codes.items():
                    _add(sums, block, at, code, n)
    return sums


def states(
    plan: ClassifiedPlan, every: Counts, free: Counts, blocks: int, start: Mapping[str, object]
) -> list[Mapping[str, object]] | None:
    """The router's state at the start of each block and after the last, by arithmetic alone.

    `every` counts all messages, for their places in the streams; `free` those that are chosen
    for. `start`: the state before them. None where the order of messages of different classes
    matters.
    """
    router = Router(plan)
    router.load(start)
    starts: list[Mapping[str, object]] = []
    for block in range(blocks):
        starts.append(router.dump())
        for at, counts in sorted(free.get(block, {}).items()):
            if not router.advance(plan.times[at - 1] if at else None, counts):
                return None
        for counts in every.get(block, {}).values():
            router.skip(counts)
    return [*starts, router.dump()]


def eligible_rows(plan: ClassifiedPlan) -> Iterable[Sequence[Any]]:
    """For each version and class: what is known of its messages' bindings.

    (version, class, whether a message finds somebody, how it is bound by default, whether what it
    says of that itself counts, epoch: how often bindings may have ended by then).
    """
    epochs: dict[int, BindingEpochs] = {}
    bound = homes(plan)
    for at, states in plan.versions():
        for code, message_class in enumerate(plan.classes):
            state = states.get(message_class.cluster)
            if state is None or bound[code] == NO_KEY:
                yield (at, code, False, "", False, 0)
            else:
                # Where a binding can end, one that finds nobody may still be bound to somebody.
                eligible = state.rebinds or bool(state.eligible(message_class.values).members)
                bind = state.bind_default(state.key(message_class.values))
                epoch = epochs.setdefault(code, BindingEpochs()).at(state, message_class.values)
                yield (at, code, eligible, bind, not state.rebinds, epoch)


class BindingEpochs:
    """Counts the versions at which a message may have to go elsewhere than its group before."""

    def __init__(self) -> None:
        """At the beginning."""
        self.number = 0
        self.held: frozenset[tuple[int, str | None]] = frozenset()
        self.somebody: bool | None = None

    def at(self, state: AnyState, values: AttributeValues) -> int:
        """The epoch of this version; to be asked for one version after another."""
        if state.rebinds:
            now = frozenset((member, state.address(member)) for member in state.holding(values))
            somebody = bool(state.eligible(values).members)
            # A group that found nobody is still bound to whoever is gone, and may return.
            stay = self.held <= now if somebody else self.held == now
            self.number += self.somebody is not None and (self.somebody != somebody or not stay)
            self.held, self.somebody = now, somebody
        return self.number
