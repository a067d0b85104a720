"""This process as a lease holder, and the work of lease holders that are dead."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from fairlead.balance.objects import hint
from fairlead.errors import StoreError
from fairlead.store.arguments import OWN
from fairlead.store.database.connections import Connections
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.failing import PROCESS
from fairlead.store.queues.lease_holders import Holder, Liveness, describe_self, is_running
from fairlead.store.queues.settings import known_queue, read_queue
from fairlead.store.queues.taken_group import TakenGroup
from fairlead.store.queues.unanswered import Unanswered

LOGGER: Final = logging.getLogger("fairlead.store")
LOOK: Final = 1.0
"""Seconds: so often a store looks whether the lease holders live."""
PORTION: Final = 300
"""So many groups of the dead are taken back in one transaction: others write after it."""
DEAD, STOPS, FOR_OTHERS = range(3)
"""Why a process that is gone holds something; only the first is a failure."""
REASONS: Final = {
    DEAD: "its reader is dead",
    STOPS: "its reader was told to stop",
    FOR_OTHERS: "its server is gone",
}
SWEEP: Final = 60.0
"""Seconds: so often it looks whether those who hold nothing live."""


class Leases:
    """Who holds what: this process, and others that may be dead. Thread-safe."""

    def __init__(self, connections: Connections, liveness: Liveness, context: BaseContext) -> None:
        """Of one store."""
        self._connections = connections
        self._liveness = liveness
        self._context = context
        self._unanswered = Unanswered(connections, context)
        self.taking = self._unanswered.taking
        """A block in which something is taken."""
        self._lock = threading.Lock()
        self._id = 0
        self._for_others = False
        self._looked: dict[str, float] = {}
        self._swept = 0.0
        self._missing: set[str] = set()
        """Queues of which was said that they are not there."""

    def holder(self) -> int:
        """This process's number as a holder; from now on it says that it lives."""
        if not self._id:
            with self._lock:
                if not self._id:
                    with self._connections.writing() as database:
                        row = {**describe_self(), "since": database.time()}
                        ((number,),) = database.run("add_holder", **row)
                        if self._for_others:
                            database.run("stopping", id=number, how=FOR_OTHERS)
                        self._liveness.live(number, database)
                    self._id = number
                    self._sweep()
        return self._id

    def lives(
        self, holder: int | None, host: str | None, pid: int | None, *, others: bool = True
    ) -> bool:
        """Whether a process is a holder still, as far as can be seen. `others`: another one."""
        if holder is None or host is None or pid is None:
            return False
        if holder == self._id:
            return not others
        with self._connections.one() as database:
            return not self._liveness.dead(database, [(holder, host, pid)])

    def leave(self) -> None:
        """This process takes no more work; nobody need know of it, unless it holds some still."""
        if self._id:
            with suppress(StoreError):
                self._unanswered.give_back_all(self._id)
                with self._connections.writing() as database:
                    database.run("drop_lease_holders", ids=[self._id])

    def _sweep(self) -> None:
        """Forget processes of this machine that are gone, and held nothing."""
        self._swept = time.monotonic()
        with self._connections.one() as database:
            rows = [
                row for row in database.run("every_lease_holder") if not is_running(row[1], row[3])
            ]
            dead = self._liveness.dead(database, [(id_, host, pid) for id_, host, _, pid in rows])
        if dead:
            with self._connections.writing() as database:
                _forget(database, sorted(dead))

    def stopping(self) -> None:
        """This process was told to stop: what it still holds has not failed."""
        if self._id:
            with self._connections.writing() as database:
                database.run("stopping", id=self._id, how=STOPS)

    def for_others(self) -> None:
        """This process holds for others, such as a server: if it dies, no message has failed.

        Before it takes. Its peers, in whose hands the messages are, may live.
        """
        self._for_others = True

    def take_back_from_dead(self, queue: str) -> None:
        """Take back the work of processes that are dead, and what nobody has; once a second."""
        if time.monotonic() - self._looked.get(queue, -LOOK) < LOOK:
            return
        self._looked[queue] = time.monotonic()
        self._take_back_now(queue)
        if self._id:
            self._unanswered.give_back(queue, self._id)
        if self._id and time.monotonic() - self._swept >= SWEEP:
            self._sweep()

    def _take_back_now(self, queue: str) -> None:
        self._liveness.check()
        with self._connections.one() as database:
            row = read_queue(database, queue, self._context.clock())
            if row is None:
                self._say_missing(database, queue)
                return
            self._missing.discard(queue)
            rows = database.run("lease_holders_of", queue=row.id)
            dead = self._liveness.dead(database, [(id_, host, pid) for id_, host, pid, _ in rows])
        if dead:
            self._take_back(queue, {id_: why for id_, *_, why in rows if id_ in dead})

    def _say_missing(self, database: Database, queue: str) -> None:
        """A reader may come before the first sender; or the name is misspelt."""
        if queue not in self._missing and not queue.startswith(OWN):
            self._missing.add(queue)
            names = [name for (name,) in database.run("queue_names")]
            LOGGER.warning(
                "queue %r is not there yet: a reader gets nothing until somebody sends to it%s",
                *(queue, hint(queue, names)),
            )

    def gone_among(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        """Those of other holders of which nothing is there, as far as can be seen now."""
        return self._liveness.gone(database, holders)

    def gone(self) -> list[str]:
        """The processes that say that they take work, and are gone."""
        return [name for _, name in self._gone()]

    def take_back_all(self) -> None:
        """Take back the work of processes that are gone, of all queues."""
        gone = sorted(id_ for id_, _ in self._gone())
        if gone:
            with self._connections.one() as database:
                names = [name for (name,) in database.run("queue_names")]
            for queue in names:
                self._take_back_now(queue)
            with self._connections.writing() as database:
                _forget(database, gone)

    def forget_others(self) -> None:
        """No other process takes work any more: all work was taken back."""
        with self._connections.writing() as database:
            rows = database.run("every_lease_holder")
            others = [id_ for id_, *_ in rows if id_ != self._id]
            _forget(database, others)

    def _gone(self) -> list[tuple[int, str]]:
        self._liveness.check()
        with self._connections.one() as database:
            rows = database.run("every_lease_holder")
            dead = self._liveness.dead(database, [(id_, host, pid) for id_, host, _, pid in rows])
        return [(id_, name) for id_, _, name, _ in rows if id_ in dead]

    def _take_back(self, queue: str, dead: dict[int, int]) -> None:
        """`dead`: who they are, and why they still hold something."""
        for id_, why in sorted(dead.items()):
            groups = blameless = 0
            more = True
            while more:
                done, spared = self._take_back_portion(queue, id_, why)
                groups, blameless, more = groups + done, blameless + spared, done == PORTION
            if groups:
                LOGGER.warning(
                    "event=taken-back queue=%s holder=%d groups=%d blameless=%d",
                    *(json.dumps(queue), id_, groups, blameless),
                )
        with self._connections.writing() as database:
            _forget(database, sorted(dead))

    def _take_back_portion(self, queue: str, holder: int, why: int) -> tuple[int, int]:
        """Take back some of what somebody dead holds; how many groups, and how many blameless."""
        with self._connections.writing() as database:
            row = known_queue(database, queue, self._context.clock())
            held = database.run("held_by", queue=row.id, holders=[holder], most=PORTION)
            blameless = {
                group
                for group, _, taken in held
                if why != DEAD or self._liveness.blameless(database, taken)
            }
            engine = engine_of(database, self._context.clock(), self._context.actor)
            engine.take_back(
                queue,
                [(group, token) for group, token, _ in held],
                REASONS[why],
                failed=PROCESS,
                blameless=frozenset(blameless),
            )
            return len(held), len(blameless)


def _forget(database: Database, holders: list[int]) -> None:
    """These processes are gone: they hold nothing, and nobody notifies them."""
    database.run("drop_lease_holders", ids=holders)
    database.run("drop_listeners", ids=holders)


def renewed(database: Database, every: Iterable[TakenGroup], deadline: int) -> list[int]:
    """Let leases end at another time, in microseconds; the tokens of work that is lost."""
    lost = []
    for held in every:
        values = {"id": held.id, "token": held.token, "client": held.client or None}
        if not database.run("extend", deadline=deadline, **values):
            lost.append(held.token)
        held.deadline = deadline
    return lost
