"""A login of the server that has no right in the store: what it can do there, and what not."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StoreError
from tests.store.roles import UrlOf, store_with_roles

# The locks of this database alone: sessions of an earlier test may still be ending on the server.
KEYS = (
    "SELECT objid::int FROM pg_locks WHERE locktype = 'advisory' AND classid = 1181641069 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
READER = """
import sys
from fairlead import Store
store = Store.open(sys.argv[1])
work = store.take("q", lease=600)
print("taken", [message.body for message in work], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def url_of() -> UrlOf:
    return store_with_roles()


@pytest.fixture
def stranger(url_of: UrlOf) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url_of("nobody"), autocommit=True) as connection:
        yield connection


def test_the_work_of_a_killed_reader_comes_back_whoever_holds_locks_like_his(
    url_of: UrlOf, stranger: psycopg.Connection[Any], opened: Callable[..., Store]
) -> None:
    store = opened(url_of("owner"))
    store.send("q", "x", group="g")
    command = [sys.executable, "-c", READER, url_of("owner")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"taken ['x']\n"
        keys = [key for (key,) in stranger.execute(KEYS).fetchall()]
        assert keys
        for key in {*keys, *range(20)}:
            stranger.execute("SELECT pg_advisory_lock_shared(1181641069, %s)", [key])
        assert store.take("q") is None
        reader.kill()
    assert store.take("q", wait=60) is not None


def test_a_new_reader_waits_for_no_lock_of_others(
    url_of: UrlOf,
    stranger: psycopg.Connection[Any],
    opened: Callable[..., Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stranger.execute("SELECT pg_advisory_lock(1181641069, g) FROM generate_series(0, 500) g")
    keys = iter([7, 8, 1_000_000])
    monkeypatch.setattr("secrets.randbits", lambda _: next(keys))
    store = opened(url_of("worker"))
    store.send("q", "x")
    assert store.take("q") is not None
    assert (1_000_000,) in stranger.execute(KEYS).fetchall()


def test_where_every_lock_is_taken_a_reader_is_told_so(
    url_of: UrlOf,
    stranger: psycopg.Connection[Any],
    opened: Callable[..., Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stranger.execute("SELECT pg_advisory_lock(1181641069, 7)")
    monkeypatch.setattr("secrets.randbits", lambda _: 7)
    store = opened(url_of("worker"))
    store.send("q", "x")
    with pytest.raises(StoreError, match="in the hands of others"):
        store.take("q")
    stranger.execute("SELECT pg_advisory_unlock_all()")
    assert store.take("q") is not None
    assert stranger.execute(KEYS).fetchall() == [(7,)]
