"""One micro-batch: a dispatch that begins where the last one ended. The whole flow is here.

changes → prepare → route → write → measure → remember → commit
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import listed
from fairlead.compiled.plan import Plan
from fairlead.compiled.router import EARLIEST, Carried, Router
from fairlead.errors import ChangeError, MessageError
from fairlead.measure.tally import check_nothing_lost
from fairlead.pipeline.columns import ARRIVAL
from fairlead.pipeline.dispatch import PreparedTable, prepare
from fairlead.pipeline.intake.read import columns_of
from fairlead.pipeline.output.read_back import load
from fairlead.pipeline.output.read_back import rejections as counted_rejections
from fairlead.pipeline.output.write import writer
from fairlead.pipeline.routing.since import Since
from fairlead.pipeline.streaming import remembered, rolling
from fairlead.pipeline.streaming.stream_place import StreamPlace
from fairlead.runs import run_folder
from fairlead.runs.disk_full import writing
from fairlead.runs.options import Options
from fairlead.runs.stream_folder import Commit, typed_columns

log = logging.getLogger("fairlead")

SHOWN: Final = 3


@dataclass(frozen=True)
class StreamBatches:
    """What all micro-batches of a stream have in common."""

    folder: StreamPlace
    clusters: Sequence[Cluster]
    changes: Callable[[], Sequence[Change]]
    """The changes as they are known now."""
    options: Options

    @property
    def horizon(self) -> int:
        """Microseconds."""
        return self.options.horizon or 0


def decide(
    rows: DataFrame, stream: StreamBatches, commit: Commit, batch: int, files: list[str]
) -> Commit:
    """Decide on the messages of one micro-batch; returns the commit after it, which is written.

    `files`: which it was made of, where that is known. Raises UserError, and nothing is committed.
    """
    folder, options = stream.folder, stream.options
    columns = _same_columns(rows, commit, options.where)
    plain_changes, changes = _changes(stream.changes(), commit)
    ready = prepare(rows, stream.clusters, changes, options, _since(rows, folder, commit, stream))
    try:
        with writing(folder.out):
            folder.begin()
            after = _write(ready, stream, commit, batch)
            after = msgspec.structs.replace(
                after,
                columns=columns,
                given=plain_changes,
                changes=[change.to_dict() for change in changes],
            )
            folder.finish(after, _manifest(ready, options, files, commit))
    finally:
        ready.release()
    folder.forget(after)
    log.info("committed", extra={"batch": batch, "read": after.read - commit.read})
    return after


def nothing(stream: StreamBatches, commit: Commit, batch: int) -> Commit:
    """The commit after a micro-batch without a row, which is written."""
    after = msgspec.structs.replace(commit, batch=batch)
    folder = stream.folder
    with writing(folder.out):
        folder.begin()
        for part, present in (("state/counts", commit.width), ("state/groups", commit.groups)):
            if present:
                folder.carry_over(part, commit.batch)
        folder.finish(after, {})
    folder.forget(after)
    return after


def plan_of(stream: StreamBatches, commit: Commit) -> Plan:
    """The clusters, and all changes that were read."""
    return Plan(stream.clusters, [Change.at_micros(**change) for change in commit.changes])


def _same_columns(rows: DataFrame, commit: Commit, where: str) -> list[list[str]]:
    """The columns of the first micro-batch. Raises MessageError where these are others."""
    columns_of(rows, where)
    if ARRIVAL in rows.columns:
        raise MessageError(
            f"{where}: column {ARRIVAL!r} is what a stream's decisions add; rename it"
        )
    columns = typed_columns(rows.schema.fields)
    if commit.columns and columns != commit.columns:
        new = [" ".join(column) for column in columns if column not in commit.columns]
        gone = [" ".join(column) for column in commit.columns if column not in columns]
        differences = [
            f"{which} {listed(names, SHOWN)}"
            for which, names in (("new:", new), ("missing:", gone))
            if names
        ]
        raise MessageError(
            f"{where}: found other columns than the stream began with "
            f"({'; '.join(differences) or 'in another order'}), allowed: the same names and types; "
            "nothing of this micro-batch was decided"
        )
    return columns


def _changes(known: Sequence[Change], commit: Commit) -> tuple[list[dict[str, Any]], list[Change]]:
    """The changes as they were read, and with the times from which they hold.

    One that is read after its time holds for what comes later than all that was decided.
    """
    left = [_plain(change) for change in known]
    for row in commit.given:
        if row not in left:
            raise ChangeError(
                f"changes: found no more the change of {row['target']!r} {row['attribute']} that "
                "was read before, allowed: to add changes"
            )
        left.remove(row)
    new: list[Change] = []
    for change in known:
        if _plain(change) in left:
            left.remove(_plain(change))
            new.append(change)
    latest = Carried.load(commit.carried).latest if commit.carried else EARLIEST
    before = [Change.at_micros(**row) for row in commit.changes]
    return (
        [*commit.given, *map(_plain, new)],
        [*before, *(_not_before(change, latest + 1) for change in new)],
    )


def _not_before(change: Change, time: int) -> Change:
    if change.micros >= time:
        return change
    return Change.at_micros(change.target, change.attribute, change.value, time, change.where)


def _plain(change: Change) -> dict[str, Any]:
    return {name: value for name, value in change.to_dict().items() if name != "where"}


def _since(rows: DataFrame, folder: StreamPlace, commit: Commit, stream: StreamBatches) -> Since:
    spark = rows.sparkSession
    binds = any(cluster.start().binds for cluster in stream.clusters)
    return Since(
        Carried.load(commit.carried) if commit.carried else Carried(),
        EARLIEST if commit.clock is None else commit.clock,
        None if stream.options.trust_ids else remembered.ids_before(spark, folder, commit),
        remembered.groups_before(spark, folder, commit) if binds else None,
    )


def _write(ready: PreparedTable, stream: StreamBatches, commit: Commit, batch: int) -> Commit:
    """Write all parts of the micro-batch; returns the commit that says so."""
    folder, options = stream.folder, stream.options
    spark, file_format, survey = ready.rows.sparkSession, options.file_format, ready.survey
    with options.progress("route and write"):
        decisions, bad = ready.arrived(commit.arrivals), ready.rejected()
        writer(decisions, file_format).save(folder.making("decisions"))
        if survey.rejected:
            writer(bad, file_format).save(folder.making("rejected"))
    with options.progress("measure"):
        made = folder.making("decisions")
        written = load(spark, made, file_format, decisions.schema)
        rolled = rolling.roll(written, ready, folder, commit)
        rejections: dict[str, int] = {}
        if survey.rejected:
            reasons = load(spark, folder.making("rejected"), file_format, bad.schema)
            rejections = counted_rejections(reasons)
    read = survey.accepted + survey.rejected
    check_nothing_lost(read, sum(rolled.messages.values()), sum(rejections.values()))
    with options.progress("remember"):
        now = remembered.clock(ready, EARLIEST if commit.clock is None else commit.clock)
        ids = commit.ids
        if not options.trust_ids:
            ids = remembered.remember_ids(ready, folder, commit, batch, now, stream.horizon)
        groups = ready.plan.binds
        if groups:
            before = remembered.groups_before(spark, folder, commit)
            remembered.remember_groups(ready, before, folder, now, stream.horizon)
    first, last = rolled.period or (None, None)
    return msgspec.structs.replace(
        commit,
        batch=batch,
        decided=decisions.schema.json(),
        carried=_carried(ready, commit).dump(),
        clock=None if now == EARLIEST else now,
        ids=ids,
        groups=groups,
        arrivals=commit.arrivals + survey.accepted,
        read=commit.read + read,
        rejected=commit.rejected + survey.rejected,
        rejections=dict(Counter(commit.rejections) + Counter(rejections)),
        unknown_clusters=rolled.unknown,
        messages=dict(Counter(commit.messages) + Counter(rolled.messages)),
        width=rolled.width,
        first=first,
        last=last,
    )


def _carried(ready: PreparedTable, commit: Commit) -> Carried:
    """Where clusters and streams of messages stand after the micro-batch."""
    before = Carried.load(commit.carried) if commit.carried else Carried()
    router = Router(ready.plan)
    router.load(ready.after)
    carried = router.carried(before)
    period = ready.survey.period
    latest = before.latest if period is None else max(before.latest, period[1])
    return Carried(carried.runs, carried.streams, latest)


def _manifest(
    ready: PreparedTable, options: Options, files: list[str], commit: Commit
) -> dict[str, Any]:
    """With what the micro-batch was decided, as `explain` needs it."""
    content = run_folder.manifest(
        ready.plan, ready.survey.blocks.starts, ready.states, options.file_format
    )
    return {**content, "files": files, "arrivals": [commit.arrivals, ready.survey.accepted]}
