"""Dead letters by their reason: counted, listed, sent again, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import MessageError
from tests.stores import made_url

REASONS = ("late", "Rotten: 1", "late", "late", "Rotten: 2", "100%", "late")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as found:
        found.send_many("q", [{"body": "", "id": str(k)} for k in range(len(REASONS))])
        for work, reason in zip(found.take_many("q", len(REASONS)), REASONS, strict=True):
            next(work)
            work.reject(reason)
        yield found


def left(store: Store) -> list[str]:
    return [each.id for each in store.dead("q")]


def test_they_are_counted_by_reason(store: Store) -> None:
    found = store.dead_counts("q")
    assert found == (7, 4, {"late": 4, "100%": 1, "Rotten: 1": 1, "Rotten: 2": 1})
    assert next(iter(found.by_reason)) == "late"
    assert store.dead_counts("q", 1) == (7, 4, {"late": 4})
    assert store.dead_counts("q", reason="Rotten") == (2, 2, {"Rotten: 1": 1, "Rotten: 2": 1})
    assert store.dead_counts("q", reason="none") == (0, 0, {})


@pytest.mark.parametrize(
    ("reason", "ids"),
    [
        ("Rotten", ["1", "4"]),
        ("Rotten: 2", ["4"]),
        ("100%", ["5"]),
        ("%", []),
        ("_", []),
        ("rotten", []),
        ("otten", []),
    ],
)
def test_a_reason_is_meant_by_its_beginning_as_it_is_written(
    store: Store, reason: str, ids: list[str]
) -> None:
    assert [each.id for each in store.dead("q", reason=reason)] == ids


@pytest.mark.parametrize("step", [1, 2, 3, 5000])
def test_those_of_a_reason_go_in_portions_and_all_others_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", step)
    assert store.requeue("q", reason="late") == 4
    assert left(store) == ["1", "4", "5"]
    assert store.queues()[0].messages == 4
    assert store.discard("q", reason="Rotten") == 2
    assert left(store) == ["5"]
    assert store.discard("q") == 1


def test_a_portion_that_others_have_emptied_is_not_the_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairlead.store.admin import dead_letters

    monkeypatch.setattr(dead_letters, "STEP", 2)
    drop = dead_letters._taken_out
    before = [True]

    def taken_out(database: Any, queue: Any, chosen: Any) -> Any:
        rows, after = drop(database, queue, chosen)
        return (rows[:-1] if before.pop() else rows) if before else rows, after

    monkeypatch.setattr(dead_letters, "_taken_out", taken_out)
    store.discard("q", reason="late")
    assert left(store) == ["1", "4", "5"]


@pytest.mark.parametrize("reason", ["", 5, "a\0b"])
def test_a_reason_that_is_none_is_refused(store: Store, reason: Any) -> None:
    for verb in (store.dead, store.dead_counts, store.requeue, store.discard):
        with pytest.raises(MessageError, match=r"reason: found .*the text with which it begins"):
            verb("q", reason=reason)


def test_ids_and_a_reason_are_refused_together(store: Store) -> None:
    for verb in (store.requeue, store.discard):
        with pytest.raises(MessageError, match="found ids and reason, allowed: one of them"):
            verb("q", ["1"], reason="late")


def test_asyncio_has_the_same(store: Store, url: str) -> None:
    async def all_of_it() -> None:
        async with await AsyncStore.open(url) as found:
            assert (await found.dead_counts("q", 1)).by_reason == {"late": 4}
            assert len(await found.dead("q", reason="Rotten")) == 2
            assert await found.requeue("q", reason="Rotten") == 2
            assert await found.discard("q", reason="late") == 4
            assert await found.purgeable("q") == 2

    asyncio.run(all_of_it())
    assert left(store) == ["5"]
