"""Complete: what is settled leaves word, and whoever chooses next lets the cluster know.

So a settler waits for nobody who chooses, and nobody who chooses waits for a settler.
"""

from __future__ import annotations

import json
from typing import Final

from fairlead.balance.message import AttributeValues
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.events import moment, write_event
from fairlead.store.clusters.state import ClusterRow, Running
from fairlead.store.database.port import Database

COMPLETED: Final = "completed"


def complete(
    database: Database, row: ClusterRow, running: Running, *, now: int | None, actor: str
) -> None:
    """Let the cluster know what was settled since the last choice."""
    for _, id_, part, version in sorted(database.run("completions", cluster=row.id)):
        member = running.version.member_of.get(id_)
        if member is None:
            continue  # the destination was removed meanwhile
        runtime = running.runtime
        key: AttributeValues = tuple(json.loads(part))
        if key in runtime.partitions:
            runtime.complete(member, version, runtime.partitions[key])
        write_event(
            database,
            time=moment(database, row, now),
            kind=COMPLETED,
            actor=actor,
            cluster=row.name,
            version=version,
            destination=runtime.cluster.members[member],
            said=part,
            detail=str(id_),
        )


def completed(database: Database, cluster: int, decision: StoreDecision, by: str) -> None:
    """A message that was chosen for is done, without having been in a queue here."""
    for (name, _), (id_, part) in zip(decision.copies, decision.to, strict=True):
        if by == name:
            database.run(
                "add_completion",
                cluster=cluster,
                destination=id_,
                part=part,
                version=decision.version,
            )
