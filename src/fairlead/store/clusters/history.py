"""Recall: a decision of the past, brought back from the journal, so that it can explain itself."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from fairlead.balance.decision import Decision, DecisionContext
from fairlead.balance.history import UNKNOWN
from fairlead.balance.message import CONTROL, AttributeValues
from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError, StoreError
from fairlead.rows import REDELIVERED
from fairlead.store.clusters.choosing import BOUND, DECIDED, addressed_to
from fairlead.store.clusters.completing import COMPLETED
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.state import (
    ClusterRow,
    Running,
    Version,
    at_turn,
    choice_run,
    read_choice_run,
    read_row,
    read_version,
    running,
)
from fairlead.store.database.port import Database


class RecordedDecision(NamedTuple):
    """A decision as the journal has it: one row for each destination."""

    number: int
    cluster: str
    version: int
    destination: str | None
    address: str | None
    outcome: str
    stream: str
    sequence: int | None
    detail: str | None
    said: str | None
    run: str | None = None
    """The name of the run of many messages with which it came."""

    @property
    def message(self) -> dict[str, Any]:
        """What the message said."""
        attributes: dict[str, Any] = json.loads(self.said) if self.said else {}
        return attributes


class ClusterEvent(NamedTuple):
    """An event of a cluster after a run of choices began: a completion, or a decision."""

    number: int
    kind: str
    version: int
    destination: str | None
    outcome: str
    stream: str
    sequence: int
    detail: str
    """Of a completion the machine's id."""
    said: str

    def decision_of(self, cluster: str, version: int) -> RecordedDecision:
        """The decision that it tells of, in a version of a cluster."""
        return RecordedDecision(
            *(self.number, cluster, version, self.destination, None, self.outcome),
            *(self.stream, self.sequence, self.detail, self.said),
        )


def published_before(database: Database, cluster: str, key: str) -> StoreDecision | None:
    """The decision with which a message was published, if the journal still has it."""
    recorded = [
        RecordedDecision(*row) for row in database.run("decisions_about", cluster=cluster, key=key)
    ]
    rows = [row for row in recorded if row.detail != REDELIVERED]
    if not rows:
        return None
    first = rows[0]
    choices = [row for row in rows if row.sequence == first.sequence and row.destination]
    copies = sorted((choice.destination or "", choice.address) for choice in choices)
    chosen = first.destination, first.address
    if len(copies) > 1:  # which of them was chosen is not written, but follows from the rest
        recalled = decision_at(database, first.number)
        chosen = recalled.destination, recalled.address
    version = read_version(database, read_row(database, cluster, "cluster"), first.version)
    state = version.start.cluster
    values = state.values_of(first.message) if state.policy.reads else ()
    return StoreDecision(
        *(*chosen, first.sequence, first.outcome, cluster, first.version, first.number),
        *(tuple(copies), addressed_to(version, values, [name for name, _ in copies])),
        tuple(key for _ in copies),
    )


def number_of(database: Database, cluster: str, id_: str) -> int:
    """The event of the latest decision about a message. Raises MessageError.

    A message without an id is known by its place: `pool/17` is number 17 of the stream `pool`.
    """
    read_row(database, cluster, "cluster")
    rows = database.run("decisions_about", cluster=cluster, key=id_)
    stream, _, sequence = id_.rpartition("/")
    if not rows and stream and sequence.isdecimal():
        rows = database.run(
            "decision_in_place", cluster=cluster, stream=stream, sequence=int(sequence[:18])
        )
    if not rows:
        raise MessageError(
            f"id: found {repr_of(id_)}, allowed: that of a message for which cluster {cluster!r} "
            f"decided, as far as the journal goes back, or its place, such as {cluster}/0"
        )
    return int(rows[0][0])


def decision_at(database: Database, number: int) -> Decision:
    """A decision of the past; it can explain itself. `number`: of its event in the journal.

    Raises MessageError, StoreError.
    """
    rows = database.run("decision", number=number)
    if not rows:
        raise MessageError(
            f"number: found {number}, allowed: that of a decision which the journal still has"
        )
    recorded = RecordedDecision(*rows[0])
    if recorded.sequence is None:
        context = DecisionContext(CONTROL, recorded.cluster, run=recorded.run or "")
        return Decision(None, None, None, context)
    row = read_row(database, recorded.cluster, "cluster")
    version = read_version(database, row, recorded.version)
    if version.made_ahead:
        begun = read_choice_run(database, row, recorded.sequence)
        cluster_then = at_turn(version, begun, recorded.sequence - begun.first)
    else:
        cluster_then = _one_by_one(database, row, version, recorded)
    decision = _choose_again(cluster_then, recorded)
    if recorded.run is not None:
        context = msgspec.structs.replace(decision.context, run=recorded.run)
        decision = msgspec.structs.replace(decision, context=context)
    names = [None] if not decision.copies else [copy.destination for copy in decision.copies]
    if recorded.destination not in names or decision.sequence != recorded.sequence:
        raise StoreError(
            f"journal: event {number}: found a decision that does not follow from what is kept of "
            f"cluster {recorded.cluster!r} before it; a part of the journal is missing"
        )
    return decision


def _one_by_one(
    database: Database, row: ClusterRow, version: Version, until: RecordedDecision
) -> Running:
    begun = choice_run(
        database.run(
            "choice_run_before", cluster=row.id, version=version.number, number=until.number
        )[0]
    )
    cluster = running(version, begun.state)
    last_decided: tuple[str, int, int] | None = None
    events = database.run(
        "events_of_cluster", cluster=row.name, after=begun.number, until=until.number
    )
    for event in map(ClusterEvent._make, events):
        if event.kind == COMPLETED:
            _complete(cluster, int(event.detail), event.version, event.said)
        elif event.kind == DECIDED and event.outcome != CONTROL:
            is_redelivered = event.detail == REDELIVERED
            decided = event.stream, event.sequence, event.number if is_redelivered else 0
            if decided == last_decided:
                continue  # another copy of the same message
            last_decided = decided
            if decided == (until.stream, until.sequence, 0) and until.detail != REDELIVERED:
                break  # an earlier copy of the one that is asked for
            _choose_again(cluster, event.decision_of(row.name, version.number))
    return cluster


def _choose_again(running: Running, recorded: RecordedDecision) -> Decision:
    runtime, message = running.runtime, recorded.message
    if recorded.detail == BOUND and recorded.destination is not None:
        cluster = runtime.cluster
        values = cluster.values_of(message) if cluster.policy.reads else ()
        key = cluster.binding(values, message)
        if key is not None:
            runtime.bindings[key] = cluster.member_called(recorded.destination, values)
    if recorded.detail == REDELIVERED and recorded.sequence is not None:
        return runtime.choose_again(message, recorded.sequence)
    return _as_known(runtime.choose(message))


def _as_known(decision: Decision) -> Decision:
    """What is kept of a choice does not say whether its group was elsewhere before."""
    binding = decision.binding
    if binding is None or binding.follows or binding.before >= 0:
        return decision
    context = msgspec.structs.replace(decision.context, binding=binding._replace(before=UNKNOWN))
    return msgspec.structs.replace(decision, context=context)


def _complete(running: Running, id_: int, version: int, said: str) -> None:
    key: AttributeValues = tuple(json.loads(said))
    partition = running.runtime.partitions.get(key)
    if partition is not None:
        running.runtime.complete(running.version.member_of[id_], version, partition)
