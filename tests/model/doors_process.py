"""A door with two processes: what the second actor does, it does in one that can be killed."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from fairlead import Store

from .doors_store import StoreDoor
from .queues import SECOND
from .store import STALE

WITHOUT = frozenset({"transactions"})
"""Work that one process has taken, another cannot settle in a transaction of its own."""
FOREVER = 60


class Known:
    """Something that lives in the other process: its number there, and what can be seen of it."""

    def __init__(self, other: "Other", number: int, seen: dict[str, Any]) -> None:
        self.other, self.number = other, number
        self.__dict__ |= seen

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            return self.other.ask(self.number, name, args, more)

        return call

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found = self.other.ask(self.number, "__next__", (), {})
        if found is None:
            raise StopIteration
        return found


class Other:
    """The second process, which has a store of its own."""

    def __init__(self, door: StoreDoor) -> None:
        self.door = door
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, door.url), daemon=True)
        self.process.start()
        theirs.close()
        self.store = Known(self, 0, {})

    def ask(self, number: int, name: str, args: Any, more: Any) -> Any:
        """What a method answers there; raises what it raises there."""
        plain = [("known", each.number) if isinstance(each, Known) else each for each in args]
        self.pipe.send((self.door.world.clock.now, number, name, plain, more))
        assert self.pipe.poll(FOREVER)
        raised, found = self.pipe.recv()
        if raised:
            raise found
        return self._known(found)

    def _known(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self._known(each) for each in found]
        if isinstance(found, tuple) and found[:1] == ("known",):
            return Known(self, *found[1:])
        return found

    def kill(self) -> None:
        os.kill(self.process.pid or 0, signal.SIGKILL)
        self.process.join(FOREVER)
        self.pipe.close()


SEEN = ("group", "tenant", "priority", "attempt", "body")


def serve(pipe: Connection, url: str) -> None:
    """What the other process does until it is killed, or nobody asks any more."""
    now = [0]
    known: list[Any] = [Store.open(url, clock=lambda: Fraction(now[0], SECOND))]

    def plain(found: Any) -> Any:
        if isinstance(found, list):
            return [plain(each) for each in found]
        if found is None or isinstance(found, (str, int, tuple)):
            return found
        known.append(found)
        seen = {name: getattr(found, name) for name in SEEN if hasattr(found, name)}
        return ("known", len(known) - 1, seen)

    with suppress(EOFError):
        while True:
            now[0], number, name, args, more = pipe.recv()
            own = [known[each[1]] if isinstance(each, tuple) else each for each in args]
            try:
                if name == "__next__":
                    answer = (False, plain(next(known[number], None)))
                else:
                    answer = (False, plain(getattr(known[number], name)(*own, **more)))
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked
                answer = (True, error)
            pipe.send(answer)


class TwoProcesses(StoreDoor):
    """Two processes have one file, and the second is killed now and then."""

    def __init__(self, world: Any) -> None:
        self.other: Other | None = None
        super().__init__(world)
        self.stores[1].close()
        self._start()
        self.lost: set[int] = set()
        """Works that were in the hands of a process that was killed."""

    @property
    def watcher(self) -> Any:
        return self.stores[0]

    def _start(self) -> None:
        self.other = Other(self)
        self.stores[1] = self.other.store

    def crash(self) -> Any:
        """The second process is killed, and the first one looks after what it held."""
        assert self.other is not None
        self.other.kill()
        self.lost |= {number for number, work in self.works.items() if isinstance(work, Known)}
        self._start()
        with self.opened() as store:
            for name in self.world.names:
                store._leases.take_back_from_dead(name)

    def reopen(self, actor: int) -> None:
        if actor == 0:
            return super().reopen(actor)
        assert self.other is not None
        self.other.ask(0, "close", (), {})
        self.other.kill()
        self._start()
        return None

    def close(self) -> None:
        if self.other is not None:
            self.other.kill()
            self.stores.pop()
        super().close()


def _of_lost(verb: str) -> Any:
    def answer(self: TwoProcesses, work: int, **said: Any) -> Any:
        return STALE if work in self.lost else getattr(StoreDoor, verb)(self, work, **said)

    return answer


for _verb in ("read", "reject_one", "accept", "reject", "release", "extend"):
    setattr(TwoProcesses, _verb, _of_lost(_verb))


class TwoProcessesOnPostgreSQL(TwoProcesses):
    """The same with a database's server between them."""

    dialect = "postgresql"
