"""The golden cases of Service Broker's order through the command line: send, promote and take.

A reader is `fairlead take --exec`: its command says with which message it begins, waits until it is
told how that ends, and leaves with that status.
"""

import os
import shlex
import threading
from itertools import count
from pathlib import Path
from typing import IO, Any

import pytest
from tests.order.service import Case, cases, run
from tests.store.test_goldens import check
from tests.stores import made_url

from fairlead import Store
from fairlead.cli.app import run as command

ENDED = "ended with status "
NOTHING_THERE = "3"
DONE, FAILED = "0", "1"
LARGE = 50
"""Messages; a command takes a tenth of a second."""
ROLLED_BACK = "a rollback of what nobody raised restores the place by arrival"
"""Of two messages, which cannot be here: one whose command ended with status 0 is done."""
CASES = [
    pytest.param(case, id=str(case), marks=[pytest.mark.slow] if len(case.rows) > LARGE else [])
    for case in cases()
    if str(case) != ROLLED_BACK
]
assert len(CASES) == len(cases()) - 1


class Reader:
    """One `fairlead take --exec` in a thread."""

    numbers = count(1)

    def __init__(self, folder: Path, queue: str, url: str) -> None:
        number = next(self.numbers)
        said, told = (folder / f"{what}-{number}" for what in ("said", "told"))
        self.said, self.told = _pipe(said), _pipe(told)
        works = (
            f"{{ cat; echo; }} > {shlex.quote(str(said))}; "
            f"read -r status < {shlex.quote(str(told))}; exit $status"
        )
        self.thread = threading.Thread(
            target=self._take, args=(["take", queue, "--store", url, "--exec", works],)
        )
        self.thread.start()
        self.fresh = True
        """Whether it has said with what it begins, and nobody has asked."""
        self.item, self.status = self._listen()

    def next(self, end: str) -> None:
        """Let it end the message in hand, and see what comes."""
        os.write(self.told.fileno(), f"{end}\n".encode())
        self.item, self.status = self._listen()

    def _take(self, arguments: list[str]) -> None:
        status = command(arguments)
        os.write(self.said.fileno(), f"{ENDED}{status}\n".encode())

    def _listen(self) -> tuple[str | None, str]:
        """The message with which it begins, or its status."""
        line = self.said.readline().rstrip("\n")
        if not line.startswith(ENDED):
            return line, ""
        self.thread.join()
        self.said.close()
        self.told.close()
        return None, line.removeprefix(ENDED)


def _pipe(path: Path) -> IO[str]:
    """A named pipe; this process keeps both of its ends open."""
    os.mkfifo(path)
    return os.fdopen(os.open(path, os.O_RDWR))


class Shell:
    """A queue, as one speaks to it on the command line."""

    def __init__(self, url: str, case: Case, folder: Path) -> None:
        self.url = url
        self.name = case.name
        self.folder = folder
        with Store.open(url) as store:
            store.set_order(self.name, **case.order, weights=case.weights)

    def arrive(self, group: str, item: Any, now: int, **more: Any) -> None:
        named = {"group": group, **more} if group else more
        options = [part for key, value in named.items() for part in (f"--{key}", str(value))]
        self._run("send", self.name, item, *options)

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        options = [] if priority is None else ["--priority", str(priority)]
        return self._run("promote", self.name, group, "--yes", *options) == 0

    def take(self, now: int) -> Reader | None:
        reader = Reader(self.folder, self.name, self.url)
        if reader.item is not None:
            return reader
        assert reader.status == NOTHING_THERE
        return None

    def receive(self, reader: Reader) -> str | None:
        if reader.fresh:
            reader.fresh = False
        else:
            reader.next(DONE)
        return reader.item

    def finish(self, reader: Reader) -> None:
        assert reader.status == "0"

    def rollback(self, reader: Reader) -> None:
        reader.next(FAILED)
        assert reader.status == "4"  # the command itself failed

    def _run(self, *arguments: str) -> int:
        return command([*arguments, "--store", self.url])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.mark.parametrize("case", CASES)
def test_golden(case: Case, url: str, tmp_path: Path) -> None:
    if "ageing" in case.order:
        pytest.skip("ageing measures time, and the command line has no clock of its own")
    check(case, run(Shell(url, case, tmp_path), case))
