"""The session by which a process with an event loop says that it lives, and hears of work."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from fairlead.errors import StoreError
from fairlead.store.database import bridge
from fairlead.store.database.connections import closed
from fairlead.store.database.postgresql import PostgreSQL, open_postgresql, without_password
from fairlead.store.database.postgresql_async import AsyncPostgreSQL
from fairlead.store.queues.lease_holders_postgresql import ASK, SessionLocks


class LoopSessionLocks(SessionLocks):
    """The same session of the server, on an event loop: one for all tasks that wait."""

    def __init__(self, url: str) -> None:
        """Connects when it is first needed."""
        super().__init__(url)
        self.place = without_password(url)
        """The database, without user and password."""
        self._mine = asyncio.Lock()
        """Of the task that uses the session; they come one after another."""
        self._said = asyncio.Event()
        """The server has said something, or somebody wants the session."""
        self._asking: asyncio.Task[None] | None = None

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        super().close()
        self.interrupt()

    def _keep(self) -> None:
        if self._asking is None:
            self._asking = asyncio.get_running_loop().create_task(self._ask_often())

    async def _ask_often(self) -> None:
        while True:
            await asyncio.sleep(ASK)
            with suppress(StoreError):  # it is asked again
                await bridge.run_verb(self.check)

    def check(self) -> None:
        if self._database is None:
            return
        if self._mine.locked():  # whoever listens finds out
            if self._is_to_be_asked():
                self.interrupt()
            return
        bridge.wait_for(self._mine.acquire())
        try:
            with suppress(StoreError):  # what says that it is lost
                if not self._database.lost:
                    self._database.run("time")
            if self._database.lost:
                self._connect()
        finally:
            self._mine.release()

    async def hear_of(self, queue: int) -> None:
        """Hear of what arrives for a queue, from now on."""
        self.interrupt()
        async with self._mine:
            await bridge.run_verb(lambda: self.listen(queue))

    def interrupt(self) -> None:
        """Let who listens look up."""
        self._said.set()

    async def heard(self, left: float) -> list[tuple[int, bool]]:
        """Wait until something arrives, or for so many seconds, or until somebody interrupts.

        Returns the queues for which something has, and whether this process is meant to take it.
        Raises StoreError, also where the session is closed meanwhile.
        """
        from psycopg import Error

        async with self._mine:
            database = self._open_one()
            try:
                self._said.clear()
                if self._is_to_be_asked():
                    self._asked = time.monotonic()
                    await bridge.run_verb(lambda: database.run("time"))
                arrivals = await self._new(database)
                if not arrivals:
                    await self._until_said(database, left)
                    arrivals = await self._new(self._open_one())
            except (Error, StoreError) as error:
                self._open_one()
                if not database.lost:
                    raise StoreError(f"{database.place}: {error}") from None
                await bridge.run_verb(self._connect)
                arrivals = self._maybe_missed()
        return arrivals

    def _open_one(self) -> PostgreSQL:
        """The session. Raises StoreError: whoever hears of nothing at once would ask for ever."""
        if self._database is None or self._closed.is_set():
            raise closed(self.place)
        return self._database

    async def _until_said(self, database: PostgreSQL, left: float) -> None:
        loop, file = asyncio.get_running_loop(), database.connection.fileno()
        loop.add_reader(file, self._said.set)  # psycopg has it only while a statement runs
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._said.wait()
        finally:
            loop.remove_reader(file)

    async def _new(self, database: PostgreSQL) -> list[tuple[int, bool]]:
        notifies = database.connection.notifies(timeout=0)
        return [self._meaning(notice) async for notice in notifies]

    def _open(self) -> PostgreSQL:
        return open_postgresql(self._url, AsyncPostgreSQL)
