"""Why: bring the moment of one decision of a run back, and explain it.

The run's manifest holds the state at the start of each block; the block's messages up to the one
asked for are routed again by the compiled engine, without Spark. Where messages are bound to
earlier ones, those may lie anywhere before, so everything before is routed again; and so it is of
a journal, which holds no states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.change import Change
from fairlead.balance.changes import changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.explanation import Explanation, explain, not_asked
from fairlead.balance.history import Binding, ClusterVersion, DecisionPoint
from fairlead.balance.journal_rerun import JournalRerun
from fairlead.balance.message import CONTROL, ROUTED, text
from fairlead.balance.objects import repr_of
from fairlead.balance.rules.keyed import PLACES
from fairlead.balance.times import micros
from fairlead.compiled.classes import bindings, classified
from fairlead.compiled.classes import keys as keys_of
from fairlead.compiled.intake.columns import text as text_of
from fairlead.compiled.journal import decided, own_names
from fairlead.compiled.kernels import Int32s
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.compiled.router import Router
from fairlead.compiled.table import route
from fairlead.config.paths import path_of
from fairlead.errors import FairleadError, UserError
from fairlead.pipeline.questions.journals import given, in_pool, last_choice, rows_of_journal
from fairlead.pipeline.routing.places import Blocks, Place
from fairlead.rows import DECIDED, DECISION
from fairlead.runs.read_rows import DECISIONS, read_rows, rejection, row_of, run_of
from fairlead.runs.run_folder import clusters_of, scenarios_in
from fairlead.runs.stream_folder import StreamFolder

SERVICE = "service_time"
SEQUENCE = "sequence"

__all__ = ["Why", "why", "why_in_journal"]


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
        raise UserError(f"message_id: found {repr_of(message_id)}, allowed: a text")
    if scenarios_in(folder):
        raise _of_replay(folder, folder / "*" / "decisions")
    run = run_of(folder)
    manifest = run.manifest
    if manifest.get("replay"):
        raise _of_replay(folder, folder / DECISIONS)
    places = [folder / DECISIONS] if run.batches is None else [*map(Path, run.batches.values())]
    file_format = manifest["file_format"]
    for number, place in enumerate(places):
        files = sorted(place.glob("part-*"))
        location = row_of(files, file_format, message_id)
        if location is None:
            continue
        if run.batches is not None:
            manifest = StreamFolder(folder).manifest(list(run.batches)[number])
        plan = Plan(
            clusters_of(manifest), [Change.at_micros(**change) for change in manifest["changes"]]
        ).classified(
            MessageClass(parts[0], tuple(parts[1]), parts[2]) for parts in manifest["classes"]
        )
        if run.batches is not None and plan.binds:
            raise UserError(
                f"{folder}: found a stream in which messages are bound to earlier ones, allowed: "
                f"to explain a dispatch of {folder / DECISIONS} with position=arrival"
            )
        return _explain(plan, manifest, files[: location[0] + 1], location[1])
    rejected = rejection(folder, file_format, message_id)
    raise UserError(
        f"{folder}: found no decision on {message_id!r}; " + (rejected or "no message has this id")
    )


def why_in_journal(
    place: str | Path,
    message_id: str,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
) -> Why:
    """Explain the decision on one message of a journal, without Spark.

    `place`: a file or a folder of rows, from the first that was decided on; `clusters` and
    `changes`: as they were then. Raises UserError where they lead to other decisions, and where
    the journal has no such message.
    """
    place = path_of(place, UserError)
    if not isinstance(message_id, str):
        raise UserError(f"message_id: found {repr_of(message_id)}, allowed: a text")
    plan = Plan(clusters_in(clusters), changes_in(changes))
    table = rows_of_journal(place)
    happened = not pc.all(decided(table)).as_py()
    if (
        DECIDED in table.column_names
        or happened
        or (any(plan.timed.values()) and SERVICE not in table.column_names)
    ):
        return _why_live(place, table, plan, message_id)
    ids = text_of(table, "id")
    row = pc.index(ids, message_id).as_py()
    if row < 0:
        raise UserError(f"{place}: found no decision on {message_id!r}; no message has this id")
    table = table.slice(0, row + pc.sum(pc.equal(ids, message_id)).as_py())
    _check_same(place, table, route(table, plan.clusters, plan.changes))
    table = table.select([*own_names(table, plan), *DECISION])
    rows = table.slice(0, row + 1)
    return _why(
        plan.classified(()), _first_copies(rows) if plan.fans_out else rows, table.slice(row)
    )


def _why_live(place: Path, table: pa.Table, plan: Plan, message_id: str) -> Why:
    """The same of a journal that has its changes and completions: it is gone through as they came.

    So is one without service times, where completions would have to be reckoned from these.
    """
    if plan.changes:
        raise UserError(
            f"{place}: found a live journal, which has the changes that were made itself, "
            "allowed: without --changes"
        )
    columns = own_names(table.filter(decided(table)), plan)
    last = last_choice(place, table, message_id)
    if DECIDED in table.column_names:
        table = in_pool(table)
    every = table.set_column(
        table.column_names.index(SEQUENCE), SEQUENCE, table[SEQUENCE].cast(pa.int64())
    )
    for rows, decision in JournalRerun(plan.clusters).decisions(every.to_pylist(), columns):
        copies = [copy.destination for copy in decision.copies]
        names: list[str] | list[None] = copies or [None]
        now = {(name, decision.outcome, decision.sequence) for name in names}
        if {given(row) for row in rows} != now:
            raise _other_decision(place, rows[0]["position"])
        if rows[0]["id"] == message_id and last in (None, rows[0].get(DECIDED)):
            return Why(
                copies,
                decision.outcome,
                decision.cluster,
                decision.frame.version if decision.frame else 0,
                decision.stream,
                decision.sequence,
                decision.explain(),
            )
    raise UserError(f"{place}: found no decision on {message_id!r}; no message has this id")


def _check_same(place: Path, recorded: pa.Table, found: pa.Table) -> None:
    """Refuse to explain decisions that others than these clusters and changes have made."""
    same = np.ones(min(len(recorded), len(found)), np.bool_)
    for name in DECISION:
        one, other = (text_of(table.slice(0, len(same)), name) for table in (recorded, found))
        same &= np.asarray(pc.equal(one, other))
    if same.all() and len(recorded) == len(found):
        return
    first = int(np.argmin(same)) if not same.all() else len(same) - 1
    raise _other_decision(place, recorded["position"][first].as_py())


def _other_decision(place: Path, position: object) -> UserError:
    return UserError(
        f"{place}: position {position}: found a decision that these clusters and changes do not "
        "lead to, allowed: those of then, and a journal from its first decision on"
    )


def _of_replay(folder: Path, decisions: Path) -> UserError:
    return UserError(
        f"{folder}: found what replay wrote, allowed: a folder that dispatch wrote; what became "
        f"of a message stands in {decisions}, and fairlead whatif and fairlead diff tell more"
    )


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
    parts = [read_rows(file, file_format, names) for file in used]
    copies = parts[-1].slice(row)
    parts[-1] = parts[-1].slice(0, row + 1)
    rows = pa.concat_tables(parts, promote_options="permissive")
    if recorded.fans_out:
        rows = _first_copies(rows)
    if recorded.binds:
        return _why(recorded, rows, copies)
    blocks = Blocks(tuple((key, id_) for key, id_ in manifest["blocks"]))
    block = blocks.of(_place(rows, len(rows) - 1))
    rows = rows.slice(_first_of(block, blocks, rows))
    return _why(recorded, rows, copies, manifest["states"][block])


def _why(
    recorded: ClassifiedPlan,
    rows: pa.Table,
    copies: pa.Table,
    state: Mapping[str, Any] | None = None,
) -> Why:
    """Explain the last of these rows, which begin where the router had this state.

    `copies`: rows with all that are of the same message.
    """
    row = {name: rows[name][-1].as_py() for name in rows.column_names}
    if row["outcome"] == CONTROL:
        name = row.get("cluster") or ""
        return Why([], CONTROL, name, 0, "", None, not_asked(name, CONTROL))
    plan, codes = classified(rows, recorded, recorded.classes)
    keys = bindings(rows, plan, codes)
    router = Router(plan)
    if state is not None:
        router.load({**state, "upcoming": router.upcoming.tolist()})
    times, services = _times(rows, plan)
    last = len(rows) - 1
    before = slice(0, last)
    router.feed(
        codes[before],
        None if times is None else times[before],
        None if services is None else services[before],
        None if keys is None else keys.at(before),
    )
    message_class = plan.classes[codes[last]]
    run = router.run_of(codes[last])
    sequence = None if row["sequence"] is None else int(row["sequence"])
    stream = "/".join(part for part in plan.streams[plan.stream_of[codes[last]]] if part)
    if run is None:
        explanation = not_asked(message_class.cluster, row["outcome"])
        return Why([], row["outcome"], message_class.cluster, 0, stream, sequence, explanation)
    # In the order of position times may go back; what has happened has happened.
    run.reach(None if times is None else max(int(times[last]), router.latest))
    binding: Binding | None = None
    by = (
        run.cluster.binding(message_class.values, row)
        if keys is not None and run.cluster.binds
        else None
    )
    if keys is not None and by is not None:
        binding = run.binding(keys.at(slice(last, last + 1)), message_class.values, by)
    number = _key(rows, plan, codes, sequence)
    word = text(row, run.cluster.keyed_by) if run.cluster.keyed_by else ""
    moment = DecisionPoint(ClusterVersion(run.cluster), None, 0, binding, number, word)
    same = pc.equal(copies["id"].cast(pa.string()), str(row["id"]))
    got = [name for name in copies.filter(same)["destination"].to_pylist() if name is not None]
    chosen = (
        _chosen(moment, message_class.values, got)
        if run.cluster.policy.fans_out
        else row["destination"]
    )
    explanation = explain(moment, message_class.values, chosen)
    _agree(explanation, chosen, row["outcome"])
    return Why(
        got,
        row["outcome"],
        message_class.cluster,
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


def _chosen(moment: DecisionPoint, values: tuple[str, ...], got: list[str]) -> str | None:
    """Whom the rule chose of those who got the message."""
    ranks = explain(moment, values, None).ranks
    return next((name for name, _ in ranks if name in got), None)


def _key(rows: pa.Table, plan: ClassifiedPlan, codes: Int32s, sequence: int | None) -> int:
    """The number by which the last message was chosen for."""
    last = len(rows) - 1
    keys = keys_of(rows.slice(last), plan, codes[last:])
    return PLACES + (sequence or 0) if keys is None or keys[0] < 0 else int(keys[0])


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
