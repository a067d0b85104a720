"""Programs of all kinds that use one store over one way, without a pause, while the way is bad."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

import psycopg
from proton import ConnectionException, Message, ProtonException, Timeout
from proton.utils import BlockingConnection, SendException

from fairlead import AsyncStore, Store
from fairlead.errors import StaleWorkError, StoreError
from fairlead.store.queues.unanswered import REASON as LOST
from tests.bounded import COMMAND
from tests.ports import free_port
from tests.proxies import Proxy

ROOT: Final = Path(__file__).parent.parent.parent
LIMIT: Final = 90.0
"""Seconds in which all have to go on after a fault; far more than the bounds, for slow machines."""
QUEUES: Final = ("plain", "task", "worked", "stored", "amqp")
MOST: Final = 20
"""So many messages at most wait for a worker, else it would be ever later."""
PAGE: Final = 5000
"""So many events are read in one go, however many more come meanwhile."""
PLAIN: Final = [sys.executable, "-c", "from fairlead.cli import main; main()"]
HANDLERS: Final = """
import os

def note(message):
    file = os.open("worked", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{message.body}\\n".encode())
    os.close(file)

def store(message, tx):
    tx.execute("INSERT INTO mine VALUES (%s)", [message.body])

handlers = {"worked": note, "stored": store}
"""


class Actor(ABC):
    """Does something again and again."""

    name = ""
    lease = 60.0

    def __init__(self, url: str) -> None:
        self.url = url
        self.last = 0.0
        """When that began which was the latest to succeed."""
        self.stored: set[int] = set()
        """Numbers whose senders were told that they are kept."""
        self.given: Counter[int] = Counter()
        self.tokens: set[int] = set()
        """Of what it knows that it has taken."""
        self.sends = True
        self.errors: Counter[str] = Counter()
        self.faults: list[BaseException] = []
        """What nobody may raise."""
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._next = 0

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self.ended.set()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), f"{self.name} hangs"

    def _run(self) -> None:
        try:
            self.go_on()
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.faults.append(error)

    def go_on(self) -> None:
        while not self.ended.is_set():
            self.once(self.step)

    def once(self, step: Callable[[], object]) -> None:
        began = time.monotonic()
        try:
            step()
        except (StoreError, ProtonException, OSError) as error:
            self.errors[type(error).__name__] += 1
            time.sleep(0.02)
        else:
            self.succeeded(began)
        time.sleep(0.01)

    def succeeded(self, began: float) -> None:
        self.last = began

    @abstractmethod
    def step(self) -> None:
        """What is done again and again."""

    def sent(self, number: int) -> None:
        self.stored.add(number)
        self._next = number + 1


class Threaded(Actor):
    """A program with a store."""

    name = "plain"

    def go_on(self) -> None:
        with Store.open(self.url) as self._store:
            super().go_on()

    def step(self) -> None:
        if self.sends:
            self._store.send(self.name, self._next, id=f"{self.name}-{self._next}")
            self.sent(self._next)
        work = self._store.take(self.name, wait=0.05, lease=self.lease)
        if work is not None:
            self.tokens.add(work.token)
            self.given.update(message.body for message in work)
            while True:
                try:
                    work.accept()
                except StaleWorkError:  # the answer of an earlier try was lost
                    return
                except StoreError:
                    self.errors["accept"] += 1
                    time.sleep(0.05)
                else:
                    return


class Awaiting(Actor):
    """The same with an event loop."""

    name = "task"

    def step(self) -> None:
        """Its steps are awaited."""

    def go_on(self) -> None:
        asyncio.run(self._go_on())

    async def _go_on(self) -> None:
        async with await AsyncStore.open(self.url) as store:
            while not self.ended.is_set():
                began = time.monotonic()
                try:
                    await self._step(store)
                except StoreError as error:
                    self.errors[type(error).__name__] += 1
                    await asyncio.sleep(0.02)
                else:
                    self.last = began
                await asyncio.sleep(0.01)

    async def _step(self, store: AsyncStore) -> None:
        if self.sends:
            await store.send(self.name, self._next, id=f"{self.name}-{self._next}")
            self.sent(self._next)
        work = await store.take(self.name, wait=0.05, lease=self.lease)
        if work is not None:
            self.tokens.add(work.token)
            async for message in work:
                self.given[message.body] += 1
            while True:
                try:
                    await work.accept()
                except StaleWorkError:  # the answer of an earlier try was lost
                    return
                except StoreError:
                    self.errors["accept"] += 1
                    await asyncio.sleep(0.05)
                else:
                    return


class Worked(Actor):
    """Sends to workers, and looks at what they have done."""

    name = "worked"

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(url)
        self._done = folder / "worked"
        self._began: dict[int, float] = {}

    def go_on(self) -> None:
        with Store.open(self.url) as self._store:
            super().go_on()

    def succeeded(self, began: float) -> None:
        """As far as what was sent is done by now."""
        if not self.sends:
            self.last = began
            return
        self.last = max((self._began[each] for each in self.given), default=0.0)

    def step(self) -> None:
        if self.sends and len(self.stored - set(self.given)) < MOST:
            number = self._next
            began = time.monotonic()
            for queue in (self.name, "stored"):
                self._store.send(queue, number, id=f"{queue}-{number}")
            self._began[number] = began
            self.sent(number)
        done = self._done.read_text("utf-8") if self._done.exists() else ""
        self.given = Counter(map(int, done.split()))
        for each in self.given:
            self._began.setdefault(each, 0.0)  # done, though its sender was not told so


class Connected(Actor):
    """Sends and receives by AMQP."""

    name = "amqp"
    _connection: Any = None

    def step(self) -> None:
        try:
            self._step()
        except SendException:  # it was rejected, or is to be sent again
            raise
        except ProtonException:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.timeout = 1
                with suppress(ProtonException, OSError):
                    connection.close()
            raise

    def _step(self) -> None:
        if self._connection is None:
            self._connection = BlockingConnection(
                self.url, timeout=LIMIT, allowed_mechs="ANONYMOUS"
            )
            self._sender = self._connection.create_sender(self.name)
            self._receiver = self._connection.create_receiver(self.name, credit=5)
        if self.sends:
            message = Message(self._next, id=f"{self.name}-{self._next}")
            self._sender.send(message, timeout=LIMIT)
            self.sent(self._next)
        with suppress(Timeout):
            self.given[self._receiver.receive(timeout=0.05).body] += 1
            self._receiver.accept()

    def end(self) -> None:
        super().end()
        if self._connection is not None:
            self._connection.timeout = 5
            with suppress(ProtonException, ConnectionException, OSError):
                self._connection.close()


class Looking(Actor):
    """A console: it looks at numbers, and follows the journal."""

    name = "look"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.cursor: str | None = None
        self.positions: list[int] = []

    def go_on(self) -> None:
        with Store.open(self.url) as self._store:
            super().go_on()

    def step(self) -> None:
        self._store.queues()
        for event in islice(self._store.journal(self.cursor), PAGE):
            self.positions.append(event.position)
            self.cursor = event.cursor


class Scraping(Actor):
    """Prometheus."""

    name = "metrics"

    def step(self) -> None:
        try:
            with urllib.request.urlopen(self.url, timeout=20) as found:  # noqa: S310
                assert found.status == 200
        except urllib.error.HTTPError as error:
            error.close()
            raise


class World:
    """All of them, a worker and a server, behind a proxy."""

    def __init__(self, url: str, folder: Path, *, small: bool) -> None:
        """`small`: with the bounds of `tests/bounded.py`, which the caller has set here, too."""
        self.url, self.folder = url, folder
        self.proxy = Proxy(url)
        (folder / "ways.py").write_text(HANDLERS, "utf-8")
        with Store.open(url) as store:
            for name in QUEUES:
                store.set_limits(name, max_failures=5)
            with store.transaction() as tx:
                tx.execute("CREATE TABLE mine (number INTEGER)")
        self._command = COMMAND if small else PLAIN
        lease = "30" if small else "60"
        self.processes: list[subprocess.Popen[str]] = []
        port = free_port()
        self._started("work", "ways:handlers", "--metrics", f"{port}", "--lease", lease)
        serving = self._started("serve", "--listen", "amqp://127.0.0.1:0", "--lease", lease)
        assert serving.stdout is not None
        place = serving.stdout.readline().split()[-1].removeprefix("amqp://")
        self.actors: list[Actor] = [
            Threaded(self.proxy.url),
            Awaiting(self.proxy.url),
            Worked(self.proxy.url, folder),
            Connected(place),
            Looking(self.proxy.url),
            Scraping(f"http://127.0.0.1:{port}/metrics"),
        ]
        for each in self.actors:
            each.lease = float(lease)
            each.begin()
        self.slowest: dict[str, float] = defaultdict(float)
        """Seconds, by who went on last."""
        self.rounds = self.unheard = 0

    def _started(self, verb: str, *options: str) -> subprocess.Popen[str]:
        with (self.folder / f"{verb}.log").open("w") as log:
            process = subprocess.Popen(
                [*self._command, verb, *options, "--store", self.proxy.url],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.processes.append(process)
        return process

    def go_on(self) -> float:
        """Wait until all have begun something after now that succeeded; after how many seconds."""
        began = time.monotonic()
        waiting = list(self.actors)
        while waiting:
            for each in list(waiting):
                if each.last > began:
                    waiting.remove(each)
                    seconds = time.monotonic() - began
                    self.slowest[each.name] = max(self.slowest[each.name], seconds)
            assert time.monotonic() < began + LIMIT, f"{self._stuck(waiting)} do not go on"
            assert all(each.poll() is None for each in self.processes), "a process has ended"
            time.sleep(0.01)
        self.proxy.end_silent()
        self.rounds += 1
        return time.monotonic() - began

    def _stuck(self, waiting: list[Actor]) -> str:
        who = ", ".join(f"{each.name} ({each.errors}, {each.faults})" for each in waiting)
        with psycopg.connect(self.url) as admin:
            found = admin.execute(
                "SELECT pid, state, wait_event, now() - state_change, pg_blocking_pids(pid), "
                "left(query, 150) FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchall()
        return "\n".join([who, *map(str, found)])

    @property
    def result(self) -> str:
        found = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.slowest.items())
        errors = sum(sum(each.errors.values()) for each in self.actors)
        return f"{self.rounds} rounds, all recovered; {errors} errors; slowest (s): {found}"

    def end(self) -> None:
        for each in self.actors:
            each.ended.set()
        for process in self.processes:
            process.kill()
            process.communicate()
        self.proxy.__exit__()

    def check(self) -> None:
        """All that was stored is done; nothing comes again that was accepted; nobody is blamed."""
        for each in self.actors:
            each.sends = False
        with Store.open(self.url) as store:
            until = time.monotonic() + LIMIT
            while any(each.messages for each in store.queues() if "fairlead:" not in each.queue):
                assert time.monotonic() < until, f"left: {store.queues()}"
                time.sleep(0.05)
            self.go_on()
            for each in self.actors:
                each.end()
            for process in self.processes:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
            assert [each.returncode for each in self.processes] == [0, 0]
            assert [each.faults for each in self.actors if each.faults] == []
            self._check_done(store)
            self._check_journal(store)
            assert store.check() == []
        for log in self.folder.glob("*.log"):
            said = log.read_text("utf-8")
            assert "Traceback" not in said
            assert "fault of ours" not in said

    def _check_done(self, store: Store) -> None:
        for each in self.actors:
            assert each.stored <= set(each.given), f"{each.name} has lost messages"
        with store.transaction() as tx:
            rows = tx.execute("SELECT number FROM mine").fetchall()
        worked = next(each for each in self.actors if each.name == "worked")
        assert worked.stored <= {number for (number,) in rows}
        assert len(rows) == len(set(rows)), "done twice in the handler's own transaction"

    def _check_journal(self, store: Store) -> None:
        events = list(store.journal())
        for each in self.actors:
            if isinstance(each, Looking):
                seen = set(each.positions)
                assert len(seen) == len(each.positions), "an event was shown twice"
                missed = [event for event in events if event.position not in seen]
                assert [event for event in missed if event.cursor <= (each.cursor or "")] == []
        accepted: set[tuple[str, str]] = set()
        for event in events:
            name = event.queue, event.id
            assert event.kind != "taken" or name not in accepted, f"{name} came again"
            if event.kind == "accepted":
                accepted.add(name)
        known = {token for each in self.actors for token in each.tokens}
        back = [each for each in events if each.kind == "released" and each.detail]
        blamed = [each for each in back if each.detail != LOST]
        assert blamed == [], f"a failure, or somebody was called dead: {blamed[:3]}"
        # nobody but the server knows of work whose taker did not hear that he has it
        assert [each for each in back if each.token in known] == []
        self.unheard = len(back)
        assert [each for each in QUEUES if store.dead(each)] == []
