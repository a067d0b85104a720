"""Rebind: groups whose destination drops out are chosen for again.

Who is chosen anew depends on who was chosen before, so one task goes through the messages that may
be chosen for, in order: of each group the first in every stretch in which no binding can end, and
all that belong to no group. It holds one entry for each group, and says of each first where it
goes; the rest are joined to their first.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count, pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.balance.procedure import NONE
from fairlead.compiled.bindings import NO_KEY, NOT_SAID, Bindings
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.router import Router
from fairlead.pipeline.columns import (
    BIND,
    BLOCK,
    BOUND,
    CLASS,
    EPOCH,
    FIRST,
    FREE,
    ID,
    KEY,
    MEMBER,
    SERVICE,
    TIME,
    WHO,
    WHOSE,
    WORD,
)
from fairlead.pipeline.routing.affinity import following
from fairlead.pipeline.routing.in_order import of_every_block
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import needed

BEFORE: Final = -1
"""The block of rows that say who was bound to whom before."""
SCHEMA: Final = pa.schema(
    [
        ("block", pa.int32()),
        ("state", pa.string()),
        (WORD, pa.string()),
        (EPOCH, pa.int32()),
        (WHOSE, pa.int32()),
        (BIND, pa.string()),
        ("label", pa.int32()),
        ("chosen", pa.bool_()),
        (MEMBER, pa.int32()),
    ]
)
SPARK_SCHEMA: Final = (
    f"block int, state string, {WORD} string, {EPOCH} int, {WHOSE} int, {BIND} string, "
    f"label int, chosen boolean, {MEMBER} int"
)


class Rebound(NamedTuple):
    """Rows of which is known where their groups went before."""

    rows: DataFrame
    """With FREE and BOUND."""
    states: list[Mapping[str, object]]
    """At the start of each block and after the last, without streams."""
    members: DataFrame
    """To whom each group is bound at the end: BIND, WHOSE, WORD, MEMBER."""
    kept: DataFrame
    """What Spark keeps, because the others are made of it."""


def rebound(
    rows: DataFrame,
    chosen_for: DataFrame,
    firsts: DataFrame,
    groups: int,
    plan: ClassifiedPlan,
    blocks: Blocks,
    start: Mapping[str, object],
    before: DataFrame | None,
) -> Rebound:
    """Go through what may be chosen for, in order.

    `rows`: as `affinity.keyed` gives them; `chosen_for`: of them the `firsts` of the `groups`, and
    what nothing binds. `start`: the router's state before them; `before`: to whom groups are bound
    then (BIND, WHOSE, WORD, MEMBER). What comes before the first of its epoch that finds somebody
    stays free: it found nobody, and no later binding says where it went.
    """
    timed, dated = needed(plan)
    narrow = chosen_for.select(
        KEY,
        ID,
        BLOCK,
        CLASS,
        *WHO,
        *([TIME] if dated else []),
        *([F.coalesce(SERVICE, F.lit(0)).alias(SERVICE)] if timed else []),
    )
    if before is not None:
        none = narrow.withColumn(MEMBER, F.lit(None).cast("int"))
        known = before.withColumn(BLOCK, F.lit(BEFORE))
        narrow = none.unionByName(
            known, allowMissingColumns=True
        )  # without KEY, so they come first
    in_order = narrow.repartition(1).sortWithinPartitions(KEY, ID).drop(KEY, ID)
    # The task runs once: what it found is asked several times.
    runner = _runner(plan, len(blocks), start, timed=timed, dated=dated)
    results = in_order.mapInArrow(runner, SPARK_SCHEMA).persist()
    states = results.where(F.col("state").isNotNull()).select("block", "state").collect()
    members = results.where(F.col(MEMBER).isNotNull()).select(BIND, WHOSE, WORD, MEMBER)
    label = results.where(F.col("label").isNotNull()).select(
        *WHO, F.col("label").alias(BOUND), F.col("chosen")
    )
    labels = firsts.select(*WHO, F.struct(KEY, ID).alias(FIRST)).join(label, list(WHO))
    joined = following(rows, labels, groups)
    is_first: Column = F.struct(KEY, ID) == F.col(FIRST)
    bound_before = F.coalesce(is_first & ~F.col("chosen"), F.lit(False))
    settled = joined.withColumn(FREE, F.col(FREE) & ~bound_before).drop("chosen")
    at = {row["block"]: json.loads(row["state"]) for row in states}
    return Rebound(settled, of_every_block(at, len(blocks), start), members, results)


class BoundGroups:
    """Everything that can be bound, by number; grows as it is met."""

    def __init__(self) -> None:
        """Nothing yet."""
        # Numbered without a line of Python for each message: there are millions of groups.
        number = count().__next__
        self.numbers: dict[tuple[str, int], defaultdict[str, int]] = defaultdict(
            lambda: defaultdict(number)
        )
        """By kind of binding and whose it is: word → number."""
        self.bound = np.full(1024, NONE, np.int64)

    def bind(self, batch: pa.RecordBatch) -> None:
        """Take over who was bound to whom before."""
        known = self.bindings(batch)
        known.bound[known.by_group] = np.asarray(batch.column(MEMBER))

    def members(self) -> Iterator[pa.RecordBatch]:
        """To whom each is bound now."""
        for (kind, owner), numbers in self.numbers.items():
            bound = self.bound[np.fromiter(numbers.values(), np.int64, len(numbers))]
            mine = np.flatnonzero(bound != NONE)
            words = pa.array(list(numbers), pa.string()).take(pa.array(mine))
            n = len(mine)
            columns = {
                BIND: pa.array([kind] * n, pa.string()),
                WHOSE: pa.array([owner] * n, pa.int32()),
                WORD: words,
                MEMBER: pa.array(bound[mine], pa.int32()),
            }
            nothing = {field.name: pa.nulls(n, field.type) for field in SCHEMA}
            yield pa.RecordBatch.from_pydict({**nothing, **columns}, schema=SCHEMA)

    def bindings(self, batch: pa.RecordBatch) -> Bindings:
        """How the messages of a batch are bound."""
        keys = np.full(batch.num_rows, NO_KEY, np.int64)
        codes = np.full(batch.num_rows, NOT_SAID, np.int8)
        bound = np.flatnonzero(batch.column(WORD).is_valid())
        kinds, whose, words = (
            batch.column(name).take(pa.array(bound)) for name in (BIND, WHOSE, WORD)
        )
        encoded = kinds.dictionary_encode()
        kind_of, owner_of = np.asarray(encoded.indices), np.asarray(whose)
        for k, kind in enumerate(encoded.dictionary.to_pylist()):
            codes[bound[kind_of == k]] = Bindings.code(kind)
            for owner in np.unique(owner_of[kind_of == k]).tolist():
                places = np.flatnonzero((kind_of == k) & (owner_of == owner))
                numbers = self.numbers[kind, owner].__getitem__
                keys[bound[places]] = list(map(numbers, words.take(pa.array(places)).to_pylist()))
        while sum(map(len, self.numbers.values())) > len(self.bound):
            self.bound = np.concatenate([self.bound, np.full(len(self.bound), NONE, np.int64)])
        return Bindings(codes, keys, keys, self.bound, np.ones(batch.num_rows, np.bool_))


def _runner(  # type: ignore[no-untyped-def]  # noqa: ANN202
    plan: ClassifiedPlan, blocks: int, state: Mapping[str, object], *, timed: bool, dated: bool
):
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        router, groups, current = Router(plan), BoundGroups(), None
        router.load(state)
        for every in batches:
            first = int(np.count_nonzero(np.asarray(every.column(BLOCK)) == BEFORE))
            if first:
                groups.bind(every.slice(0, first))
            batch = every.slice(first)
            if not batch.num_rows:
                continue
            block, codes = (np.asarray(batch.column(name)) for name in (BLOCK, CLASS))
            times = np.asarray(batch.column(TIME)) if dated else None
            services = np.asarray(batch.column(SERVICE)) if timed else None
            bindings = groups.bindings(batch)
            label = np.empty(batch.num_rows, np.int32)
            states: list[tuple[int, str]] = []
            edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), batch.num_rows]
            for start, stop in pairwise(edges):
                if start < stop and block[start] != current:
                    current = int(block[start])
                    states.append((current, json.dumps(router.dump())))
                part = slice(start, stop)
                label[part] = router.feed(
                    codes[part],
                    None if times is None else times[part],
                    None if services is None else services[part],
                    bindings.at(part),
                )
            yield _states(states)
            yield _firsts(batch, label, bindings)
        yield _states([(blocks, json.dumps(router.dump()))])
        yield from groups.members()

    return run


def _states(found: list[tuple[int, str]]) -> pa.RecordBatch:
    rows = [{"block": block, "state": state} for block, state in found]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def _firsts(batch: pa.RecordBatch, label: np.ndarray, bindings: Bindings) -> pa.RecordBatch:
    grouped = np.flatnonzero(bindings.by_group != NO_KEY)
    n = len(grouped)
    who = [batch.column(name).take(pa.array(grouped)).cast(SCHEMA.field(name).type) for name in WHO]
    columns = [
        pa.nulls(n, pa.int32()),
        pa.nulls(n, pa.string()),
        *who,
        pa.array(label[grouped], pa.int32()),
        pa.array(bindings.free[grouped], pa.bool_()),
        pa.nulls(n, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
