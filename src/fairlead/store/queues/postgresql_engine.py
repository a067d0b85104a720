"""The verbs of queues on PostgreSQL: each is one call of a function of the schema.

Plain SQL calls the same functions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec
from msgspec.structs import asdict

from fairlead.errors import SharedQueueError
from fairlead.store.database.clock import set_clock, time_of
from fairlead.store.database.port import Database, Row
from fairlead.store.database.postgresql import literal, refusal, spread
from fairlead.store.queues.endpoints import Endpoint, endpoint_of
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.purging import PORTION, PurgedMessages, PurgePortion
from fairlead.store.queues.received import Received, Stored, readable, received
from fairlead.store.queues.settings import BEFORE_ALL, known_queue
from fairlead.store.queues.settlement import ACCEPTED, Settlement, stale
from fairlead.store.queues.taken_group import Claim, TakenGroup


class PostgresqlEngine:
    """The engine of a connection to PostgreSQL. Outside a transaction each verb is one itself."""

    def __init__(
        self, database: Database, clock: int | None, actor: str, *, shared: bool = False
    ) -> None:
        """`engine_of` makes one."""
        self._database = database
        self._clock = clock
        self._actor = actor
        self._shared = shared

    def send(
        self,
        queue: str,
        messages: Callable[[int], Sequence[OutgoingMessage]],
        *,
        timed: bool = False,
    ) -> list[str]:
        """As `QueueEngine` says."""
        batch = messages(time_of(self._database, self._clock) if timed else 0)
        if not batch:
            return []
        if len(batch) == 1:
            (key,) = self._call("send", "try_send", queue=queue, **asdict(batch[0]))
            return [str(key)]
        columns = spread("send_many", [_columns(message) for message in batch])
        (keys,) = self._call("send_many", "try_send_many", queue=queue, **columns)
        return list(keys)

    def raise_group(self, queue: str, group: str, priority: int | None) -> bool:
        """As `QueueEngine` says."""
        values = {"queue": queue, "group": group, "priority": priority, "actor": self._actor}
        ((raised, state, line),) = self._run("try_prioritise", **values)
        if state is not None:
            known_queue(self._database, queue, self._clock)  # says which queues there are
            raise refusal(state, line)
        return bool(raised)

    def take(self, queue: str, claim: Claim, *, in_portions: bool) -> tuple[list[TakenGroup], bool]:
        """As `QueueEngine` says; the function says itself how much it puts away at once."""
        del in_portions
        rows = self._run(
            "take",
            queue=queue,
            group=claim.name,
            lease=claim.lease,
            holder=claim.holder,
            most=claim.page,
            actor=claim.actor,
            conversation=claim.conversation,
            groups=claim.most,
        )
        if not rows or rows[0][0] is None:
            return [], bool(rows)
        now = time.monotonic()
        by_group = groupby(rows, itemgetter(0))
        return [_taken_group(list(of_one), claim, now) for _, of_one in by_group], False

    def check_take_within(self, queue: str) -> None:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        if row.fair or row.limits:
            what = "that its tenants share" if row.fair else "with limits"
            raise SharedQueueError(f"queue {row.name!r}: found a queue {what}, allowed: Store.take")

    def more(self, held: TakenGroup, given: Sequence[int]) -> list[Received]:
        """As `QueueEngine` says."""
        if held.only is None and not held.speaks:
            after = max(given, default=BEFORE_ALL)
            values = {"after": after, "now": self._clock, **_still(held, given)}
            rows = self._database.run("more_of_held", **values)
            if not rows:
                raise stale(held.token)
            stored = [Stored(*row) for row in rows if row[1] is not None]
            if not any(row.conversation for row in stored):
                return readable(received(row, held.group, held.tenant, None) for row in stored)
        # of what was said in conversations, what has gone wrong is read first
        rows = self._run("more_said", conversation=held.only, **_still(held, given))
        if not rows:
            raise stale(held.token)
        return readable(_received(held, row) for row in rows if row[0] is not None)

    def settle(self, queue: str, ends: Sequence[Settlement], actor: str) -> None:
        """As `QueueEngine` says."""
        del queue
        if len(ends) == 1:
            row = _end(ends[0])
            row["dead"] = row["dead"] and msgspec.json.encode(row["dead"]).decode()
            self._call("settle_one", "try_settle_one", **row, actor=actor)
            return
        plain = [end for end in ends if _is_plain(end)]
        others = [_end(end) for end in ends if not _is_plain(end)]
        self._call(
            "settle",
            "try_settle",
            plain=literal([end.id for end in plain]),
            tokens=literal([end.token for end in plain]),
            numbers=literal([message.number for end in plain for message in end.given]),
            ends=msgspec.json.encode(others).decode(),
            actor=actor,
        )

    def take_back(
        self,
        queue: str,
        groups: Sequence[tuple[int, int]],
        reason: str,
        *,
        failed: str = "",
        blameless: frozenset[int] = frozenset(),
    ) -> None:
        """As `QueueEngine` says."""
        del queue
        self._run(
            "take_back",
            ids=[id_ for id_, _ in groups],
            tokens=[token for _, token in groups],
            reason=reason,
            failed=failed,
            blameless=list(blameless),
            actor=self._actor,
        )

    def bring_up_to_date(self, queue: str) -> None:
        """As `QueueEngine` says."""
        self._run("bring_up_to_date", queue=queue, actor=self._actor)

    def switch_tenant(self, queue: str, tenant: str, reason: str, *, on: bool) -> bool:
        """As `QueueEngine` says."""
        values = {"tenant": tenant, "on": on, "reason": reason, "actor": self._actor}
        ((is_change,),) = self._run("switch_tenant", queue=queue, **values)
        return bool(is_change)

    def purge(
        self, queue: str, which: PurgedMessages, portion: PurgePortion, reason: str
    ) -> PurgePortion | None:
        """As `QueueEngine` says."""
        ((deleted, after),) = self._run(
            "purge",
            queue=queue,
            group=which.group,
            tenant=which.tenant,
            until=portion.until,
            after=portion.after,
            most=PORTION,
            reason=reason,
            actor=self._actor,
        )
        return None if after is None else PurgePortion(portion.until, after, deleted)

    def has_ended(self, end: Endpoint) -> bool:
        """As `QueueEngine` says."""
        ((state,),) = self._database.run("state_of_end", handle=end.handle)
        return state in (None, "ended")

    def _run(self, name: str, **values: object) -> Sequence[Row]:
        set_clock(self._database, self._clock)
        return self._database.run(name, **values)

    def _call(self, name: str, shared_name: str, **values: object) -> Row:
        """Call a function; that of a transaction that goes on returns what it refuses."""
        named = {"actor": self._actor, **values}
        if not self._shared:
            (row,) = self._run(name, **named)
            return row
        ((*answer, state, line),) = self._run(shared_name, **named)
        if state is not None:
            raise refusal(state, line)
        return tuple(answer)


def _columns(message: OutgoingMessage) -> Row:
    return (
        *(message.group, message.priority, message.key, message.type, message.tenant),
        *(message.cost, message.due, message.expires, message.format, message.body),
    )


def _still(held: TakenGroup, given: Sequence[int]) -> dict[str, object]:
    return {"id": held.id, "token": held.token, "given": list(given), "most": held.page}


def _is_plain(end: Settlement) -> bool:
    """Whether all that was given is accepted, and nothing else is said."""
    special = end.keep or end.partly or end.moved or end.redelivers or end.done or end.dead
    return end.kind == ACCEPTED and bool(end.given) and not special


def _end(end: Settlement) -> dict[str, object]:
    """A row of `fairlead.settlement`."""
    return {
        "id": end.id,
        "token": end.token,
        "kind": end.kind,
        "given": [message.number for message in end.given],
        "dead": dict(end.dead) or None,
        "reason": end.reason,
        "delay": end.delay,
        "failed": end.failed,
        "done": end.done,
        "partly": end.partly,
        "keep": end.keep,
        "moved": end.moved,
        "redelivers": end.redelivers,
    }


def _received(held: TakenGroup, row: Row) -> Received:
    """A message as a function of the schema gives it, from its number on, last the end."""
    *columns, end = row
    stored = Stored._make((held.id, *columns[:6], None, *columns[6:]))
    endpoint = None if end is None else endpoint_of(end)
    held.speaks = held.speaks or endpoint is not None
    return received(stored, held.group, held.tenant, endpoint)


def _taken_group(rows: Sequence[Row], claim: Claim, now: float) -> TakenGroup:
    id_, group, tenant, priority, releases, token, taken, deadline, k1, k2, cost = rows[0][:11]
    held = TakenGroup(
        *(id_, group, tenant, priority, releases + 1, token, taken, deadline),
        key=(k1, k2),
        only=claim.conversation,
        told=now,
        page=claim.page,
    )
    held.messages = [_received(held, row[11:]) for row in rows]
    held.cost = cost
    return held
