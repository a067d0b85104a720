"""What is written of a cluster: its row, its runs, its events."""

from __future__ import annotations

import json
from typing import Any, Final

from fairlead.store.clusters.state import ChoiceRun, ClusterRow
from fairlead.store.database.port import Database

NO_EVENT: Final[dict[str, object]] = dict.fromkeys(
    ("type", "detail", "version", "stream", "destination", "address", "outcome", "sequence", "said")
) | {"group": "", "key": "", "queue": ""}


def moment(database: Database, row: ClusterRow, now: int | None) -> int:
    """What time it is."""
    return now if now is not None else row.server_time or database.time()


def write_choice_run(database: Database, cluster: int, run: ChoiceRun, now: int) -> None:
    """Write a run down."""
    choices: Any = run.choices
    database.run(
        "add_choice_run",
        cluster=cluster,
        first=run.first,
        version=run.version,
        at=now,
        number=run.number,
        state=json.dumps(run.state),
        choices=None if choices is None else list(choices),
    )


def set_row(database: Database, row: ClusterRow) -> None:
    """Write down where a cluster stands."""
    plain = row._asdict()
    for name in ("id", "name", "server_time"):
        del plain[name]
    database.run("set_cluster", cluster=row.id, **plain)


def write_event(database: Database, **columns: object) -> int:
    """An event of a cluster; its number."""
    (drawn,) = database.event_numbers(1)
    ((number,),) = database.run("add_event", **{**NO_EVENT, **columns, "id": drawn})
    return int(number)


def latest_number(database: Database) -> int:
    """A number after those of a locked cluster's events so far, and before all later ones."""
    ((number,),) = database.run("last_number")
    return int(number)
