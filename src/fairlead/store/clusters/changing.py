"""Load, change and reset clusters: each is a new version, in the transaction of whoever asks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from fairlead.balance.change import PRESENT, RESET, Change, ResolvedChange
from fairlead.balance.changes import resolve
from fairlead.balance.cluster import Cluster
from fairlead.balance.membership import (
    joining_ref,
    leaving_ref,
    with_destination,
    without_destination,
)
from fairlead.balance.objects import Ref, shown
from fairlead.balance.policies.composed import ComposedPolicy
from fairlead.balance.runtime import ClusterRuntime
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError, ConfigError
from fairlead.store.clusters.completing import complete
from fairlead.store.clusters.events import moment, set_row, write_choice_run, write_event
from fairlead.store.clusters.state import (
    EXACT,
    TICKET,
    ChoiceRun,
    ClusterRow,
    Running,
    Version,
    at_turn,
    counted,
    marks,
    read_choice_run,
    read_row,
    read_version,
    revision,
    running,
    stamp,
    version_of,
)
from fairlead.store.database.port import Database

LOADED: Final = "loaded"
CHANGED: Final = "changed"
IN_SQL: Final = ("least-served", "circular", "first-by-name")
"""The choice rules that plain SQL knows."""
STEPS_IN_SQL: Final = frozenset({"absent", "disabled", "down", "draining", "weight-zero"})


class Author(NamedTuple):
    """Who changes something, and when."""

    actor: str
    now: int | None
    """Of a clock of the user's own, in microseconds."""


class Counting(NamedTuple):
    """How a cluster counts."""

    allocation: str = EXACT
    reset_every: int = 0
    """Microseconds; 0: it is not reset of itself."""


def load(
    database: Database, cluster: Cluster, counting: Counting, author: Author, *, replace: bool
) -> bool:
    """Begin with a cluster as its file says; whether anything changed.

    One that is there goes on as it is if it was loaded from an equal file. `replace`: if not, it
    starts anew, else that is refused. Raises ConfigError.
    """
    database.run("add_cluster", name=cluster.name)
    row = read_row(database, cluster.name, "lock_cluster")
    now = moment(database, row, author.now)
    loaded = json.loads(json.dumps({"file": cluster.to_dict(), **counting._asdict()}))
    if row.version >= 0:
        before = _loaded(database, row)
        if before == loaded:
            return False
        if not replace:
            key = next(key for key in _flat(loaded) if _flat(before).get(key) != _flat(loaded)[key])
            raise ConfigError(
                f"cluster {cluster.name!r}: found another file than the one it was loaded from "
                f"({key} differs), allowed: an equal one, to change it as it runs, or to replace "
                "it, which starts it anew"
            )
        row = counted(database, row)
        database.run("unbind", cluster=row.id)
    runtime = ClusterRuntime(cluster.name, cluster.start())
    runtime.cluster.version = row.version + 1
    if counting.allocation == TICKET != row.allocation:
        database.run("begin_tickets", cluster=row.id, turn=row.turn)
    row = row._replace(
        allocation=counting.allocation,
        reset_every=counting.reset_every,
        reset_due=now + counting.reset_every if counting.reset_every else None,
    )
    detail = json.dumps(loaded, sort_keys=True)
    database.run("set_loaded", cluster=row.id, loaded=detail)
    number = _event(database, row, LOADED, runtime, now, author, detail=detail)
    _begin(database, row, cluster, runtime, Counter(), None, number, now)
    return True


def change(
    database: Database, name: str, changes: Sequence[Change], author: Author, reason: str = ""
) -> None:
    """Make changes to a cluster, as one step; no changes are no step.

    `reason`: why, for the journal. Raises ChangeError, MessageError.
    """
    if not changes:
        return
    database.run("may_operate")
    row, current, now = _lock_cluster(database, name, author)
    every = [Change.at_micros(c.target, c.attribute, c.value, now, c.where) for c in changes]
    for _, _, resolved in resolve({name: current.runtime.cluster}, every):
        current.runtime.apply(resolved, now)
    if any(setting.attribute == RESET for setting in every):
        current.sent.clear()
    number, why = 0, {"reason": reason} if reason else {}
    for setting in every:
        number = _event(
            *(database, row, CHANGED, current.runtime, now, author),
            destination=setting.target,
            detail=json.dumps(
                {"attribute": setting.attribute, "value": setting.value, **why}, default=str
            ),
        )
    _go_on(database, row, current, current.version.cluster, current.runtime, number, now)


