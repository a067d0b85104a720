"""Diff in memory: two runs over the same messages, held against each other message for message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import ROUTED
from fairlead.balance.objects import listed
from fairlead.balance.times import MICROS
from fairlead.compiled.intake import numbers
from fairlead.compiled.intake.columns import column, text
from fairlead.compiled.journal import decided
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.errors import MessageError, UserError
from fairlead.memory.files import read
from fairlead.replay.words import AGAIN
from fairlead.results.diff import Balance, Diff, Move
from fairlead.rows import JOURNAL, without_decisions
from fairlead.runs.constants import MAX_MOVES
from fairlead.runs.files import kind_of
from fairlead.runs.read_rows import DECISIONS, RunFolder, read_rows
from fairlead.runs.run_folder import clusters_of

SIDES: Final = ("before", "after")
Place = tuple[str, str | None]
"""Cluster and destination; nobody has no cluster."""


def decisions_of(folder: Path, run: RunFolder | None) -> pa.Table:
    """What was decided in a run, or (without one) in a journal: a row for each message.

    Columns: id, destination, outcome; cluster, group and start (microseconds) where they are known.
    """
    if run is None:
        rows = read(str(folder), kind_of(str(folder), None, {})).table
        if without_decisions(rows.column_names) == rows.column_names:
            raise UserError(
                f"{folder}: found {listed(rows.column_names)}, allowed: {listed(JOURNAL)}"
            )
        rows = rows.filter(decided(rows))
        return _narrow(_joined(last_attempts(rows.filter(rows["position"].is_valid()))))
    rows = rows_of(folder, run)
    if run.manifest.get("replay"):
        rows = last_attempts(rows)
    several = any(cluster.policy.fans_out for cluster in clusters_of(run.manifest))
    return _narrow(_joined(rows) if several else rows)


def rows_of(folder: Path, run: RunFolder) -> pa.Table:
    """All rows of a run's decisions. Raises UserError where a stream has decided nothing."""
    places = [folder / DECISIONS] if run.batches is None else [*map(Path, run.batches.values())]
    files = [file for place in places for file in sorted(place.glob("part-*"))]
    if not files:
        raise UserError(f"{folder}: found a run that has decided nothing yet")
    tables = [read_rows(file, run.manifest["file_format"], None) for file in files]
    return pa.concat_tables(tables, promote_options="permissive")


def last_attempts(rows: pa.Table) -> pa.Table:
    """The attempts after which a message does not go on."""
    again = pc.is_in(text(rows, "outcome"), pa.array(AGAIN))
    return rows.filter(pc.invert(again))


def _joined(rows: pa.Table) -> pa.Table:
    """One row for each message: of one that went to several, all their names in `destination`."""
    names: dict[str, set[str]] = {}
    first: dict[str, int] = {}
    start: dict[str, int | None] = {}
    times = _started(rows) if "start" in rows.column_names else None
    ids = text(rows, "id").to_pylist()
    for k, (name, to) in enumerate(zip(ids, rows["destination"].to_pylist(), strict=True)):
        first.setdefault(name, k)
        if to is not None:
            names.setdefault(name, set()).add(to)
        if times is not None and times.known[k]:
            before = start.get(name)
            at = int(times.values[k])
            start[name] = at if before is None else min(before, at)
    columns = {
        "id": [*first],
        "destination": [" + ".join(sorted(names.get(name, ()))) or None for name in first],
        "outcome": [rows["outcome"][k].as_py() for k in first.values()],
    }
    for name in ("cluster", "group"):
        if name in rows.column_names:
            columns[name] = [rows[name][k].as_py() for k in first.values()]
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    if times is None:
        return table
    return table.append_column("start", pa.array([start.get(name) for name in first], pa.int64()))


def _started(rows: pa.Table) -> numbers.Numbers:
    return numbers.times(column(rows, "start"))


def _narrow(rows: pa.Table) -> pa.Table:
    for name in ("id", "destination", "outcome"):
        if name not in rows.column_names:
            raise MessageError(
                f"no column {name!r}, found: {', '.join(rows.column_names)}; "
                "allowed: what dispatch decided"
            )
    texts = {name: text(rows, name) for name in ("id", "outcome")}
    to = column(rows, "destination").cast(pa.string())
    table = pa.table({**texts, "destination": to})
    for name in ("cluster", "group"):
        if name in rows.column_names:
            table = table.append_column(name, text(rows, name))
    if "start" in rows.column_names:
        whole = rows.schema.field("start").type == pa.int64()
        at = column(rows, "start") if whole else _whole(_started(rows))
        table = table.append_column("start", at)
    return table


def _whole(found: numbers.Numbers) -> pa.Array:
    return pa.array(found.values, pa.int64(), mask=~found.known)


def compare(before: pa.Table, after: pa.Table) -> pa.Table:
    """One row for each message of either run, as `fairlead.pipeline.questions.diff.compare`."""
    clustered = all("cluster" in table.column_names for table in (before, after))
    sides = [
        _side(table, side, clustered=clustered)
        for table, side in zip((before, after), SIDES, strict=True)
    ]
    rows = sides[0].join(sides[1], "id", join_type="full outer").combine_chunks()
    known = [name for name in ("group_before", "group_after") if name in rows.column_names]
    if known:
        group = pc.coalesce(*(rows[name] for name in known), "")
        rows = rows.append_column("group", group).drop_columns(known)
    return rows


