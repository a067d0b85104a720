"""A pool leaves a destination alone that fails, and a block can go elsewhere."""

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.stores import Clock

from fairlead import Balancer, Change, Cluster, Pool
from fairlead.balance.health import HealthRecord
from fairlead.errors import MessageError, NoDestinationError


def cluster(*names: str, policy: str = "round-robin", **more: Any) -> Cluster:
    return Cluster.of(policy, destination=[{"name": name} for name in names], **more)


def use(pool: Pool, *bad: str, **more: Any) -> str:
    with pool.acquire(**more) as decision:
        if decision.destination in bad:
            decision.failed()
        return decision.destination


def named(row: Any) -> str:
    return str(row.target).removeprefix("destination:")


def test_one_that_fails_is_left_alone_and_tried(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    pool = Pool(
        cluster("a", "b", health={"failures": 2, "cool_down": 10}), journal=True, clock=clock
    )
    caplog.set_level(logging.WARNING, "fairlead.pool")
    assert [use(pool, "a") for _ in range(8)] == ["a", "b", "a", "b", "b", "b", "b", "b"]
    clock.now += 9
    assert [use(pool, "a") for _ in range(2)] == ["b", "b"]
    clock.now += 1.1
    assert "a" in [use(pool, "a") for _ in range(2)]  # on trial, and it fails
    assert [use(pool, "a") for _ in range(4)] == ["b"] * 4
    clock.now += 19
    assert [use(pool) for _ in range(2)] == ["b", "b"]
    clock.now += 1.1
    assert sorted(use(pool) for _ in range(4)) == ["a", "a", "b", "b"]
    found = [(named(row), row.value) for row in pool.journal() if row.outcome == "changed"]
    assert found == [("a", "down"), ("a", "up"), ("a", "down"), ("a", "up")]
    assert 'state=down reason="2 failures in a row within' in caplog.messages[0]


def test_who_says_how_it_is_is_heard() -> None:
    clock = Clock()
    pool = Pool(cluster("a", "b", health={"failures": 1, "at_most": 1}), journal=True, clock=clock)
    assert use(pool, "a") == "a"
    pool.apply(Change("a", "state", "up"))
    assert "a" in {use(pool) for _ in range(2)}
    pool.apply(Change("b", "state", "down"))
    clock.now += 1000
    assert {use(pool) for _ in range(3)} == {"a"}
    assert [row.value for row in pool.journal() if row.outcome == "changed"] == [
        "down",
        "up",
        "down",
    ]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 8), st.sets(st.sampled_from("abc"))), max_size=40))
@example([(0, {"a"}), (0, set()), (0, set()), (1, {"a"}), (5, set()), (0, set())])
def test_the_same_outcomes_have_the_same_changes_and_the_journal_the_same_decisions(
    steps: list[tuple[int, set[str]]],
) -> None:
    options: dict[str, Any] = {"failures": 2, "within": 20, "cool_down": 5, "at_most": 0.67}
    farm, clock = cluster("a", "b", "c", health=options), Clock()
    pool = Pool(farm, journal=True, clock=clock)
    record = HealthRecord(farm.tables.health)  # type: ignore[attr-defined]
    for passed, bad in steps:
        clock.now += passed + 0.01  # what is due is so by the clock; ties have later times
        use(pool, *bad)
    rows = [row for row in pool.journal() if row.outcome != "completed"]
    balancer, found, again = Balancer(farm), [], []
    for row in rows:
        if row.outcome == "changed":
            balancer.apply(Change(row.target or "", "state", row.value))
            found.append((named(row), row.value))
        else:
            again.append((row.destination, balancer.choose().destination))
    assert all(one == other for one, other in again)
    replayed = []
    for row in rows:
        now = round((row.finish or row.time or 0) * 1_000_000)
        if row.outcome == "changed":
            continue
        started = round((row.start or 0) * 1_000_000)
        while record.due is not None and record.due <= started:
            replayed += [(made.destination, made.state) for made in record.try_due(record.due)]
        made = (
            record.failed(row.destination or "", "abc", now, "x")
            if row.outcome == "failed"
            else record.succeeded(row.destination or "", now)
        )
        if made is not None and made.state is not None:
            replayed.append((made.destination, made.state))
    assert replayed == found


def test_a_block_goes_elsewhere() -> None:
    pool = Pool(cluster("a", "b", "c"))
    with pool.acquire() as decision:
        seen = [decision.destination]
        for _ in range(2):
            decision.retry(elsewhere=True)
            seen.append(decision.destination)
        assert sorted(seen) == ["a", "b", "c"]
        assert decision.attempt == 3
        with pytest.raises(NoDestinationError):
            decision.retry(elsewhere=True)
    assert all(counts.working == 0 for counts in pool.counts().destinations.values())


def test_a_coroutine_goes_elsewhere_and_what_is_pending_is_counted_right() -> None:
    async def main() -> list[str]:
        pool = Pool(cluster("a", "b", policy="fewest-pending"))
        async with pool.acquire() as decision:
            first = decision.destination
            await decision.aretry(elsewhere=True)
            async with pool.acquire() as other:
                return [first, decision.destination, other.destination]

    first, second, other = asyncio.run(main())
    assert second != first
    assert other == first  # nothing is pending there


def test_a_group_goes_elsewhere_and_those_behind_it_go_on() -> None:
    pool = Pool(cluster("a", "b", options={"affinity": "group"}))
    with pool.acquire(group="g") as decision:
        bound = decision.destination
        decision.retry(elsewhere=True)
        assert decision.destination != bound
    assert use(pool, group="g") != bound  # it follows its group


def test_names_can_be_avoided() -> None:
    pool = Pool(cluster("a", "b", "c"))
    assert {use(pool, avoid=["a", "c"]) for _ in range(3)} == {"b"}
    with pytest.raises(NoDestinationError), pool.acquire(avoid=["a", "b", "c"]):
        pass
    ring = Pool(cluster("a", policy="nanomsg"))
    with pytest.raises(NoDestinationError), ring.acquire(avoid=["a"]):
        pass


@pytest.mark.parametrize(
    ("avoid", "line"),
    [
        ("ab", "avoid: found 'ab', allowed: a list of names"),
        (["x"], "avoid: found 'x', allowed: a, b"),
        (7, "avoid: found 7, allowed: a list of names"),
    ],
)
def test_what_is_no_name_is_refused(avoid: Any, line: str) -> None:
    with pytest.raises(MessageError) as found:
        Pool(cluster("a", "b")).acquire(avoid=avoid)
    assert line in str(found.value)
