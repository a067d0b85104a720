"""The connection is lost while something is taken: what was taken comes back, and nothing failed.

A proxy between the store and PostgreSQL cuts the connection once the server has done what it was
asked, before it can say so.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from fairlead.store.aio.lots import FEW
from fairlead.store.queues import unanswered
from fairlead.store.queues.leases import LOOK
from fairlead.store.queues.postgresql_engine import PostgresqlEngine
from tests.proxies import Proxy
from tests.stores import made_url

WAIT = 60.0
"""Seconds; much less than the lease."""
LEASE = 3600.0
TAKE = "fairlead._take("
LIMITS = "limit = [{ in_work = 100 }]"
doors = pytest.mark.parametrize("limits", ["", LIMITS], ids=["plain", "limited"])


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "FIRST", 0.05)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(made_url("postgresql")) as found:
        yield found


@pytest.fixture
def store(proxy: Proxy) -> Iterator[Store]:
    """Behind the proxy."""
    with Store.open(proxy.url) as found:
        yield found


def declare(store: Store, folder: Path, limits: str = "") -> None:
    """A queue in which whatever has failed once is a dead letter."""
    (folder / "queue.toml").write_text(f"[[queue]]\nname = 'q'\nmax_failures = 1\n{limits}")
    store.declare(folder / "queue.toml")


def lose_a_take(store: Store, proxy: Proxy) -> None:
    store.claim(LEASE)
    store.tend("q")
    proxy.cut(TAKE, passes_on=True)
    with pytest.raises(StoreError):
        store.take("q", lease=LEASE)
    assert proxy.cuts == 1


def look_often(store: Store) -> None:
    """Long enough that what nobody knows is given back."""
    for _ in range(4):
        store.ready("q")
        time.sleep(LOOK)
    store.ready("q")


@pytest.mark.costly
@doors
def test_what_nobody_was_told_of_is_taken_soon_and_has_not_failed(
    limits: str, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    declare(store, tmp_path, limits)
    store.send("q", 1, group="g")
    lose_a_take(store, proxy)
    assert [work.group for work in store.working("q")] == ["g"]
    work = store.take("q", wait=WAIT)
    assert work is not None
    with work:
        assert [message.body for message in work] == [1]
    assert store.dead("q") == []


@pytest.mark.slow
@doors
def test_what_others_of_its_process_have_in_hand_stays_there(
    limits: str, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    declare(store, tmp_path, limits)
    for group in "ab":
        store.send("q", group, group=group)
    mine = store.take("q", lease=LEASE)
    lose_a_take(store, proxy)
    again = store.take("q", wait=WAIT, lease=LEASE)
    assert mine is not None
    assert again is not None
    assert (mine.group, again.group) == ("a", "b")
    look_often(store)
    for work in (mine, again):
        with work:
            assert [message.body for message in work] == [work.group]


@pytest.mark.slow
def test_what_a_take_still_brings_is_waited_for(proxy: Proxy, store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path)
    store.send("q", "a", group="a")
    with store.taking() as took:
        claim = store.claim(LEASE)
        with store.transaction() as tx:
            found = tx.take_now("q", claim)
        lose_a_take(store, proxy)
        look_often(store)
        assert store.outcome(found[0].token) == "held"
        took(found)
    look_often(store)
    assert store.outcome(found[0].token) == "held"


@pytest.mark.slow
def test_what_cannot_be_given_back_at_once_is_given_back_later(
    proxy: Proxy, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(store, tmp_path)
    store.send("q", 1, group="g")
    lose_a_take(store, proxy)
    gives_back, failures = PostgresqlEngine.take_back, []

    def fails_at_first(*given: Any, **more: Any) -> None:
        if len(failures) < 2:
            failures.append(1)
            raise StoreError("gone")
        gives_back(*given, **more)

    monkeypatch.setattr(PostgresqlEngine, "take_back", fails_at_first)
    work, until = None, time.monotonic() + WAIT
    while work is None and time.monotonic() < until:
        with suppress(StoreError):
            work = store.take("q", wait=1)
    assert work is not None
    assert len(failures) == 2
    with work:
        assert [message.body for message in work] == [1]


def test_it_goes_back_when_its_store_is_closed(proxy: Proxy, store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path)
    store.send("q", 1, group="g")
    with Store.open(proxy.url) as other:
        lose_a_take(other, proxy)
    work = store.take("q")
    assert work is not None
    with work:
        assert [message.body for message in work] == [1]
    assert store.dead("q") == []


@pytest.mark.costly
@doors
def test_the_same_on_an_event_loop(limits: str, proxy: Proxy, store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, limits)
    for group in "ab":
        store.send("q", group, group=group)

    async def run() -> None:
        async with await AsyncStore.open(proxy.url) as mine:
            first = await mine.take("q", lease=LEASE)
            proxy.cut(TAKE, passes_on=True)
            with pytest.raises(StoreError):
                await mine.take("q", lease=LEASE)
            again = await mine.take("q", wait=WAIT, lease=LEASE)
            await asyncio.sleep(LOOK)
            await mine.ready("q")
            for work, group in ((first, "a"), (again, "b")):
                assert work is not None
                async with work:
                    assert [message.body async for message in work] == [group]

    asyncio.run(run())
    assert store.dead("q") == []


@pytest.mark.slow
def test_what_many_tasks_take_in_one_transaction_comes_back_to_them(
    proxy: Proxy, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(store, tmp_path)
    store.send_many("q", [{"body": n} for n in range(200)])
    done: list[int] = []
    failures: list[StoreError] = []

    async def run() -> None:
        async with await AsyncStore.open(proxy.url) as mine:
            together = mine.plain._take_together

            def lost_once(*given: Any) -> Any:
                found = together(*given)
                if not failures and any(held for held, _ in found):
                    mine.plain._connections.losses += 1
                    raise StoreError("the answer was lost")
                return found

            monkeypatch.setattr(mine.plain, "_take_together", lost_once)

            async def read() -> None:
                while len(done) < 200:
                    try:
                        work = await mine.take("q", wait=1, lease=LEASE)
                    except StoreError as error:
                        failures.append(error)
                        continue
                    if work is not None:
                        async with work:
                            done.extend([message.body async for message in work])

            async with asyncio.timeout(WAIT):
                await asyncio.gather(*(read() for _ in range(60)))

    asyncio.run(run())
    assert len(failures) > FEW
    assert sorted(done) == list(range(200))
    assert store.dead("q") == []