def _side(rows: pa.Table, side: str, *, clustered: bool) -> pa.Table:
    table = pa.table({"id": rows["id"]})
    for name in ("destination", "outcome"):
        table = table.append_column(f"{name}_{side}", rows[name])
    cluster = rows["cluster"] if clustered else pa.repeat("", len(rows))
    table = table.append_column(f"cluster_{side}", cluster)
    for name, called in (("group", "group"), ("start", "started")):
        if name in rows.column_names:
            table = table.append_column(f"{called}_{side}", rows[name])
    return table


def moved(compared: pa.Table) -> pa.Table:
    """Of what `compare` gave: the messages of both runs that go elsewhere now."""
    return compared.filter(pa.array(_moved(compared)))


def _both(compared: pa.Table) -> Bools:
    mask: Bools = np.asarray(
        pc.and_(compared["outcome_before"].is_valid(), compared["outcome_after"].is_valid())
    )
    return mask


def _moved(compared: pa.Table) -> Bools:
    one, other = (_places(compared, side) for side in SIDES)
    elsewhere = np.array([a != b for a, b in zip(one, other, strict=True)], np.bool_)
    return _both(compared) & elsewhere


def _places(compared: pa.Table, side: str) -> list[Place]:
    whose = compared[f"cluster_{side}"].to_pylist()
    to = compared[f"destination_{side}"].to_pylist()
    return [("" if b is None else a or "", b) for a, b in zip(whose, to, strict=True)]


def diff(compared: pa.Table) -> Diff:
    """Count what `compare` found."""
    both, gone = _both(compared), _moved(compared)
    here = [np.asarray(compared[f"outcome_{side}"].is_valid()) for side in SIDES]
    routed = [
        np.asarray(pc.fill_null(pc.equal(compared[f"outcome_{side}"], ROUTED), False))
        for side in SIDES
    ]
    places = [_places(compared, side) for side in SIDES]
    groups, groups_moved = _groups(compared, both, places)
    sooner, later, started, delay = _starts(compared)
    pairs = zip(gone.tolist(), *places, strict=True)
    moves = Counter((one, other) for is_moved, one, other in pairs if is_moved)
    return Diff(
        before=int(here[0].sum()),
        after=int(here[1].sum()),
        both=int(both.sum()),
        only_before=int((~here[1]).sum()),
        only_after=int((~here[0]).sum()),
        moved=int(gone.sum()),
        no_longer_routed=int((both & routed[0] & ~routed[1]).sum()),
        newly_routed=int((both & ~routed[0] & routed[1]).sum()),
        groups=groups,
        groups_moved=groups_moved,
        sooner=sooner,
        later=later,
        started=started,
        mean_delay=delay,
        destinations=_balances(places, here),
        moves=_moves(moves),
    )


def _groups(compared: pa.Table, both: Bools, places: Sequence[Sequence[Place]]) -> tuple[int, int]:
    """How many groups there are, each inside its cluster of before, and how many go elsewhere."""
    if "group" not in compared.column_names:
        return 0, 0
    whose = zip(compared["cluster_before"].to_pylist(), compared["group"].to_pylist(), strict=True)
    seen: dict[tuple[str, str], tuple[set[Place], set[Place]]] = {}
    for is_both, key, one, other in zip(both.tolist(), whose, *places, strict=True):
        if is_both and key[1]:
            sides = seen.setdefault(key, (set(), set()))
            for side, place in zip(sides, (one, other), strict=True):
                if place[1] is not None:
                    side.add(place)
    return len(seen), sum(one != other for one, other in seen.values())


def _starts(compared: pa.Table) -> tuple[int, int, int, float]:
    """How many messages start sooner, and later, of how many; and by how much on average."""
    if not {"started_before", "started_after"} <= set(compared.column_names):
        return 0, 0, 0, 0.0
    more = pc.drop_null(pc.subtract(compared["started_after"], compared["started_before"]))
    by: Int64s = np.asarray(more.to_numpy()).astype(np.int64)
    mean = float(by.mean()) / MICROS if len(by) else 0.0
    return int((by < 0).sum()), int((by > 0).sum()), len(by), mean


def _balances(places: Sequence[Sequence[Place]], here: Sequence[Bools]) -> list[Balance]:
    """Who had how much, and has now; the greatest difference first."""
    had, has = (
        Counter(place for place, is_here in zip(side, known.tolist(), strict=True) if is_here)
        for side, known in zip(places, here, strict=True)
    )
    balances = [
        Balance(destination, had[cluster, destination], has[cluster, destination], cluster)
        for cluster, destination in {**had, **has}
    ]
    return sorted(
        balances, key=lambda b: (-abs(b.after - b.before), b.cluster, b.destination or "")
    )


def _moves(pairs: Counter[tuple[Place, Place]]) -> list[Move]:
    def order(each: tuple[tuple[Place, Place], int]) -> tuple[object, ...]:
        (one, other), n = each
        # Nobody stands before all names, as null does in Spark.
        named = [(cluster, name is not None, name or "") for cluster, name in (one, other)]
        return (-n, *named)

    most = sorted(pairs.items(), key=order)[:MAX_MOVES]
    return [Move(one[1], other[1], n, one[0], other[0]) for (one, other), n in most]
