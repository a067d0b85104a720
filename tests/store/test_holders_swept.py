"""Processes that are gone leave nothing behind; those that live are not forgotten."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.store.queues import leases as custody
from tests.store.sql import holders, until_gone

DIES = """
import os, sys
from fairlead import Store
store = Store.open(sys.argv[1])
if sys.argv[2] == "holding":
    assert store.take("q") is not None
else:
    assert store.take("empty") is None
os.kill(os.getpid(), 9)
"""


def killed(url: str, what: str) -> None:
    """A process that takes, and is killed."""
    subprocess.run([sys.executable, "-c", DIES, url, what], check=False)


def lock_files(url: str) -> int:
    """Beside a file; a server has none."""
    if url.startswith("postgresql"):
        return 0
    file = Path(url.removeprefix("sqlite:///"))
    return len(list(file.parent.glob(f"{file.name}-holder-*")))


def test_who_closes_a_store_is_no_holder_any_more(url: str) -> None:
    for _ in range(3):
        with Store.open(url) as store:
            assert store.take("q") is None
    assert holders(url) == 0
    assert lock_files(url) == 0


def test_who_still_holds_work_is_known_after_it_has_closed_the_store(url: str) -> None:
    with Store.open(url) as store:
        store.send("q", "body")
        assert store.take("q") is not None
    assert holders(url) == 1
    with Store.open(url) as store:
        work = store.take("q")
        assert work is not None, "it was taken back"
        assert work.attempt == 2
        work.accept()
    assert holders(url) == 0


def test_processes_that_were_killed_are_forgotten(url: str, opened: Callable[..., Store]) -> None:
    store = opened(url)
    assert store.take("q") is None
    for _ in range(2):
        killed(url, "nothing")
        until_gone(store, 1)
    assert holders(url) == 3 - 1, "each forgets those before it"
    other = opened(url)
    assert other.take("q") is None
    assert holders(url) == 2
    assert lock_files(url) == (0 if url.startswith("postgresql") else 2)


def test_who_takes_for_long_forgets_them_too(
    url: str, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(url)
    store.send("q", "body")
    work = store.take("q")
    killed(url, "nothing")
    until_gone(store, 1)
    monkeypatch.setattr(custody, "LOOK", 0)
    assert store.take("q") is None
    assert holders(url) == 2, "it has looked not long ago"
    monkeypatch.setattr(custody, "SWEEP", 0)
    assert store.take("q") is None
    assert holders(url) == 1
    assert work is not None
    work.accept()
    assert store.check() == []


def test_the_work_of_a_process_that_was_killed_is_not_forgotten_with_it(
    url: str, opened: Callable[..., Store]
) -> None:
    store = opened(url)
    store.send("q", "body")
    killed(url, "holding")
    other = opened(url)
    assert other.take("empty") is None, "which makes it a holder, and look for those that are gone"
    assert holders(url) == 2
    work = other.take("q")
    assert work is not None
    assert work.attempt == 2