def add(database: Database, name: str, table: Mapping[str, Any], author: Author) -> None:
    """Add a destination that the cluster's file does not list. Raises ChangeError, ConfigError."""
    database.run("may_operate")
    row, current, now = _lock_cluster(database, name, author)
    if not isinstance(table.get("name"), str):
        raise ChangeError(f"destination: found {shown(table.get('name'))}, allowed: a name")
    grown = with_destination(current.version.cluster, current.runtime.settled(), table)
    runtime = current.runtime.with_destinations(grown)
    target = named(joining_ref(grown.state, table))
    joins = table.get(PRESENT, True)
    steps = resolve({name: grown.state}, [Change.at_micros(target, PRESENT, joins, now)])
    runtime.apply(steps[0][2], now)
    detail = json.dumps({"attribute": "added", "value": dict(table)}, default=str)
    number = _event(
        *(database, row, CHANGED, runtime, now, author), destination=target, detail=detail
    )
    _go_on(database, row, current, grown.cluster, runtime, number, now)


def remove(database: Database, name: str, target: str, author: Author) -> None:
    """Remove a destination for good. Raises ChangeError, ConfigError."""
    database.run("may_operate")
    row, current, now = _lock_cluster(database, name, author)
    cluster = current.runtime.cluster
    without_destination(current.version.cluster, cluster, target)  # refused before anything is done
    target = named(leaving_ref(cluster, target))
    steps = resolve({name: cluster}, [Change.at_micros(target, PRESENT, value=False, time=now)])
    current.runtime.apply(steps[0][2], now)
    shrunk = without_destination(current.version.cluster, current.runtime.settled(), target)
    runtime = current.runtime.with_destinations(shrunk)
    detail = json.dumps({"attribute": "removed", "value": None})
    number = _event(
        *(database, row, CHANGED, runtime, now, author), destination=target, detail=detail
    )
    database.run("unbind_from", cluster=row.id, destination=target)
    _go_on(database, row, current, shrunk.cluster, runtime, number, now)


def named(ref: Ref) -> str:
    """A destination, as changes name it."""
    return str(ref) if ref.owner else ref.name


def make_due(
    database: Database, name: str, now: int, actor: str, *, uncounted: ClusterRow | None = None
) -> None:
    """Make what has become due. `uncounted`: the locked row, in which a choice too many counts."""
    if uncounted is not None and uncounted.allocation == EXACT:
        row = uncounted._replace(taken=uncounted.taken - 1)
    else:
        row = read_row(database, name, "lock_cluster")
        if row.due is None or row.due > now:
            return
        row = counted(database, row)
    author = Author(actor, now)
    _due(database, row, _now(database, row, author), now, author)


def _lock_cluster(database: Database, name: str, author: Author) -> tuple[ClusterRow, Running, int]:
    """A cluster that nobody else chooses in or changes, up to date."""
    row = read_row(database, name, "lock_cluster")
    now = moment(database, row, author.now)
    row = counted(database, row)
    current = _now(database, row, author)
    if row.due is not None and row.due < now:
        row, current = _due(database, row, current, now - 1, author)
    return row, current, now


def _now(database: Database, row: ClusterRow, author: Author) -> Running:
    """A cluster as it is now, after the choices of its run that the row counts."""
    version = read_version(database, row)
    if row.state is not None:
        current = running(version, json.loads(row.state))
    else:
        current = at_turn(version, read_choice_run(database, row, row.first), row.taken)
    complete(database, row, current, now=author.now, actor=author.actor)
    return current


def _due(
    database: Database, row: ClusterRow, running: Running, until: int, author: Author
) -> tuple[ClusterRow, Running]:
    """Make a step at each time up to and at this one at which something is due."""
    number = 0
    runtime, reset_due = running.runtime, row.reset_due
    while True:
        later = runtime.cluster.follow_ups.next
        due = min((time for time in (later, reset_due) if time is not None), default=until + 1)
        if due > until:
            break
        changes: list[ResolvedChange] = []
        if due == reset_due:  # those between now and then would find nothing to reset
            due += (min(until, later or until) - due) // row.reset_every * row.reset_every
            reset_due = due + row.reset_every
            changes = [ResolvedChange(None, RESET, None)]
            running.sent.clear()
        runtime.apply(changes, due)
        detail = json.dumps({"attribute": RESET if changes else "due", "value": None})
        number = _event(database, row, CHANGED, runtime, due, author, detail=detail)
    row = row._replace(reset_due=reset_due)
    if not number:
        return row, running
    return _go_on(
        database, row, running, running.version.cluster, runtime, number, until, of_itself=True
    )


