"""Why: bring the moment of one decision of a run back, and explain it.

The run's manifest holds the state at the start of each block; the block's messages up to the one
asked for are routed again by the compiled engine, without Spark. Where messages are bound to
earlier ones, those may lie anywhere before, so everything before is routed again.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from fairlead.balance.change import Change
from fairlead.balance.explanation import Explanation, explain, not_asked
from fairlead.balance.history import Binding, ClusterVersion, DecisionPoint
from fairlead.balance.message import CONTROL, ROUTED, text
from fairlead.balance.objects import spelled
from fairlead.balance.rules.keyed import PLACES
from fairlead.balance.times import micros
from fairlead.compiled.classes import bindings, classified
from fairlead.compiled.classes import keys as keys_of
from fairlead.compiled.kernels import Int32s
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.compiled.router import Router
from fairlead.config.paths import path_of
from fairlead.errors import FairleadError, UserError
from fairlead.pipeline.output.run_folder import clusters_of, read_manifest, scenarios_in
from fairlead.pipeline.routing.blocks import Blocks, Place

__all__ = ["Why", "why"]


@dataclass(frozen=True)
class Why:
    """One decision of a run, and its explanation."""

    destinations: list[str]
    outcome: str
    cluster: str
    version: int
    """How many steps of changes the cluster had seen."""
    stream: str
    sequence: int | None
    """Place in the stream, from 0; None for a control message."""
    explanation: Explanation


def why(folder: str | Path, message_id: str) -> Why:
    """Explain the decision on one message of a run, without Spark.

    `folder`: what `fairlead dispatch` wrote. Raises UserError where the folder is no run's, or
    has no such message.
    """
    folder = path_of(folder, UserError)
    if not isinstance(message_id, str):
        raise UserError(f"message_id: found {spelled(message_id)}, allowed: a text")
    if scenarios_in(folder):
        raise _of_replay(folder, folder / "*" / "decisions")
    manifest = read_manifest(folder)
    if manifest.get("replay"):
        raise _of_replay(folder, folder / "decisions")
    plan = Plan(
        clusters_of(manifest), [Change.at_micros(**each) for each in manifest["changes"]]
    ).classified(MessageClass(each[0], tuple(each[1]), each[2]) for each in manifest["classes"])
    files = sorted((folder / "decisions").glob("part-*"))
    file_format = manifest["file_format"]
    for number, file in enumerate(files):
        found = pc.index(
            _read(file, file_format, ["id"])["id"].cast(pa.string()), message_id
        ).as_py()
        if found >= 0:
            return _explain(plan, manifest, files[: number + 1], found)
    rejected = _rejection(folder, file_format, message_id)
    raise UserError(
        f"{folder}: found no decision on {message_id!r}; " + (rejected or "no message has this id")
    )


def _of_replay(folder: Path, decisions: Path) -> UserError:
    return UserError(
        f"{folder}: found what replay wrote, allowed: a folder that dispatch wrote; what became "
        f"of a message stands in {decisions}, and fairlead whatif and fairlead diff tell more"
    )


def _rejection(folder: Path, file_format: str, message_id: str) -> str:
    for file in sorted((folder / "rejected").glob("part-*")):
        rows = _read(file, file_format, ["id", "reason"])
        place = pc.index(rows["id"].cast(pa.string()), message_id).as_py()
        if place >= 0:
            return f"it was rejected: {rows['reason'][place].as_py()}"
    return ""


def _read(file: Path, file_format: str, columns: list[str] | None) -> pa.Table:
    """Some columns of a file of decisions."""
    if file_format == "parquet":
        names = pq.read_schema(file).names
        kept = None if columns is None else [name for name in columns if name in names]
        return pq.read_table(file, columns=kept)
    if file_format == "csv":
        with file.open(encoding="utf-8", newline="") as lines:
            names = next(csv.reader(lines))
        options = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(file, convert_options=options, parse_options=parse)
    found = pyarrow.json.read_json(file)
    # JSON knows no times: what looks like one is a text, and stays as it is.
    texts = [(each.name, pa.string()) for each in found.schema if pa.types.is_timestamp(each.type)]
    parse_json = pyarrow.json.ParseOptions(explicit_schema=pa.schema(texts))
    return pyarrow.json.read_json(file, parse_options=parse_json) if texts else found


def _explain(
    recorded: ClassifiedPlan, manifest: dict[str, Any], files: list[Path], row: int
) -> Why:
    file_format = manifest["file_format"]
    names = [
        "id",
        "time",
        "position",
        "service_time",
        "cluster",
        "type",
        "bind",
        "producer",
        "group",
    ]
    names += [*recorded.reads, *recorded.keyed.values(), "destination", "outcome", "sequence"]
    names = list(dict.fromkeys(names))
    used = files if recorded.binds else files[-1:]
    parts = [_read(file, file_format, names) for file in used]
    copies = parts[-1].slice(row)
    parts[-1] = parts[-1].slice(0, row + 1)
    rows = pa.concat_tables(parts, promote_options="permissive")
    if recorded.fans_out:
        rows = _first_copies(rows)
    asked = {name: rows[name][-1].as_py() for name in rows.column_names}
    if asked["outcome"] == CONTROL:
        name = asked.get("cluster") or ""
        return Why([], CONTROL, name, 0, "", None, not_asked(name, CONTROL))
    blocks = Blocks(tuple((key, id_) for key, id_ in manifest["blocks"]))
    block = blocks.of(_place(rows, len(rows) - 1))
    if not recorded.binds:
        rows = rows.slice(_first_of(block, blocks, rows))
    plan, codes = classified(rows, recorded, recorded.classes)
    keys = bindings(rows, plan, codes)
    router = Router(plan)
    if not plan.binds:
        router.load({**manifest["states"][block], "upcoming": router.upcoming.tolist()})
    times, services = _times(rows, plan)
    last = len(rows) - 1
    before = slice(0, last)
    router.feed(
        codes[before],
        None if times is None else times[before],
        None if services is None else services[before],
        None if keys is None else keys.at(before),
    )
    each = plan.classes[codes[last]]
    run = router.run_of(codes[last])
    sequence = None if asked["sequence"] is None else int(asked["sequence"])
    stream = "/".join(part for part in plan.streams[plan.stream_of[codes[last]]] if part)
    if run is None:
        explanation = not_asked(each.cluster, asked["outcome"])
        return Why([], asked["outcome"], each.cluster, 0, stream, sequence, explanation)
    run.reach(None if times is None else int(times[last]))
    binding: Binding | None = None
    by = run.cluster.binding(each.raw, asked) if keys is not None and run.cluster.binds else None
    if keys is not None and by is not None:
        binding = run.binding(keys.at(slice(last, last + 1)), each.raw, by)
    number = _key(rows, plan, codes, sequence)
    word = text(asked, run.cluster.keyed_by) if run.cluster.keyed_by else ""
    moment = DecisionPoint(ClusterVersion(run.cluster), None, 0, binding, number, word)
    same = pc.equal(copies["id"].cast(pa.string()), str(asked["id"]))
    got = [name for name in copies.filter(same)["destination"].to_pylist() if name is not None]
    chosen = _chosen(moment, each.raw, got) if run.cluster.policy.fans_out else asked["destination"]
    explanation = explain(moment, each.raw, chosen)
    _agree(explanation, chosen, asked["outcome"])
    return Why(
        got,
        asked["outcome"],
        each.cluster,
        run.cluster.version,
        stream,
        sequence,
        explanation,
    )


def _first_copies(rows: pa.Table) -> pa.Table:
    """One row for each message: its copies follow each other."""
    ids = rows["id"].cast(pa.string()).combine_chunks()
    if len(ids) < 2:
        return rows
    another = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
    return rows.filter(pa.concat_arrays([pa.array([True]), another]))


def _chosen(moment: DecisionPoint, raw: tuple[str, ...], got: list[str]) -> str | None:
    """Whom the rule chose of those who got the message."""
    ranks = explain(moment, raw, None).ranks
    return next((name for name, _ in ranks if name in got), None)


def _key(rows: pa.Table, plan: ClassifiedPlan, codes: Int32s, sequence: int | None) -> int:
    """The number by which the last message was chosen for."""
    last = len(rows) - 1
    found = keys_of(rows.slice(last), plan, codes[last:])
    return PLACES + (sequence or 0) if found is None or found[0] < 0 else int(found[0])


def _times(rows: pa.Table, plan: Plan) -> tuple[Any, Any]:
    timed = any(plan.timed.values())
    if not plan.times and not timed:
        return None, None
    times = np.array([micros(value) for value in rows["time"].to_pylist()], np.int64)
    if not timed:
        return times, None
    services = [micros(value) or 0 for value in rows["service_time"].to_pylist()]
    return times, np.array(services, np.int64)


def _place(rows: pa.Table, row: int) -> Place:
    """A row's place in the order."""
    if "position" in rows.column_names:
        return int(rows["position"][row].as_py()), str(rows["id"][row].as_py())
    return micros(rows["time"][row].as_py()) or 0, str(rows["id"][row].as_py())


def _first_of(block: int, blocks: Blocks, rows: pa.Table) -> int:
    """Where a block begins among rows that stand in order, by bisection."""
    if block == 0:
        return 0
    key, id_ = blocks.starts[block - 1]
    start = (key, id_.encode())
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        at, name = _place(rows, middle)
        if (at, name.encode()) < start:
            low = middle + 1
        else:
            high = middle
    return low


def _agree(explanation: Explanation, destination: str | None, outcome: str) -> None:
    """What is explained must be what was decided; anything else is a fault of ours."""
    first = explanation.ranks[0][0] if explanation.ranks else None
    if first != destination and outcome == ROUTED:
        raise FairleadError(f"the manifest leads to {first!r}, decided was {destination!r}")
