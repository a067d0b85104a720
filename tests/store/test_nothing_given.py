"""Work of which nothing was given: to reject it, or to end well with it, would do nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import MessageError
from tests.stores import made_url

NOTHING = "work on group 'a': found nothing of it given, allowed: to iterate over it first"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


def state(store: Store) -> tuple[int, int, int, int]:
    (found,) = store.queues()
    return found.messages, found.working, found.dead, found.failures


def test_a_block_that_never_asked_for_a_message_says_so_and_gives_all_back(url: str) -> None:
    with Store.open(url) as store:
        store.send("q", 1, group="a", priority=200)
        work = store.take("q")
        assert work is not None
        with pytest.raises(MessageError, match=NOTHING), work:
            pass
        assert state(store) == (1, 0, 0, 0)
        assert store.waiting("q").ranks[0].priority == 200


def test_a_rejection_of_nothing_is_refused_and_the_work_goes_on(url: str) -> None:
    with Store.open(url) as store:
        store.send("q", 1, group="a")
        work = store.take("q")
        assert work is not None
        with pytest.raises(MessageError, match=NOTHING):
            work.reject("the account is closed")
        with pytest.raises(MessageError, match=NOTHING), store.transaction() as tx:
            tx.reject("the account is closed", work)
        assert state(store) == (1, 1, 0, 0)
        with work:
            assert [message.body for message in work] == [1]
        assert state(store) == (0, 0, 0, 0)


def test_a_task_is_told_the_same(url: str) -> None:
    async def story() -> Any:
        async with await AsyncStore.open(url) as store:
            await store.send("q", 1, group="a")
            work = await store.take("q")
            with pytest.raises(MessageError, match=NOTHING):
                await work.reject("the account is closed")
            with pytest.raises(MessageError, match=NOTHING):
                async with work:
                    pass
            (found,) = await store.queues()
            return found.messages, found.working, found.failures

    assert asyncio.run(story()) == (1, 0, 0)


def test_a_failure_of_a_task_has_the_delay_that_its_queue_says(url: str, tmp_path: Path) -> None:
    file = tmp_path / "q.toml"
    file.write_text('[[queue]]\nname = "q"\n[queue.retry]\nbase = 100\n')

    async def story() -> Any:
        async with await AsyncStore.open(url) as store:
            await store.declare(file)
            for release in ("work", "transaction"):
                await store.send("q", 1, group=release)
                work = await store.take("q")
                [message async for message in work]
                if release == "work":
                    await work.release(error="no answer")
                else:
                    async with work.transaction() as tx:
                        await tx.release(error="no answer")
            return [rank.group for rank in (await store.waiting("q")).ranks]

    assert asyncio.run(story()) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "given: found NULL"),
        (", 'rejected'", "given: found NULL"),
        (", 'rejected', given => '{}'", "work on group 'a': found nothing of it given"),
        (", given => '{}'", "work on group 'a': found nothing of it given"),
        (", given => ARRAY[NULL]::bigint[]", "given: found NULL"),
        (", given => ARRAY[%(other)s]", "a message of another group"),
    ],
)
def test_sql_settles_what_was_given_of_this_group_and_nothing_else(
    arguments: str, why: str
) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, psycopg.connect(url, autocommit=True) as connection:
        for group in ("a", "b"):
            store.send("q", group, group=group)
        token, number = connection.execute(
            "SELECT token, number FROM fairlead.take('q')"
        ).fetchone() or (0, 0)
        values = {"token": token, "other": number + 1}
        with pytest.raises(psycopg.DatabaseError, match=why) as refused:
            connection.execute(f"SELECT fairlead.settle(%(token)s{arguments})".encode(), values)
        assert refused.value.sqlstate == "FL001"
        connection.execute("SELECT fairlead.settle(%s, given => ARRAY[%s])", (token, number))
        assert state(store) == (1, 0, 0, 0)


def test_sql_takes_from_a_queue_that_there_is() -> None:
    with psycopg.connect(made_url("postgresql"), autocommit=True) as connection:
        for name in ("typo", None):
            with pytest.raises(psycopg.DatabaseError, match="allowed: one that there is"):
                connection.execute("SELECT * FROM fairlead.take(%s)", (name,))


@pytest.mark.parametrize("found", [5, "m-1", b"x", object()])
def test_what_is_no_message_is_not_rejected(found: Any, url: str) -> None:
    async def story() -> None:
        async with await AsyncStore.open(url) as store:
            work = await store.take("q")
            assert work is not None
            assert [each.body async for each in work] == [1]
            with pytest.raises(MessageError, match="allowed: one that this work has given"):
                await work.reject("why", found)

    with Store.open(url) as store:
        store.send("q", 1)
        work = store.take("q")
        assert work is not None
        next(work)
        with pytest.raises(MessageError, match="allowed: one that this work has given"):
            work.reject("why", found)
        work.release()
    asyncio.run(story())
