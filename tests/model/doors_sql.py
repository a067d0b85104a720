"""A door to a store on PostgreSQL through the functions of its schema, as psql calls them.

Each call is made twice: first in a transaction that is rolled back, which must leave no trace. What
plain SQL does not know (docs/reference/store-sql.md, its last part) goes through the library.
"""

from collections.abc import Iterator
from typing import Any

import psycopg

from .doors_store import ROUTING, OnPostgreSQL
from .driver import Refused
from .queues import Row
from .store import FULL, NOBODY, OTHER, STALE

WITHOUT = frozenset({"tenants", "limits", "transactions", "parts"})
"""Features of worlds that plain SQL does not have."""
ANSWERS = {"FL001": OTHER, "FL002": FULL, "FL003": STALE, "FL006": NOBODY}
BY_LIBRARY = "FL005"
"""The policy of a cluster is one that plain SQL does not know."""


class InSQL(OnPostgreSQL):
    """Senders, readers and publishers that speak SQL."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.session = psycopg.connect(self.url, autocommit=True)
        self.pages: dict[int, Iterator[Row]] = {}
        """Of a work: what SQL has given of it, and its reader has not looked at."""
        self.given: dict[int, list[int]] = {}
        self.tokens: dict[int, int] = {}

    def asked(self, function: str, **said: Any) -> Any:
        """The rows of a function; what it refuses is an answer."""
        now = str(self.world.clock.now)
        self.session.execute("SELECT set_config('fairlead.clock', %s, false)", (now,))
        seconds = ("delay", "expires", "lease")
        names = [
            f'"{name}" => make_interval(secs => %({name})s)' if name in seconds
            else f'"{name}" => %({name})s'
            for name, value in said.items() if value is not None
        ]  # fmt: skip
        query = f"SELECT * FROM fairlead.{function}({', '.join(names)})".encode()  # noqa: S608
        try:
            with self.session.transaction(force_rollback=True):
                self.session.execute(query, said)
            cursor = self.session.execute(query, said)
        except psycopg.DatabaseError as error:
            if error.sqlstate == BY_LIBRARY:
                return BY_LIBRARY
            if error.sqlstate not in ANSWERS:
                raise
            return ANSWERS[error.sqlstate]
        assert cursor.description is not None
        columns = [each.name for each in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def prioritise(self, queue: str, group: str, priority: int | None) -> Any:
        ((raised,),) = (
            row.values()
            for row in self.asked("prioritise", queue=queue, group=group, priority=priority)
        )
        return raised

    def send(self, queue: str, messages: list[Row], actor: int = 0) -> Any:
        if len(messages) > 1:
            return super().send(queue, messages, actor)
        found = self.asked("send", queue=queue, **_own(messages[0]))
        return found if isinstance(found, Refused) else None

    def publish(self, cluster: str, message: Row, actor: int = 0) -> Any:
        found: Any = BY_LIBRARY
        if not message.keys() & {*ROUTING}:
            found = self.asked("publish", cluster=cluster, **_own(message))
        if found == BY_LIBRARY:
            return super().publish(cluster, message, actor)
        if isinstance(found, Refused):
            return found
        (row,) = found
        return ("routed", row["destination"], row["sequence"], [row["destination"]])

    def take(self, queue: str, group: str | None, most: int, lease: int, actor: int = 0) -> Any:
        found = []
        for _ in range(1 if group else most):
            rows = self.asked("take", queue=queue, group=group, lease=lease / 1_000_000)
            if not rows:
                break
            self.taken += 1
            self.pages[self.taken] = iter(rows)
            self.given[self.taken] = []
            self.tokens[self.taken] = rows[0]["token"]
            first = rows[0]
            found.append((first["in_group"] or "", "", first["priority"], first["attempt"]))
        return found

    def read(self, work: int, most: int) -> Any:
        given, bodies = self.given[work], []
        for _ in range(most):
            row = next(self.pages[work], None)
            if row is None:
                more = self.asked("more", token=self.tokens[work], given=given)
                if isinstance(more, Refused):
                    return more
                self.pages[work] = iter(more)
                row = next(self.pages[work], None)
            if row is not None:
                given.append(row["number"])
            bodies.append(row and row["body_text"])
        return bodies

    def accept(self, work: int) -> Any:
        return self.settled(work, "accepted")

    def reject(self, work: int) -> Any:
        return self.settled(work, "rejected", reason="because")

    def release(self, work: int, delay: int | None, error: bool, done: int) -> Any:
        why = "it failed" if error else ""
        return self.settled(work, "released", reason=why, delay=delay)

    def settled(self, work: int, outcome: str, **more: Any) -> Any:
        token, given = self.tokens[work], self.given[work]
        found = self.asked("settle", token=token, outcome=outcome, given=given, **more)
        return found if isinstance(found, (Refused, str)) else None

    def close(self) -> None:
        self.session.close()
        super().close()


def _own(message: Row) -> Row:
    return {**message, "group": message.get("group") or None}
