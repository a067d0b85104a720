"""A cell of the page: what happened, at which door, and what becomes of the messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairlead import Store
from tests.stores import Clock

STORE: Final = "`Store`"
ASYNC: Final = "`AsyncStore`"
SQL: Final = "SQL"
WORK: Final = "`fairlead work`"
TAKE: Final = "`fairlead take`"
AMQP: Final = "AMQP"
COMMAND: Final = "`fairlead store recover`"
BOTH: Final = ("sqlite", "postgresql")
SERVER: Final = ("postgresql",)

QUEUE: Final = "q"
GROUP: Final = ("first", "second", "third")
"""The bodies that wait in one group, in this order; and one beside them, which nobody blames."""
BESIDE: Final = "beside"
CAUSES: Final = {"error", "lease", "process"}
DAY: Final = 86_400
SECONDS: Final = 30


@dataclass(frozen=True)
class Cell:
    """What a story has to come to."""

    what: str
    """As the page says it, without its marks."""
    door: str
    tell: Callable[..., Any]
    dead: tuple[Any, ...] = ()
    """Dead letters where one failure is enough, in this order."""
    done: tuple[str, ...] = ()
    """What is accepted."""
    cause: str = ""
    """With which it counts; "": whatever counts, it comes to the same."""
    on: tuple[str, ...] = BOTH
    real: bool = False
    """Whether time passes by itself: other processes take part, or a server."""

    @property
    def named(self) -> str:
        return f"{self.door}: {self.what}"


CELLS: list[Cell] = []


def cell(what: str, *doors: str, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    """Tell the story of a cell, or of several whose doors have one way in."""

    def add(tell: Callable[..., Any]) -> Callable[..., Any]:
        for door in doors:
            on = SERVER if door == SQL else more.get("on", BOTH)
            CELLS.append(Cell(what, door, tell, **more | {"on": on}))
        return tell

    return add


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


class Boom(Exception):  # noqa: N818
    """What a reader raises."""


class World:
    """A queue in which one failure is enough, and how it stands with its messages."""

    def __init__(self, url: str, folder: Path, *, real: bool) -> None:
        self.url, self.folder, self.real = url, folder, real
        self.clock = Clock()
        self.sent: list[Any] = []
        self.store = self.open()

    @property
    def micros(self) -> str:
        """The time, as plain SQL is told it."""
        return str(int(self.clock.now * 1_000_000))

    def open(self) -> Store:
        """One more store on it."""
        return Store.open(self.url, clock=None if self.real else self.clock)

    def declare(self, counts: set[str]) -> None:
        """Only these causes count."""
        file = self.folder / "q.toml"
        file.write_text(
            f"[[queue]]\nname = '{QUEUE}'\nmax_failures = 1\ncount_as_failure = {sorted(counts)}\n"
        )
        self.store.declare(file)

    def send(self, *bodies: object, group: str | None = "g", **more: Any) -> None:
        for body in bodies:
            self.store.send(QUEUE, body, group=group, **more)
            self.sent.append(body)

    def dead(self) -> list[Any]:
        return [each.body for each in self.store.dead(QUEUE)]

    def took(self, store: Store, most: int = 2) -> Any:
        """Work of which so many messages were given."""
        work = store.take(QUEUE)
        assert work is not None
        for _ in range(most):
            next(work)
        return work

    def is_left(self, *, dead: tuple[Any, ...], done: tuple[str, ...]) -> None:
        """These are dead letters, these are done, and all others come again, each once."""
        left = [each for each in self.sent if each not in (*dead, *done)]
        found: list[Any] = []
        until = time.monotonic() + SECONDS
        self.clock.now += DAY
        while len(found) < len(left) and time.monotonic() < until:
            self.store._leases._looked.clear()  # it looks once a second
            work = self.store.take(QUEUE)
            if work is None:
                time.sleep(0.02)
                continue
            with work:
                found += [message.body for message in work]
        assert sorted(map(str, found)) == sorted(map(str, left)), (found, left, self.dead())
        assert self.store.take(QUEUE) is None
        assert self.dead() == [*dead]