def _go_on(
    database: Database,
    row: ClusterRow,
    running: Running,
    cluster: Cluster,
    runtime: ClusterRuntime,
    number: int,
    now: int,
    *,
    of_itself: bool = False,
) -> tuple[ClusterRow, Running]:
    before = running.version
    return _begin(
        *(database, row, cluster, runtime, running.sent, before, number, now), of_itself=of_itself
    )


def _begin(
    database: Database,
    row: ClusterRow,
    cluster: Cluster,
    runtime: ClusterRuntime,
    sent: Counter[int],
    before: Version | None,
    number: int,
    now: int,
    *,
    of_itself: bool = False,
) -> tuple[ClusterRow, Running]:
    """A new version begins, after `before` if that goes on.

    `of_itself`: whoever chooses next begins it, and may do no more.
    """
    state = runtime.cluster
    ids = _ids(database, row, state, before)
    version = version_of(cluster, runtime, ids)
    first = row.turn
    if version.made_ahead:
        runtime.sequences[()] = first
    elif row.allocation == TICKET:
        raise ConfigError(
            f"cluster {row.name!r}: store.allocation: found 'ticket', allowed: 'exact', as the "
            f"choices of {state.policy.name} with these options cannot be made ahead"
        )
    current = Running(version, runtime, sent)
    if not of_itself:
        known = before.rows() if before else {}
        for id_, described in version.rows().items():
            if known.get(id_) != described:
                name, address, queue = described
                database.run(
                    "add_destination",
                    cluster=row.id,
                    id=id_,
                    name=name,
                    address=address,
                    queue=queue,
                )
    plain = current.state()
    mark = stamp()
    database.run(
        "add_version",
        cluster=row.id,
        version=version.number,
        stamp=mark,
        at=now,
        definition=json.dumps(version.definition),
    )
    begun = ChoiceRun(first, version.number, number, plain, current.choices())
    write_choice_run(database, row.id, begun, now)
    due = (state.follow_ups.next, row.reset_due)
    row = row._replace(
        rule=rule_in_sql(version),
        due=min((time for time in due if time is not None), default=None),
        version=version.number,
        stamp=mark,
        first=first,
        taken=0,
        revision=revision(),
        state=None if version.made_ahead else json.dumps(plain),
    )
    set_row(database, row)
    return row, current


def _ids(database: Database, row: ClusterRow, state: AnyState, before: Version | None) -> list[int]:
    """The ids of the members; new ones get ids that nobody has had."""
    known = {}
    if before:
        known = dict(zip(marks(before.start.cluster), before.ids, strict=True))
    last = max((id_ for id_, _, _ in database.run("destinations", cluster=row.id)), default=0)
    fresh = count(last + 1)
    return [known[mark] if mark in known else next(fresh) for mark in marks(state)]


def rule_in_sql(version: Version) -> str:
    """The rule by which plain SQL chooses in a cluster; "" where only Python can."""
    state = version.start.cluster
    policy = state.policy
    steps = {elimination.name for elimination in state.eliminations()}
    if not version.made_ahead or policy.fans_out or state.follows_up or steps - STEPS_IN_SQL:
        return ""
    name = policy.choice.name if isinstance(policy, ComposedPolicy) else state.rule.name
    return name if name in IN_SQL else ""


def _loaded(database: Database, row: ClusterRow) -> dict[str, Any]:
    """What the cluster was loaded from."""
    source: dict[str, Any] = json.loads(database.run("loaded_from", cluster=row.id)[0][0])
    return source


def loaded_cluster(database: Database, name: str) -> Cluster:
    """A cluster as its file said. Raises MessageError."""
    row = read_row(database, name, "cluster")
    return Cluster.from_dict(_loaded(database, row)["file"], default_name=name)


def lists(database: Database, name: str, ref: Ref) -> bool:
    """Whether the file that a cluster was loaded from lists an object that may join."""
    row = read_row(database, name, "lock_cluster")
    state = Cluster.from_dict(_loaded(database, row)["file"], default_name=name).start()
    return ref in state.objects


def _flat(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain["file"], **{name: value for name, value in plain.items() if name != "file"}}


def _event(
    database: Database,
    row: ClusterRow,
    kind: str,
    runtime: ClusterRuntime,
    time: int,
    author: Author,
    **more: object,
) -> int:
    return write_event(
        database,
        time=time,
        kind=kind,
        actor=author.actor,
        cluster=row.name,
        version=runtime.cluster.version,
        **more,
    )
