"""A run whose messages several processes bring at once: they wait in a table until it is published.

Only on PostgreSQL, and for clusters whose turns can be reserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fairlead.errors import StoreError
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage

COLUMNS: Final = (
    *("attempt", "cluster", "key", "id", "group_name", "tenant", "priority", "type", "cost"),
    *("delay", "expires", "said", "format", "body"),
)
"""Of the table, which the processes copy their rows into."""


class Brought(NamedTuple):
    """What one task has copied into the table."""

    attempt: str
    """A name that no other attempt has: what is not named here was brought in vain."""
    rows: int


class StagedCount(NamedTuple):
    """Messages of a run for one cluster."""

    cluster: str
    messages: int
    known: int
    """That the cluster knows by their ids."""
    control: int
    """That are no work."""


class StagedRun:
    """A run that is being brought."""

    def __init__(self, database: Database, name: str) -> None:
        """`database`: a connection of its own, whose session says that the run is alive.

        Raises MessageError where another process is bringing it.
        """
        self._database = database
        self._brought: Sequence[Brought] = ()
        ((self.number,),) = database.run("begin_staging", name=name)

    @property
    def table(self) -> str:
        """The table, with its schema."""
        return f"fairlead.staged_{self.number}"

    def copy(self, attempt: str, rows: Iterable[tuple[object, ...]]) -> Brought:
        """Copy rows into the table by the run's own connection. Raises StoreError."""
        from psycopg import Error

        statement, count = f"COPY {self.table} ({', '.join(COLUMNS)}) FROM STDIN", 0
        try:
            with (
                self._database.connection.cursor() as cursor,
                cursor.copy(statement.encode()) as copy,
            ):
                for row in rows:
                    copy.write_row(row)
                    count += 1
        except Error as error:
            raise StoreError(f"run: {str(error).partition(chr(10))[0]}") from error
        return Brought(attempt, count)

    def rank(self, brought: Sequence[Brought]) -> list[StagedCount]:
        """Put what was brought in order; how much there is of each cluster.

        Raises MessageError for ids that are twice there or another message's, StoreError where rows
        are missing.
        """
        self._brought = brought
        rows = self._database.run(
            "rank_staged",
            number=self.number,
            attempts=[task.attempt for task in brought],
            rows=[task.rows for task in brought],
        )
        return [StagedCount(*row) for row in rows]

    def left_out(self, nobody: Sequence[str], most: int) -> list[tuple[str, bool]]:
        """The ids of messages that are left out, and whether they are known.

        `nobody`: clusters that have no destination. At most so many.
        """
        rows = self._database.run(
            "left_out_staged",
            number=self.number,
            attempts=[task.attempt for task in self._brought],
            nobody=list(nobody),
            most=most,
        )
        return [(id_, known) for id_, known in rows]

    def give_back_turns(self) -> None:
        """Nobody has the turns that were reserved for it, where nobody has gone on behind them."""
        self._database.run("give_back_turns", number=self.number)

    def end(self) -> None:
        """Nothing is left of what was brought, but what was published."""
        self._database.run("end_staging", number=self.number)


def staged_row(
    attempt: str, cluster: str, key: int, outgoing: OutgoingMessage, said: str | None
) -> tuple[object, ...]:
    """A row of the table. `outgoing`: checked at time 0, so that its times are seconds from now."""
    return (
        *(attempt, cluster, key, outgoing.key, outgoing.group, outgoing.tenant),
        *(outgoing.priority, outgoing.type, outgoing.cost, outgoing.due or 0, outgoing.expires),
        *(said, outgoing.format, outgoing.body),
    )
