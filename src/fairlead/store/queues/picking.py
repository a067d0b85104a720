"""Pick: which group is taken next, of those that nobody holds and that no limit holds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.limiting import Gate
from fairlead.store.queues.settings import Queue
from fairlead.store.queues.tenants import TenantLine

BESIDES: Final = "pick_of_tenant_besides"


def pick(
    database: Database,
    queue: Queue,
    line: TenantLine | None,
    gate: Gate | None,
    name: str | None,
    most: int,
    values: dict[str, object],
    log: Log,
) -> Sequence[Row]:
    """The rows of the best groups, which are held from now on; of the one that is named.

    `values`: who holds them, and until when. One where there are tenants or limits.
    """
    if gate is not None and not _lets_through(database, queue, gate, name):
        return []
    if line is not None:
        return _pick_fairly(database, queue, line, gate, name, values, log)
    if name is not None:
        return _hold(database, queue, "pick_named", values, log, name=name)
    if gate is not None:
        return _pick_open(database, queue, gate, values, log)
    return _hold(database, queue, "pick", values, log, most=most)


def _hold(
    database: Database,
    queue: Queue,
    pick: str,
    values: dict[str, object],
    log: Log,
    **which: object,
) -> Sequence[Row]:
    """Pick groups and hold them; tokens are the numbers of the events of taking."""
    rows = database.run(pick, queue=queue.id, **which, **values)
    if not rows:
        return rows
    tokens = log.draw(len(rows))
    database.run("hold", ids=[row[0] for row in rows], first=tokens[0], **values)
    return [(*row[:5], token, *row[6:]) for row, token in zip(rows, tokens, strict=True)]


def _lets_through(database: Database, queue: Queue, gate: Gate, name: str | None) -> bool:
    """Whether the limits let the group that is named through; any, where none is."""
    if name is None:
        return True
    rows = database.run("lane_named", queue=queue.id, name=name)
    return all(gate.is_open(lane or "", tenant) for lane, tenant in rows)


def _pick_open(
    database: Database, queue: Queue, gate: Gate, values: dict[str, object], log: Log
) -> Sequence[Row]:
    """The best group of those that the limits let through: the first of some lane."""
    firsts = []
    for lane in gate.lanes():
        if gate.is_open(lane):
            rows = database.run("first_of_lane", queue=queue.id, lane=lane)
            firsts += [(*place, lane) for place in rows]
    for *_, lane in sorted(firsts):
        rows = _hold(database, queue, "pick_of_lane", values, log, lane=lane)
        if rows:
            return rows
    return []


def _pick_fairly(
    database: Database,
    queue: Queue,
    line: TenantLine,
    gate: Gate | None,
    name: str | None,
    values: dict[str, object],
    log: Log,
) -> Sequence[Row]:
    if name is not None:
        owner = database.run("tenant_of", queue=queue.id, name=name)
        if not owner or owner[0][0] in line.off:
            return []
        values["turn"] = line.tenant(owner[0][0]).turn
        return _hold(database, queue, "pick_named", values, log, name=name)
    busy: list[str] = []
    lanes = gate.lanes() if gate is not None else []
    while (tenant := line.next(busy)) is not None:
        values["turn"] = tenant.turn
        closed = [] if gate is None else [x for x in lanes if not gate.is_open(x, tenant.name)]
        pick, besides = ("pick_of_tenant", {}) if gate is None else (BESIDES, {"closed": closed})
        rows = _hold(database, queue, pick, values, log, tenant=tenant.name, **besides)
        if rows:
            return rows
        line.unline_if_through(tenant)
        busy.append(tenant.name)  # a limit holds what it has
    return []
