"""The state at the start of each block where only the order of the messages can tell it.

One pass over class codes (and times) alone: each block packs its own in order, in parallel; one
task then runs the compiled rules over the packed codes of all blocks, one after another, and
keeps what it needs of each only while it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.router import Router
from fairlead.pipeline.columns import BLOCK, CLASS, ID, KEY, SERVICE, TIME
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import in_blocks, needed

PACK_BYTES: Final = 1 << 14
PACKED_SCHEMA: Final = "block int, part int, codes binary, times binary, services binary"
STATE_SCHEMA: Final = "block int, state string"


def states_in_order(
    plan: ClassifiedPlan, free: DataFrame, blocks: Blocks, start: Mapping[str, object]
) -> list[Mapping[str, object]]:
    """The router's state at the start of each block and after the last (streams not counted).

    `free`: rows with BLOCK, CLASS, KEY, ID, TIME, SERVICE that are chosen for. `start`: the state
    before them.
    """
    timed, dated = needed(plan)
    narrow = free.select(
        *[name for name in ("id", "position") if name in free.columns],
        BLOCK,
        CLASS,
        KEY,
        ID,
        *([TIME] if dated else []),
        # Clusters where nobody is ever busy need no service times; Arrow would make nulls floats.
        *([F.coalesce(SERVICE, F.lit(0)).alias(SERVICE)] if timed else []),
    )
    columns = [BLOCK, CLASS, *([TIME] if dated else []), *([SERVICE] if timed else [])]
    sorted_ = in_blocks(narrow, blocks)
    packed = sorted_.select(*columns).mapInArrow(_packer(timed=timed, dated=dated), PACKED_SCHEMA)
    in_order = packed.repartition(1).sortWithinPartitions("block", "part")
    rows = in_order.mapInArrow(_runner(plan, len(blocks), start), STATE_SCHEMA).collect()
    known = {row["block"]: json.loads(row["state"]) for row in rows}
    return of_every_block(known, len(blocks), start)


def of_every_block(
    known: Mapping[int, Mapping[str, object]], blocks: int, start: Mapping[str, object]
) -> list[Mapping[str, object]]:
    """States of all blocks, and after the last, from those of some.

    One without a state starts, harmlessly, where that before it did.
    """
    state = start
    states = []
    for block in range(blocks + 1):
        state = known.get(block, state)
        states.append(state)
    return states


def _packer(*, timed: bool, dated: bool):  # type: ignore[no-untyped-def]  # noqa: ANN202
    width = 4 + 8 * dated + 8 * timed
    rows = PACK_BYTES // width

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = 0
        for batch in batches:
            columns = [np.asarray(column) for column in batch.columns]
            edges = [0, *(np.flatnonzero(np.diff(columns[0])) + 1).tolist(), batch.num_rows]
            out: list[tuple[object, ...]] = []
            for start, stop in pairwise(edges):
                for low in range(start, stop, rows):
                    piece = [c[low : min(low + rows, stop)] for c in columns]
                    times = piece[2].tobytes() if dated else b""
                    services = piece[3].tobytes() if timed else b""
                    out.append((int(piece[0][0]), part, piece[1].tobytes(), times, services))
                    part += 1
            yield _batch(out)

    return pack


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    types = [pa.int32(), pa.int32(), pa.binary(), pa.binary(), pa.binary()]
    names = ["block", "part", "codes", "times", "services"]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names)


def _runner(plan: ClassifiedPlan, blocks: int, start: Mapping[str, object]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        router = Router(plan)
        router.load(start)
        current = None
        for batch in batches:
            states: list[tuple[int, str]] = []
            for row in batch.to_pylist():
                if row["block"] != current:
                    current = row["block"]
                    states.append((current, json.dumps(router.dump())))
                router.feed(
                    np.frombuffer(row["codes"], np.int32),
                    np.frombuffer(row["times"], np.int64) if row["times"] else None,
                    np.frombuffer(row["services"], np.int64) if row["services"] else None,
                )
            yield _states(states)
        yield _states([(blocks, json.dumps(router.dump()))])

    return run


def _states(found: list[tuple[int, str]]) -> pa.RecordBatch:
    blocks = pa.array([block for block, _ in found], pa.int32())
    states = pa.array([state for _, state in found], pa.string())
    return pa.RecordBatch.from_arrays([blocks, states], ["block", "state"])
