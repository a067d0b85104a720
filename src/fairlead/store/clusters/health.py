"""Passive health of a cluster's destinations: who is not well is a row, and its state a change.

Each process counts failures for itself. What follows from them is decided here, with the cluster's
row locked: so no more are down at one time than may be, whoever has counted.
"""

from __future__ import annotations

from msgspec import UNSET

from fairlead.balance.health import (
    UP,
    HealthChange,
    HealthOptions,
    Standings,
    Unwell,
    fail_again,
    fall,
    recover,
    try_out,
)
from fairlead.balance.objects import Ref, hint, listed
from fairlead.balance.policies.destinations import KIND, DestinationState, ListTables
from fairlead.balance.state import AnyState
from fairlead.balance.times import seconds
from fairlead.errors import ChangeError
from fairlead.store.clusters.changing import Author, change
from fairlead.store.clusters.events import moment
from fairlead.store.clusters.state import read_row, read_version
from fairlead.store.clusters.unwell import FAILED, UNTRIED, WELL, Report, UnwellDestination
from fairlead.store.database.port import Database


def report(
    database: Database,
    cluster: str,
    destination: str,
    what: Report,
    reason: str,
    author: Author,
) -> HealthChange | None:
    """Let a destination go down, stay down, or come back; None: nothing follows.

    Raises ChangeError for a cluster without `[health]`.
    """
    database.run("may_operate")
    row = read_row(database, cluster, "lock_cluster")
    now = moment(database, row, author.now)
    version = read_version(database, row)
    options, state = options_of(version.cluster.tables), version.start.cluster
    if options is None or not isinstance(state, DestinationState):
        raise ChangeError(
            f"cluster {cluster!r}: found no [health] in its file, allowed: a file with it"
        )
    _check_destination(cluster, state, destination)
    standings = {}
    for name, unwell in _rows(database, row.id).items():
        if _still_holds(state, name, unwell):
            standings[name] = unwell
        else:
            database.run("drop_unwell", cluster=row.id, destination=name)
    made = _follows(options, state, standings, destination, what, now, reason)
    if made is None:
        return None
    if made.unwell is None:
        database.run("drop_unwell", cluster=row.id, destination=destination)
    else:
        stands = made.unwell._asdict() | {"on_trial": int(made.unwell.on_trial)}
        database.run("set_unwell", cluster=row.id, destination=destination, **stands)
    change(database, cluster, made.changes, author, made.reason)
    return made


def _follows(
    options: HealthOptions,
    state: AnyState,
    standings: Standings,
    destination: str,
    what: Report,
    now: int,
    reason: str,
) -> HealthChange | None:
    if what == WELL:
        return recover(standings, destination, now, reason)
    if what == UNTRIED:
        return try_out(standings, destination, now)
    there = [ref.name for ref, value in state.objects.items() if value.present]
    if what == FAILED:
        return fail_again(options, standings, there, destination, now, reason)
    if not _is_up(state, destination):  # somebody else has put it down
        return None
    return fall(options, standings, there, destination, now, reason)


def _check_destination(cluster: str, state: AnyState, destination: str) -> None:
    if Ref(KIND, destination) not in state.objects:
        names = [ref.name for ref in state.objects]
        raise ChangeError(
            f"cluster {cluster!r}: found the destination {destination!r}, allowed: "
            f"{listed(names)}{hint(destination, names)}"
        )


def unwell_destinations(
    database: Database, cluster: str, now: int | None
) -> list[UnwellDestination]:
    """Those of a cluster that are not well, by name."""
    row = read_row(database, cluster, "cluster")
    rows = _rows(database, row.id)
    if not rows:
        return []
    time = moment(database, row, now)
    state = read_version(database, row).start.cluster
    return [
        UnwellDestination(
            name,
            seconds(max(unwell.until - time, 0)),
            seconds(unwell.cool_down),
            unwell.on_trial,
        )
        for name, unwell in rows.items()
        if _still_holds(state, name, unwell)
    ]


def options_of(tables: object) -> HealthOptions | None:
    """What a cluster's file says of health; None: nothing."""
    options = tables.health if isinstance(tables, ListTables) else UNSET
    return None if options is UNSET else options


def _rows(database: Database, cluster: int) -> dict[str, Unwell]:
    return {
        name: Unwell(until, cool_down, bool(on_trial))
        for name, until, cool_down, on_trial in database.run("unwell", cluster=cluster)
    }


def _still_holds(state: AnyState, name: str, unwell: Unwell) -> bool:
    """Whether nobody else has said since how a destination is, or removed it."""
    return Ref(KIND, name) in state.objects and _is_up(state, name) == unwell.on_trial


def _is_up(state: AnyState, name: str) -> bool:
    """Whether a destination is up, or will be after its fail-back delay."""
    ref = Ref(KIND, name)
    return state.objects[ref].state == UP or ref in state.follow_ups
