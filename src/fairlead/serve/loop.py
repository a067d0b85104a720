"""One event loop around the node: sockets, time, and threads that wait for the database."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Final, NamedTuple

from fairlead.errors import StoreError, UserError
from fairlead.serve.access import Access
from fairlead.serve.channel_ends import ServedManager
from fairlead.serve.executor import Executor
from fairlead.serve.limits import network_of
from fairlead.serve.login_queue import LoginQueue
from fairlead.serve.node.calls import (
    Call,
    CloseOpener,
    GoneError,
    Leave,
    Make,
    Remove,
    Renew,
    Resolve,
    Subscribe,
    Write,
)
from fairlead.serve.node.connections import ClientConnection
from fairlead.serve.node.links import LEASE
from fairlead.serve.node.node import Node
from fairlead.serve.rights import Rights, named_by
from fairlead.serve.session import Session
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.engine_links import LEAST_IDLE
from fairlead.serve.wire.events import Traffic
from fairlead.store.store import Store
from fairlead.store.workers.health import LOOK

LOGGER: Final = logging.getLogger("fairlead.serve")
THREADS: Final = 4
"""So many calls of the store run at one time; what writes messages, one."""
LISTEN: Final = 1.0
"""Seconds: so often those that wait for what comes from elsewhere look which queues these are."""
SOON: Final = LEAST_IDLE / 2000
"""Seconds between two looks at what peers are to hear."""
ENDING: Final = 60.0
"""Seconds for which a server that was told to stop waits for a store that does not answer."""
LINK_ENDED: Final = GoneError("found that the link has ended")
UNWANTED: Final = 0.2
"""Seconds until it is looked again for what came, and nobody wants now."""


class Listening(NamedTuple):
    """Where a server listens."""

    host: str
    port: int
    """0: any that is free."""
    secure: bool = False
    """Whether TLS is spoken there."""


class Server:
    """Serves a store until it is told to stop."""

    def __init__(
        self,
        store: Store,
        access: Access | None = None,
        lease: float = LEASE,
        name: str = "",
        manager: ServedManager | None = None,
    ) -> None:
        """`store`: open; when the server has stopped, it is to be closed: nobody waits for work.

        `access`: who may connect, None: all on this machine. `name`: the server's, for subjects;
        "": it has none. `manager`: the queue manager that it is, if it is one.
        """
        self._store = store
        self.access = access or Access()
        self.node = Node(lease, name, *_of_node(self.access), one_writer=store.has_one_writer)
        self._executor = Executor(store, lease, manager)
        self._threads = ThreadPoolExecutor(THREADS, "fairlead-serve")
        self._free = asyncio.Semaphore(THREADS)
        """A place for each of these threads."""
        self._writer = ThreadPoolExecutor(1, "fairlead-serve-write")
        self._listener = ThreadPoolExecutor(2, "fairlead-serve-wait")
        self._checker = ThreadPoolExecutor(1, "fairlead-serve-check")
        self._turns = LoginQueue()
        self._sockets: list[asyncio.Server] = []
        self.sessions: set[Session] = set()
        """All connections."""
        self.traffic: Final = Traffic()
        self._speaking: list[Session] = []
        """Those that have something to say."""
        self.paused: set[Session] = set()
        """Those from which nothing is read for now."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._alone = asyncio.Event()
        self.places: list[tuple[str, int]] = []
        """Host and port of each place where it listens."""

    async def begin(self, every: Sequence[Listening]) -> None:
        """Listen. Raises OSError where a place is in use."""
        loop = asyncio.get_running_loop()
        for listening in every:
            begin = partial(self._session, secure=listening.secure)
            server = await loop.create_server(begin, listening.host, listening.port)
            self._sockets.append(server)
            self.places += [socket.getsockname()[:2] for socket in server.sockets]
        self.keep(self._for_ever(self._tick))
        self.keep(self._for_ever(self._hear))
        self.keep(self._for_ever(self._look_at_health))

    async def stop(self, grace: float) -> None:
        """Take no new work, let what is under way end for so many seconds, and give back the rest.

        Everything that was accepted is stored then.
        """
        for server in self._sockets:
            server.close()
        if self.places:
            connected, in_hand = len(self.sessions), self.node.state.in_hand
            LOGGER.info("event=stopping connections=%d in_hand=%d", connected, in_hand)
        self.node.stop()
        await self._settled(grace)
        self.node.close()
        self.moved()
        await self._settled(ENDING)
        if self.node.state.busy:
            LOGGER.warning(
                "event=left in_hand=%d: the store did not answer", self.node.state.in_hand
            )
        for session in [*self.sessions]:
            session.end()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(UserError):  # others find out by themselves then
            run = asyncio.get_running_loop().run_in_executor
            await run(self._threads, self._executor.stop)
        self._store.waker.stop()
        for pool in (self._threads, self._writer, self._listener, self._checker):
            pool.shutdown()

    async def _settled(self, seconds: float) -> None:
        """Wait until nothing is under way, or for so long; a little longer for what is taken."""
        until, last = time.monotonic() + seconds, time.monotonic() + max(seconds, ENDING)
        while (self.node.state.busy and time.monotonic() < until) or (  # noqa: ASYNC110 - threads end it
            self.node.state.taking and time.monotonic() < last
        ):
            await asyncio.sleep(0.01)

    # -------- the node

    def moved(self) -> None:
        """Something has happened: ask the store, and answer the peers."""
        for call in self.node.calls():
            pool = self._writer if isinstance(call, Write) else self._threads
            self.keep(self._execute(pool, call))
        while self._speaking:
            self._speaking.pop().flush()
        for session in [*self.paused]:
            session.look()

    async def _execute(self, pool: ThreadPoolExecutor, call: Call) -> None:
        result: Any = None
        failed: Exception | None = None
        try:
            run = asyncio.get_running_loop().run_in_executor
            async with self._free if pool is self._threads else nullcontext():
                if self.node.links.is_wanted(call):
                    result = await run(pool, self._executor.execute, call)
                else:  # whose links come and go keeps neither others waiting nor memory
                    failed = LINK_ENDED
        except Exception as error:
            failed = error
            if not isinstance(error, UserError):
                LOGGER.exception("event=failed call=%s", type(call).__name__)
            elif isinstance(
                call, CloseOpener | Leave | Remove | Renew
            ):  # no peer is there to be told
                LOGGER.warning("event=failed call=%s why=%r", type(call).__name__, str(error))
        self.node.done(call, result, failed, time.time())
        if isinstance(call, Resolve | Subscribe | Make):
            self._changed.set()
        self.moved()

    async def _look_at_health(self) -> None:
        """See how destinations stand whose receivers fail."""
        await asyncio.sleep(LOOK)
        with suppress(StoreError):  # who needs the database says that it is gone
            run = asyncio.get_running_loop().run_in_executor
            await run(self._threads, self._executor.look_at_health)

    async def _for_ever(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step again and again; after a fault of ours, too: all peers depend on the next."""
        while True:
            try:
                await step()
            except Exception:
                LOGGER.exception("event=failed step=%s again_in=%g", step.__name__, LISTEN)
                await asyncio.sleep(LISTEN)

    async def _tick(self) -> None:
        """Do what is due, and wait until the next."""
        now, clock = time.time(), time.monotonic()
        left = self.node.tick(now) - now
        for session in [*self.sessions]:
            try:
                again = session.tick(clock)
            except Exception:  # the others are ticked all the same
                LOGGER.exception("event=failed step=tick of=session")
                session.abort()
            else:
                left = left if again is None else min(left, max(again - clock, SOON))
        self.moved()
        await asyncio.sleep(max(left, 0.01))

    async def _hear(self) -> None:
        """Hear once what comes from elsewhere, or becomes due, for queues with receivers."""
        queues = self.node.state.wanted
        if not queues:
            self._changed.clear()
            await self._changed.wait()
            return
        run = asyncio.get_running_loop().run_in_executor
        try:
            heard = await run(self._listener, self._store.waker.wait, queues, LISTEN)
        except StoreError:
            await asyncio.sleep(LISTEN)
            return
        if heard:
            self.node.state.arrived(queues)
            self.moved()
            # what is there and nobody wants is heard of again at once
            await asyncio.sleep(0.001 if self.node.state.wants else UNWANTED)

    def keep(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        """Let something go on until the server stops."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a fault of ours, of which nobody else would hear
            LOGGER.error("event=failed", exc_info=error)

    # -------- sessions

    def govern(self, access: Access) -> None:
        """From now on other users, rights and limits; connections stay."""
        self.access = access
        self.node.links.govern(*_of_node(access))
        self.moved()

    def _session(self, *, secure: bool) -> Session:
        return Session(self, self.access.tls if secure else None)

    def joined(self, session: Session) -> None:
        """Somebody has connected."""
        self.sessions.add(session)

    async def check(
        self, host: str, name: str, password: bytes, wanted: Callable[[], bool]
    ) -> bool | None:
        """Whether this is that user's password, of whom who is at that host says it.

        `wanted`: whether anybody still wants to know; None: nobody does.
        """
        run = asyncio.get_running_loop().run_in_executor
        is_user = self.access.has(name)
        async with self._turns.turn(network_of(host), is_user=is_user):
            if not wanted():
                return None
            return await run(self._checker, self.access.check, name, password)

    def entered(self, session: Session, user: str) -> tuple[Connection, ClientConnection]:
        """A peer has said who it is, and begins with AMQP."""
        settings = self.access.settings
        wire = Connection(settings, lambda: self._speaking.append(session), self.traffic)
        return wire, self.node.connected(wire, user, session.place)

    def left(self, session: Session) -> None:
        """A connection is gone."""
        self.sessions.discard(session)
        if not self.sessions:
            self._alone.set()

    async def left_alone(self) -> None:
        """Wait until somebody was there, and everybody is gone."""
        await self._alone.wait()


def _of_node(access: Access) -> tuple[Rights, int, Callable[[str], bool]]:
    """What the node is to know of it."""
    serving = access.serving
    return access.rights, serving.limits.links, named_by(serving.raised_by_priority)
