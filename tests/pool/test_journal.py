"""A pool's journal, written as users write it, and read back by replay and explain."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyarrow.json import read_json

from fairlead import Change, Cluster, Pool, PoolRow, load_changes
from fairlead.errors import NoDestinationError, PoolError, PoolTimeoutError, UserError
from fairlead.pipeline.questions.explain import why_in_journal
from fairlead.replay import replay

POLICIES = ("fewest-pending", "weighted", "nanomsg", "rendezvous")


def cluster_of(policy: str) -> Cluster:
    more = {"capacity": 2} if policy == "nanomsg" else {}
    return Cluster.of(
        policy,
        name="gpus",
        order={"discipline": "priority", "ageing": 5},
        destination=[{"name": name, "readers": 2, **more} for name in ("a", "b", "c")],
    )


async def busy(pool: Pool, random: Random) -> None:
    """Sixty blocks of a few groups, some of which raise theirs, and one outage."""

    async def one(k: int) -> None:
        await asyncio.sleep(random.random() / 20)
        group = random.choice(["", "kim", "lee", "mia"])
        priority = random.choice([None, None, 3, 200])
        async with pool.acquire(id=f"m{k:02}", group=group, priority=priority):
            await asyncio.sleep(random.random() / 50)

    async def outage() -> None:
        await asyncio.sleep(0.02)
        pool.apply(Change("b", "state", "down"))
        await asyncio.sleep(0.03)
        pool.apply(Change("b", "state", "up"))

    await asyncio.gather(*map(one, range(60)), outage())


def written(rows: list[PoolRow], place: Path) -> Path:
    place.write_text("".join(json.dumps(row.to_dict()) + "\n" for row in rows), "utf-8")
    return place


def recorded(policy: str, seed: int) -> list[PoolRow]:
    pool = Pool(cluster_of(policy), journal=True)
    asyncio.run(busy(pool, Random(seed)))  # noqa: S311
    assert pool.drain(5)
    return pool.journal()


@pytest.mark.costly
@pytest.mark.parametrize("policy", POLICIES)
def test_a_replay_of_the_journal_is_what_happened(policy: str, tmp_path: Path) -> None:
    rows = recorded(policy, 1)
    place = written(rows, tmp_path / "journal.jsonl")
    found = replay(read_json(place), cluster_of(policy), load_changes(place)).to_pylist()
    names = ("id", "destination", "outcome", "sequence", "attempt", "reader", "start", "finish")
    live = sorted(
        tuple(getattr(row, name) for name in names) for row in rows if row.outcome == "routed"
    )
    assert sorted(tuple(row[name] for name in names) for row in found if row["reader"]) == live
    assert len(live) == 60


@pytest.mark.parametrize("policy", POLICIES)
def test_explain_goes_through_the_journal(policy: str, tmp_path: Path) -> None:
    rows = recorded(policy, 2)
    place = written(rows, tmp_path / "journal.jsonl")
    for name in ("m00", "m31", "m59"):
        found = why_in_journal(place, name, cluster_of(policy))
        (row,) = [row for row in rows if row.id == name]
        assert found.destinations == [row.destination]
        assert found.sequence == row.sequence


async def troubled(pool: Pool, random: Random) -> None:
    """Blocks that fail, try again, give up and are cancelled, while destinations fail."""

    async def one(k: int) -> None:
        await asyncio.sleep(random.random() / 20)
        timeout = random.choice([None, None, 0.001])
        with suppress(PoolTimeoutError, NoDestinationError):
            async with pool.acquire(id=f"m{k:02}", group=f"g{k % 5}", timeout=timeout) as decision:
                await asyncio.sleep(random.random() / 50)
                if decision.lost or k % 9 == 0:
                    await decision.aretry()
                if k % 7 == 0:
                    decision.failed()

    async def outages() -> None:
        for name in ("a", "b", "c", "a"):
            await asyncio.sleep(0.01)
            pool.apply([Change(name, "state", "failed"), Change(name, "state", "up")])

    tasks = [asyncio.create_task(one(k)) for k in range(60)]
    await outages()
    for task in tasks[::10]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_explain_goes_through_a_journal_of_failures(policy: str, tmp_path: Path) -> None:
    pool = Pool(cluster_of(policy), journal=True)
    asyncio.run(troubled(pool, Random(4)))  # noqa: S311
    assert pool.drain(5)
    rows = pool.journal()
    place = written(rows, tmp_path / "journal.jsonl")
    ended = {row.outcome for row in rows}
    assert {"routed", "failed", "rolled-back", "changed"} <= ended
    assert ("lost" if policy == "nanomsg" else "released") in ended
    decided = {row.id: row for row in rows if row.id and row.decided is not None}
    for name in sorted(decided)[::7]:
        last = [row for row in rows if row.id == name and row.decided is not None][-1]
        assert why_in_journal(place, name, cluster_of(policy)).destinations == [last.destination]


def test_a_journal_without_a_row_is_not_explained(tmp_path: Path) -> None:
    rows = recorded("fewest-pending", 3)
    place = written(rows[1:], tmp_path / "journal.jsonl")
    with pytest.raises(UserError, match="found a"):
        why_in_journal(place, "m59", cluster_of("fewest-pending"))


@pytest.fixture(params=[False, True])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[Pool, Callable[[], list[Any]]]]:
    """A pool, and how to get its journal: kept by it, or by a function."""
    if request.param:
        rows: list[PoolRow] = []
        yield Pool(cluster_of("nanomsg"), journal=rows.append), lambda: rows
    else:
        pool = Pool(cluster_of("nanomsg"), journal=True)
        yield pool, pool.journal


def test_each_attempt_has_a_row(kept: tuple[Pool, Callable[[], list[Any]]]) -> None:
    pool, journal = kept
    with pool.acquire(id="x", priority=7) as decision:
        decision.retry()
        assert decision.attempt == 2
    rows = [row for row in journal() if row.id == "x"]
    assert [(row.attempt, row.outcome) for row in rows] == [(1, "rolled-back"), (2, "routed")]
    assert rows[0].decided == rows[1].decided
    assert rows[0].message == {"id": "x", "priority": 7, "rollbacks": 1} | {
        "service_time": rows[0].message["service_time"]
    }


def test_whoever_gives_up_stands_in_the_journal() -> None:
    pool = Pool(Cluster.of("weighted", destination=[{"name": "a"}]), journal=True)
    with pool.acquire(id="first"), pytest.raises(TimeoutError), pool.acquire(id="x", timeout=0):
        raise AssertionError
    (row,) = [row for row in pool.journal() if row.id == "x"]
    assert (row.outcome, row.destination, row.start) == ("timeout", "a", None)


def test_what_is_open_is_in_the_journal_that_is_kept() -> None:
    pool = Pool(cluster_of("weighted"), journal=True)
    with pool.acquire(id="x"):
        (row,) = pool.journal()
        assert (row.id, row.outcome, row.finish) == ("x", "routed", None)


def test_a_journal_that_fails_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def full(row: PoolRow) -> None:
        raise OSError(28, "No space left on device")

    pool = Pool(Cluster.of("weighted", destination=[{"name": "a"}]), journal=full)
    for _ in range(3):
        with pool.acquire():
            pass
    assert pool.counts().ended == {"routed": 3}
    (record,) = caplog.records
    assert record.getMessage().startswith("the journal of a pool fails")


def test_without_a_journal_there_is_none() -> None:
    with pytest.raises(PoolError, match="none is kept"):
        Pool(cluster_of("weighted")).journal()
