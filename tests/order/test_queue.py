"""The contract of a queue, told as stories that every implementation has to tell alike."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from random import Random
from typing import Any, TypeAlias

import pytest
from tests.stores import SqlQueue, queue_on

from fairlead import Agenda, Work
from fairlead.errors import MessageError
from fairlead.order.queue import WorkQueue

Make: TypeAlias = Callable[..., WorkQueue]
"""discipline, default_priority, ageing, weights -> an empty queue."""
QUEUES: dict[str, Make] = {
    "memory": Agenda,
    "sqlite": queue_on("sqlite"),
    "postgresql": queue_on("postgresql"),
    "plain-sql": SqlQueue,
}


@pytest.fixture(params=QUEUES)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(*order: Any, **more: Any) -> WorkQueue:
            queue = QUEUES[request.param](*order, **more)
            stack.callback(getattr(queue, "close", lambda: None))
            return queue

        yield made


@pytest.fixture
def queue(make: Make) -> WorkQueue:
    return make()


def taken(queue: WorkQueue, now: float = 0) -> Work:
    """Work that must be there."""
    work = queue.take(now)
    assert work is not None
    return work


def drained(queue: WorkQueue) -> list[Any]:
    """All items, in the order in which one reader takes them."""
    items: list[Any] = []
    while (work := queue.take(0)) is not None:
        items += work
        work.accept()
    return items


# -------- the order


def test_raised_groups_go_first_then_the_others_as_they_came(queue: WorkQueue) -> None:
    for now, name in enumerate(["a", "b", "c", "d", "e"]):
        queue.send(name, name, now)
    assert queue.prioritise("d", 5, 20)
    assert queue.prioritise("c", 6, 20)
    assert queue.prioritise("e", 7, 0)
    assert queue.prioritise("b", 8), "100, the default"
    assert drained(queue) == ["b", "d", "c", "e", "a"]


def test_events_of_one_moment_count_in_the_order_of_the_calls(queue: WorkQueue) -> None:
    for name in "abc":
        queue.send(name, name, 0)
    for name in "cb":
        queue.prioritise(name, 0, 5)
    assert drained(queue) == ["c", "b", "a"]


def test_a_raise_takes_the_group_along_and_its_items_keep_their_order(queue: WorkQueue) -> None:
    for now, (group, item) in enumerate([("a", 1), ("b", 2), ("b", 3), ("a", 4)]):
        queue.send(group, item, now)
    queue.send("b", 5, 4, priority=0)
    assert drained(queue) == [2, 3, 5, 1, 4]


def test_an_item_without_a_group_is_a_group_of_its_own(queue: WorkQueue) -> None:
    queue.send("", 1, 0)
    queue.send(None, 2, 0)
    queue.send("", 3, 0, priority=1)
    first, second = taken(queue), taken(queue)
    assert (first.group, first.priority, list(first)) == ("", 1, [3])
    assert (second.group, second.priority, list(second)) == ("", None, [1])
    assert not queue.prioritise("", 0)


def test_a_group_raised_again_stands_behind_its_equals(queue: WorkQueue) -> None:
    for name in "abc":
        queue.send(name, name, 0, priority=7)
    queue.prioritise("a", 1, 7)
    queue.prioritise("c", 1, 3)
    assert drained(queue) == ["b", "a", "c"]


def test_first_come_first_served_heeds_no_priority(make: Make) -> None:
    queue = make("fifo")
    queue.send("a", "a", 0)
    queue.send("b", "b", 0, priority=255)
    assert not queue.prioritise("b", 0)
    assert drained(queue) == ["a", "b"]


def test_with_ageing_a_priority_is_a_head_start_from_the_arrival(make: Make) -> None:
    queue = make(ageing=1, default_priority=3)
    queue.send("old", "old", 0)
    queue.send("raised", "raised", 3.999999)
    queue.send("late", "late", 4)
    assert queue.prioritise("raised", 100)
    assert queue.prioritise("late", 100)
    assert drained(queue) == ["raised", "old", "late"]


def test_time_does_not_go_back(make: Make) -> None:
    queue = make(ageing=1)
    queue.send("a", "a", 10)
    queue.send("b", "b", 0, priority=0)
    queue.send("c", "c", 10.999999, priority=0)
    assert drained(queue) == ["b", "c", "a"]


def test_a_time_that_goes_back_overtakes_nobody(queue: WorkQueue) -> None:
    queue.send("a", "a", 10)
    queue.send("b", "b", 5)
    queue.prioritise("b", 4, 1)
    queue.prioritise("a", 3, 1)
    assert drained(queue) == ["b", "a"]


# -------- readers


def test_a_reader_gets_what_is_sent_while_it_works_and_nobody_else_does(queue: WorkQueue) -> None:
    queue.send("g", 1, 0)
    work = taken(queue, 5)
    assert (work.group, work.tenant, work.priority, work.taken, work.attempt) == (
        *("g", "", None),
        *(5, 1),
    )
    assert list(work) == [1]
    queue.send("g", 2, 6)
    assert queue.take(6) is None
    assert list(work) == [2]
    queue.send("g", 3, 7)
    work.accept()
    assert list(taken(queue)) == [3], "it was not given to the first reader"


def test_other_readers_pass_a_locked_group_over(queue: WorkQueue) -> None:
    queue.send("a", "a1", 0, priority=9)
    queue.send("b", "b", 1)
    queue.send("a", "a2", 2, priority=200)
    first, second = taken(queue), taken(queue)
    assert (first.group, second.group) == ("a", "b")
    assert queue.take(3) is None
    assert [work.group for work in queue.working()] == ["a", "b"]
    second.accept()
    assert [work.group for work in queue.working()] == ["a"]
    assert (first.priority, list(first)) == (200, ["a1", "a2"])


def test_accept_leaves_what_was_not_given(queue: WorkQueue) -> None:
    for item in range(5):
        queue.send("g", item, 0)
    queue.send("h", "h", 0)
    work = taken(queue)
    assert [next(work), next(work)] == [0, 1]
    work.accept()
    assert drained(queue) == [2, 3, 4, "h"], "as of its arrival"


def test_reject_takes_out_what_was_given_and_leaves_the_rest(queue: WorkQueue) -> None:
    for item in range(4):
        queue.send("g", item, 0, priority=7)
    queue.send("h", "h", 1)
    work = taken(queue)
    assert [next(work), next(work)] == [0, 1]
    assert work.reject() == [0, 1]
    assert drained(queue) == [2, 3, "h"]
    queue.send("g", "again", 2)
    work = taken(queue)
    with pytest.raises(MessageError, match="group 'g': found nothing of it given"):
        work.reject()
    work.accept()
    assert drained(queue) == ["again"]


def test_release_puts_everything_back_where_it_was(queue: WorkQueue) -> None:
    for now, name in enumerate(["a", "b", "c"]):
        queue.send(name, f"{name}1", now, priority=5)
    work = taken(queue)
    assert list(work) == ["a1"]
    queue.send("a", "a2", 3)
    assert list(work) == ["a2"]
    queue.send("a", "a3", 4)
    work.release()
    assert drained(queue) == ["a1", "a2", "a3", "b1", "c1"]


def test_a_raise_while_it_is_worked_on_counts_after_a_release(queue: WorkQueue) -> None:
    queue.send("a", "a", 0, priority=200)
    queue.send("b", "b", 0, priority=50)
    queue.send("c", "c", 0, priority=40)
    work = taken(queue)
    assert queue.prioritise("a", 1, 45)
    work.release()
    assert drained(queue) == ["b", "a", "c"]


def test_attempts_are_counted_until_the_group_is_accepted_or_rejected(queue: WorkQueue) -> None:
    for end in ("accept", "reject"):
        queue.send("g", 1, 0)
        queue.send("g", 2, 0)
        for attempt in (1, 2, 3):
            work = taken(queue)
            assert (work.attempt, next(work)) == (attempt, 1)
            work.release()
        work = taken(queue)
        assert next(work) == 1
        getattr(work, end)()
        assert (work.attempt, taken(queue).attempt) == (4, 1)
        queue.working()[0].release()
        assert drained(queue) == [2]


@pytest.mark.parametrize("end", ["accept", "reject", "release"])
def test_work_is_settled_once(queue: WorkQueue, end: str) -> None:
    queue.send("g", 1, 0)
    queue.send("", 2, 0)
    work, other = taken(queue), taken(queue)
    assert list(work) == [1]
    getattr(work, end)()
    for again in (work.accept, work.reject, work.release, lambda: list(work)):
        with pytest.raises(MessageError, match="group 'g': it is settled already") as refused:
            again()
        assert "\n" not in str(refused.value)
    other.accept()
    with pytest.raises(MessageError, match="an item without a group: it is settled already"):
        other.accept()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_done_twice_and_no_group_changes_its_order(
    make: Make, seed: int
) -> None:
    random = Random(seed)  # noqa: S311
    queue = make(ageing=random.choice([0, 1]), weights={"x": 2})
    tenants = dict(zip("abcd", "xxyz", strict=True))
    sent: dict[str, list[int]] = defaultdict(list)
    settled: dict[str, list[int]] = defaultdict(list)
    held: list[tuple[Work, list[int]]] = []
    for now in range(200):
        match random.choice(["send", "send", "raise", "take", "next", "next", "settle"]):
            case "send":
                group, priority = random.choice("abcd"), random.choice([None, 0, 9])
                queue.send(group, now, now, priority=priority, tenant=tenants[group])
                sent[group].append(now)
            case "raise":
                queue.prioritise(random.choice("abcd"), now, random.choice([None, 5]))
            case "take" if len(held) < 3 and (work := queue.take(now)) is not None:
                assert work.group not in [other.group for other, _ in held]
                held.append((work, []))
            case "next" if held:
                work, given = random.choice(held)
                given += [item for item in [next(work, None)] if item is not None]
            case "settle" if held:
                work, given = held.pop(random.randrange(len(held)))
                end = random.choice(["accept", "reject" if given else "accept", "release"])
                assert getattr(work, end)() == (given if end == "reject" else None)
                settled[work.group] += [] if end == "release" else given
    for work, _ in held:
        work.release()
    while (last := queue.take(200)) is not None:
        settled[last.group] += last
        last.accept()
    assert settled == sent
    assert str(queue.waiting()) == "0 waiting, 0 worked on"


# -------- the life of a group


def test_a_group_that_is_through_is_gone(queue: WorkQueue) -> None:
    assert not queue.prioritise("g", 0, 5)
    queue.send("g", 1, 0, tenant="x")
    assert drained(queue) == [1]
    assert not queue.prioritise("g", 1, 5)
    queue.send("f", "f", 2)
    queue.send("g", 2, 3, tenant="y")
    assert not queue.prioritise("h", 4)
    assert [rank.tenant for rank in queue.waiting().ranks] == ["", "y"]


def test_a_raise_keeps_its_group_until_it_has_had_its_turn(queue: WorkQueue) -> None:
    queue.send("g", "g1", 0)
    work = taken(queue)
    assert list(work) == ["g1"]
    assert queue.prioritise("g", 1, 5)
    work.accept()
    queue.send("a", "a", 2, priority=7)
    queue.send("b", "b", 3)
    assert list(taken(queue)) == ["a"]
    queue.send("g", "g2", 4)
    assert drained(queue) == ["g2", "b"]


def test_a_raise_of_which_nothing_waits_at_its_turn_is_used_up(queue: WorkQueue) -> None:
    queue.send("g", "g1", 0)
    work = taken(queue)
    list(work)
    assert queue.prioritise("g", 1, 200)
    work.accept()
    queue.send("a", "a", 2, priority=7)
    assert drained(queue) == ["a"]
    assert not queue.prioritise("g", 3, 200)
    queue.send("b", "b", 4)
    queue.send("g", "g2", 5)
    assert drained(queue) == ["b", "g2"]


# -------- tenants


def test_tenants_share_by_weight_and_cost(make: Make) -> None:
    queue = make(weights={"heavy": 2})
    for item in ("h1", "l1", "h2", "h3", "h4", "l2"):
        queue.send("", item, 0, tenant="heavy" if item[0] == "h" else "light", cost=3)
    assert drained(queue) == ["h1", "l1", "h2", "l2", "h3", "h4"]


def test_a_tenant_that_comes_while_another_is_served_is_next(queue: WorkQueue) -> None:
    for item in range(3):
        queue.send("", item, 0, tenant="big")
    first = taken(queue)
    list(first)
    queue.send("", "small", 1, tenant="small")
    queue.send("", "small too", 1, tenant="small")
    assert list(taken(queue)) == ["small"]
    assert list(taken(queue)) == [1]


def test_a_release_gives_the_tenant_its_charge_and_its_turn_back(queue: WorkQueue) -> None:
    queue.send("", "a1", 0, tenant="a", cost=10)
    queue.send("", "b1", 0, tenant="b")
    first = taken(queue)
    assert list(first) == ["a1"]
    first.release()
    assert drained(queue) == ["a1", "b1"]


def test_a_tenant_gets_its_first_turn_back_whichever_of_its_work_is_released_last(
    queue: WorkQueue,
) -> None:
    for tenant, group in [("a", "a1"), ("b", "b1"), ("a", "a2")]:
        queue.send(group, group, 0, tenant=tenant)
    held = [taken(queue) for _ in range(3)]
    assert [work.group for work in held] == ["a1", "b1", "a2"]
    for work in held:
        work.release()
    assert drained(queue) == ["a1", "b1", "a2"]


def test_where_nothing_waits_and_nobody_works_all_tenants_start_anew(queue: WorkQueue) -> None:
    queue.send("", "a1", 0, tenant="a", cost=100)
    assert drained(queue) == ["a1"]
    for tenant, item in [("a", "a2"), ("b", "b1"), ("b", "b2"), ("a", "a3")]:
        queue.send("", item, 1, tenant=tenant)
    assert drained(queue) == ["a2", "b1", "a3", "b2"]


def test_what_a_tenant_was_charged_is_not_forgotten_among_many(queue: WorkQueue) -> None:
    queue.send("", "x1", 0, tenant="x", cost=100)
    for item in ("w1", "w2"):
        queue.send("", item, 0, tenant="w")
    first = taken(queue)
    assert list(first) == ["x1"]
    first.accept()
    others = [f"t{k}" for k in range(200)]
    for name in others:
        queue.send("", name, 0, tenant=name)
    queue.send("", "x2", 0, tenant="x")
    assert drained(queue) == ["w1", *others, "w2", "x2"]


# -------- what it refuses


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda q: q.send("g", 1, 0, priority=256), "priority: found 256, allowed: an integer"),
        (lambda q: q.send("g", 1, 0, priority=-1), "priority: found -1, allowed: an integer"),
        (lambda q: q.prioritise("g", 0, 2.5), "found 2.5, allowed: an integer from 0 to 255, or"),
        (lambda q: q.send("g", 1, 0, cost=0), "cost: found 0, allowed: an integer from 1"),
        (
            lambda q: q.send("g", 1, 0, cost=2**62 // 3 + 1),
            "cost: found 1537228672809129302, allowed: an integer from 1 to 1537228672809129301 wi",
        ),
        (lambda q: q.send("g", 1, None), "now: found nothing, allowed: a timestamp, or"),
        (lambda q: q.send(7, 1, 0), "group: found 7, allowed: a text"),
        (lambda q: q.send("g", 1, 0, tenant=7), "tenant: found 7, allowed: a text"),
        (lambda q: q.send("x", 1, 0, tenant="t"), "of group 'x': found 't', allowed: ''"),
        (lambda q: q.waiting(-1), "most: found -1, allowed: an integer from 0"),
    ],
)
def test_what_is_not_allowed_is_one_line_and_changes_nothing(
    make: Make, call: Callable[[Any], object], line: str
) -> None:
    queue = make(weights={"a": 3})
    queue.send("x", "first", 0)
    before = queue.waiting(100)
    with pytest.raises(MessageError, match=line) as refused:
        call(queue)
    assert "\n" not in str(refused.value)
    assert queue.waiting(100) == before


# -------- what waits, and why


def test_it_says_what_is_next_and_why(queue: WorkQueue) -> None:
    queue.send("held", 0, 0)
    queue.take(0)
    queue.send("a", "a1", 1)
    queue.send("a", "a2", 2)
    queue.send("", {"id": 7}, 3)
    queue.send("b", "b", 4, priority=20)
    queue.send("c", "c", 5, priority=20)
    assert str(queue.waiting(3)).splitlines() == [
        "4 waiting, 1 worked on",
        "  1. b: 1 item, priority 20, since 4 s",
        "  2. c: 1 item, priority 20, since 5 s",
        "  3. a: 2 items, not raised, since 1 s",
        "b before c: both at priority 20; it was entered earlier: 4 s < 5 s",
    ]
    last = queue.waiting(4).ranks[-1]
    # Messages of a store have ids, items of an agenda have none.
    called = f"message {last.id}" if last.id else "{'id': 7}"
    assert (last.name, last.item) == (called, {"id": 7})
    decided = [queue.waiting(1).decided]
    while queue.take(6) is not None:
        decided.append(queue.waiting().decided)
    assert decided == [
        "b before c: both at priority 20; it was entered earlier: 4 s < 5 s",
        "c before a: c was raised, a was not",
        f"a before {called}: neither was raised; it arrived earlier: 1 s < 3 s",
        "",
        "",
    ]
    assert str(queue.waiting()) == "0 waiting, 5 worked on"


def test_it_says_that_two_arrived_in_the_same_microsecond(queue: WorkQueue) -> None:
    queue.send("a", "a", 1)
    queue.send("b", "b", 1)
    assert queue.waiting(2).decided == (
        "a before b: neither was raised; it arrived earlier, in the same microsecond"
    )


def test_it_says_why_under_ageing_and_between_tenants(make: Make) -> None:
    queue = make(ageing=1)
    queue.send("a", "a", 0, priority=9)
    queue.send("b", "b", 0, priority=8)
    assert queue.waiting().decided == (
        "a before b: 0 s - 9 * 1 s = -9 s before 0 s - 8 * 1 s = -8 s"
    )
    queue = make()
    queue.send("a", "a", 0, priority=9)
    queue.send("b", "b", 0, priority=8)
    assert queue.waiting().decided == "a before b: the higher priority: 9 > 8"
    queue = make(weights={"x": 2})
    queue.send("a1", "a", 0, tenant="x", cost=6)
    queue.send("a2", "a", 0, tenant="x", cost=6)
    queue.send("b", "b", 0, tenant="y")
    assert queue.waiting().decided == (
        "a1 before b: tenants x and y are charged alike; "
        "x was served, or began to wait, less recently"
    )
    assert "1 item, not raised, since 0 s, tenant x" in str(queue.waiting())
    taken(queue)
    assert queue.waiting().decided == ("b before a2: tenant y has been charged less than x: 0 < 6")


def test_who_was_served_last_is_the_last_of_equals_in_the_outlook_too(queue: WorkQueue) -> None:
    """y has been served 1, and x will be after x1: then y is the one that waits for longer."""
    for name in ("y1", "x1", "x2", "y2"):
        queue.send(name, name, 0, tenant=name[0])
    first = taken(queue)
    assert list(first) == ["y1"]
    first.accept()
    assert [rank.group for rank in queue.waiting().ranks] == ["x1", "y2", "x2"]
    assert drained(queue) == ["x1", "y2", "x2"]
