"""A SQLite file that is deleted or replaced while a store has it open."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError

GONE = "deleted or replaced while it was open"
Lose = Callable[[Path], None]


def delete(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def replace(path: Path) -> None:
    """As a deploy does, or who restores a copy without a word to the programs."""
    copy = path.with_name("copy.db")
    with Store.open(f"sqlite:///{copy}") as other:
        other.send("jobs", "of the copy")
    delete(path)
    copy.rename(path)


@pytest.mark.parametrize("lose", [delete, replace])
def test_nothing_is_sent_into_a_file_that_is_gone(tmp_path: Path, lose: Lose) -> None:
    path = tmp_path / "work.db"
    with Store.open(f"sqlite:///{path}") as store:
        store.send("jobs", "1")
        lose(path)
        there = path.exists()
        for verb in (
            lambda: store.send("jobs", "2"),
            lambda: store.take("jobs"),
            store.queues,
            lambda: store.send("jobs", "3"),
        ):
            with pytest.raises(StoreError, match=GONE):
                verb()
        assert path.exists() == there, "a new file was made"
    with Store.open(f"sqlite:///{path}") as store:
        assert [each.messages for each in store.queues()] == ([1] if there else [])
        store.send("jobs", "4")


def test_a_file_that_only_was_written_by_others_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    with Store.open(f"sqlite:///{path}") as store:
        store.send("jobs", "1")
        connection = sqlite3.connect(path)
        connection.execute("VACUUM")
        connection.close()
        store.send("jobs", "2")
        assert [each.messages for each in store.queues()] == [2]


def test_a_joined_connection_to_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    with Store.open(f"sqlite:///{path}") as store:
        connection = sqlite3.connect(path)
        with store.join(connection) as joined:
            joined.send("jobs", "1")
        connection.commit()
        delete(path)
        with pytest.raises(StoreError, match=GONE), store.join(connection) as joined:
            joined.send("jobs", "2")
        connection.close()


def test_tasks_send_nothing_into_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "work.db"

    async def sent() -> None:
        async with await AsyncStore.open(f"sqlite:///{path}") as store:
            await store.send("jobs", "1")
            delete(path)
            with pytest.raises(StoreError, match=GONE):
                await store.send("jobs", "2")
            with pytest.raises(StoreError, match=GONE):
                await store.take("jobs")

    asyncio.run(sent())
