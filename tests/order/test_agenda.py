"""The live agenda: what it refuses and tells, and how it bears threads and many groups."""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from fairlead import Agenda, Cluster, Work, load_clusters
from fairlead.errors import ConfigError, MessageError
from fairlead.order.waiting import Member, Places


def in_order(agenda: Agenda) -> list[Any]:
    """All items, each finished before the next."""
    found = []
    while (work := agenda.take(0)) is not None:
        found += list(work)
        agenda.finish(work)
    return found


def taken(agenda: Agenda, now: int = 0) -> Work:
    """Work that must be there."""
    work = agenda.take(now)
    assert work is not None
    return work


def drained(agenda: Agenda) -> list[Any]:
    """All items, in the order in which one reader takes them."""
    items: list[Any] = []
    while (work := agenda.take(0)) is not None:
        items += work
        agenda.finish(work)
    return items


# -------- what it refuses


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda a: a.arrive("g", 1, 0, priority=256), "priority: found 256, allowed: an integer"),
        (lambda a: a.arrive("g", 1, 0, priority=-1), "priority: found -1, allowed: an integer"),
        (lambda a: a.prioritise("g", 0, 2.5), "found 2.5, allowed: an integer from 0 to 255, or"),
        (lambda a: a.arrive("g", 1, 0, cost=0), "cost: found 0, allowed: an integer from 1"),
        (
            lambda a: a.arrive("g", 1, None),
            "now: found nothing, allowed: a timestamp, or",
        ),
        (lambda a: a.arrive(7, 1, 0), "group: found 7, allowed: a text"),
        (lambda a: a.arrive("g", 1, 0, tenant=None), "tenant: found None, allowed: a text"),
        (lambda a: a.arrive("x", 1, 0, tenant="t"), "of group 'x': found 't', allowed: ''"),
        (
            lambda a: a.end("x"),
            "end: group 'x' has items waiting, allowed: a group that is through",
        ),
    ],
)
def test_what_is_not_allowed_is_one_line_and_changes_nothing(
    call: Callable[[Any], object], line: str
) -> None:
    agenda = Agenda()
    agenda.arrive("x", "first", 0)
    before = agenda.snapshot()
    with pytest.raises(MessageError, match=line) as refused:
        call(agenda)
    assert "\n" not in str(refused.value)
    assert agenda.snapshot() == before


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"discipline": "priorty"}, "discipline: found 'priorty', allowed: fifo, priority; did"),
        ({"discipline": "fifo", "ageing": 5}, "ageing: found 5, allowed: only 0 with the disc"),
        ({"ageing": -1}, "ageing: found -1, allowed: a number of seconds from 0"),
        ({"ageing": 0.0000001}, "ageing: found 1E-7, allowed: .* at most 6 decimals"),
        ({"ageing": float("inf")}, "ageing: found Infinity, allowed: a number of seconds"),
        ({"default_priority": 256}, "default_priority: found 256, allowed: an integer from 0 to"),
        ({"weights": {"a": 0}}, "weights: 'a': found 0, allowed: an integer from 1 to 1000000"),
    ],
)
def test_settings_that_are_not_allowed_are_refused(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=f"^{line}"):
        Agenda(**settings)


@pytest.mark.parametrize("end", [Agenda.finish, Agenda.rollback])
def test_work_ends_once(end: Callable[[Agenda, Work], None]) -> None:
    agenda = Agenda()
    agenda.arrive("g", 1, 0)
    agenda.arrive("", 2, 0)
    work, other = taken(agenda), taken(agenda)
    end(agenda, work)
    for again in (agenda.finish, agenda.rollback, next):
        with pytest.raises(MessageError, match="group 'g': it is finished or rolled back already"):
            again(work)
    agenda.finish(other)
    with pytest.raises(MessageError, match="an item without a group: it is finished"):
        Agenda().finish(other)


def test_a_group_that_is_worked_on_does_not_end() -> None:
    agenda = Agenda()
    agenda.arrive("g", 1, 0)
    work = taken(agenda)
    with pytest.raises(MessageError, match="end: group 'g' is being worked on"):
        agenda.end("g")
    assert list(work) == [1]
    agenda.finish(work)
    agenda.end("g")
    agenda.end("g")
    assert not agenda.prioritise("g", 0, 5), "it is as if it had never been there"


# -------- [order] of a cluster file


def test_it_is_as_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(
        'policy = "msmq"\n[order]\ndiscipline = "priority"\ndefault_priority = 3\nageing = 0.5\n'
        '[[destination]]\nname = "A"\nweight = 1\n'
    )
    (cluster,) = load_clusters(file)
    agenda = Agenda.of(cluster.tables.order)
    agenda.arrive("a", "a", 0)
    agenda.arrive("b", "b", 1.999999)
    agenda.arrive("c", "c", 2)
    assert agenda.prioritise("b", 2)
    assert agenda.prioritise("c", 2)
    assert drained(agenda) == ["b", "a", "c"]


def test_a_file_without_order_means_fifo() -> None:
    cluster = Cluster.of("msmq", destination=[{"name": "A", "weight": 1}])
    agenda = Agenda.of(cluster.tables.order)
    agenda.arrive("a", "a", 0)
    agenda.arrive("b", "b", 0, priority=255)
    assert not agenda.prioritise("b", 0)
    assert drained(agenda) == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ageing = 2", "ageing: found 2, allowed: only 0 with the discipline fifo, which would"),
        (
            "default_priority = 7",
            "default_priority: found 7, allowed: only 100 with the discipline",
        ),
    ],
)
def test_what_fifo_would_ignore_is_refused(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(f'policy = "msmq"\n[order]\n{line}\n[[destination]]\nname = "A"\nweight = 1\n')
    with pytest.raises(ConfigError, match=rf"pool.toml:3: order\.{said}"):
        load_clusters(file)


# -------- reading


def test_a_reader_gets_what_arrives_while_it_works() -> None:
    agenda = Agenda()
    agenda.arrive("g", 1, 0)
    work = taken(agenda, 5)
    assert (work.group, work.tenant, work.priority, work.taken, work.attempt) == (
        *("g", "", None),
        *(5, 1),
    )
    assert list(work) == [1]
    agenda.arrive("g", 2, 6)
    assert agenda.take(6) is None
    assert list(work) == [2]
    agenda.arrive("g", 3, 7)
    agenda.finish(work)
    assert list(taken(agenda)) == [3], "it was not given to the first reader"


def test_a_reader_that_stops_early_loses_nothing() -> None:
    agenda = Agenda()
    for item in range(5):
        agenda.arrive("g", item, 0)
    work = taken(agenda)
    assert (next(work), next(work)) == (0, 1)
    agenda.finish(work)
    assert drained(agenda) == [2, 3, 4]


def test_attempts_are_counted_until_the_group_is_finished() -> None:
    agenda = Agenda()
    agenda.arrive("g", 1, 0)
    for attempt in (1, 2, 3):
        work = taken(agenda)
        assert (work.attempt, list(work)) == (attempt, [1])
        agenda.rollback(work)
    work = taken(agenda)
    list(work)
    agenda.finish(work)
    agenda.arrive("g", 2, 0)
    assert (work.attempt, taken(agenda).attempt) == (4, 1)


def test_time_does_not_go_back() -> None:
    agenda = Agenda(ageing=1)
    agenda.arrive("a", "a", 10)
    agenda.arrive("b", "b", 0, priority=0)
    agenda.arrive("c", "c", 10.999999, priority=0)
    assert drained(agenda) == ["b", "c", "a"]


# -------- explanations


def test_it_says_what_is_next_and_why() -> None:
    agenda = Agenda()
    agenda.arrive("held", 0, 0)
    agenda.take(0)
    agenda.arrive("a", "a1", 1)
    agenda.arrive("a", "a2", 2)
    agenda.arrive("", {"id": 7}, 3)
    agenda.arrive("b", "b", 4, priority=20)
    agenda.arrive("c", "c", 5, priority=20)
    assert str(agenda.explain(3)).splitlines() == [
        "4 waiting, 1 worked on",
        "  1. b: 1 item, priority 20, since 4 s",
        "  2. c: 1 item, priority 20, since 5 s",
        "  3. a: 2 items, not raised, since 1 s",
        "b before c: both at priority 20; it was entered earlier: 4 s < 5 s",
    ]
    decided = [agenda.explain(1).decided]
    while agenda.take(6) is not None:
        decided.append(agenda.explain().decided)
    assert decided == [
        "b before c: both at priority 20; it was entered earlier: 4 s < 5 s",
        "c before a: c was raised, a was not",
        "a before {'id': 7}: neither was raised; it arrived earlier: 1 s < 3 s",
        "",
        "",
    ]
    assert str(agenda.explain()) == "0 waiting, 5 worked on"


def test_it_says_why_under_ageing_and_between_tenants() -> None:
    agenda = Agenda(ageing=1)
    agenda.arrive("a", "a", 0, priority=9)
    agenda.arrive("b", "b", 0, priority=8)
    assert agenda.explain().decided == (
        "a before b: 0 s - 9 * 1 s = -9 s before 0 s - 8 * 1 s = -8 s"
    )
    agenda = Agenda()
    agenda.arrive("a", "a", 0, priority=9)
    agenda.arrive("b", "b", 0, priority=8)
    assert agenda.explain().decided == "a before b: the higher priority: 9 > 8"
    agenda = Agenda(weights={"x": 2})
    agenda.arrive("a1", "a", 0, tenant="x", cost=6)
    agenda.arrive("a2", "a", 0, tenant="x", cost=6)
    agenda.arrive("b", "b", 0, tenant="y")
    assert agenda.explain().decided == (
        "a1 before b: tenants x and y are charged alike; "
        "x was served, or began to wait, less recently"
    )
    assert "1 item, not raised, since 0 s, tenant x" in str(agenda.explain())
    taken(agenda)
    assert agenda.explain().decided == ("b before a2: tenant y has been charged less than x: 0 < 6")


def test_who_was_served_last_is_the_last_of_equals_in_the_outlook_too() -> None:
    """y has been served 1, and x will be after x1: then y is the one that waits for longer."""
    agenda = Agenda()
    for name in ("y1", "x1", "x2", "y2"):
        agenda.arrive(name, name, 0, tenant=name[0])
    first = taken(agenda)
    assert list(first) == ["y1"]
    agenda.finish(first)
    assert [rank.group for rank in agenda.explain().ranks] == ["x1", "y2", "x2"]
    assert in_order(agenda) == ["x1", "y2", "x2"]


def test_what_a_tenant_was_charged_is_not_forgotten_among_many() -> None:
    agenda = Agenda()
    agenda.arrive("", "x1", 0, tenant="x", cost=100)
    for item in ("w1", "w2"):
        agenda.arrive("", item, 0, tenant="w")
    first = taken(agenda)
    assert list(first) == ["x1"]
    agenda.finish(first)
    others = [f"t{k}" for k in range(200)]
    for name in others:
        agenda.arrive("", name, 0, tenant=name)
    agenda.arrive("", "x2", 0, tenant="x")
    assert in_order(agenda) == ["w1", *others, "w2", "x2"]


# -------- keeping its state


def test_after_a_crash_the_work_of_all_readers_is_rolled_back() -> None:
    agenda = Agenda()
    for group in "abc":
        agenda.arrive(group, group, 0, priority=5)
    list(taken(agenda))
    old = taken(agenda)
    again = Agenda()
    again.restore(agenda.snapshot())
    assert (
        repr(again.working()) == "[<Work on group 'a', attempt 1>, <Work on group 'b', attempt 1>]"
    )
    for work in again.working():
        again.rollback(work)
    assert again.working() == []
    assert drained(again) == ["a", "b", "c"]
    with pytest.raises(MessageError, match="or it is another agenda's"):
        again.finish(old)


def test_a_snapshot_of_other_settings_is_refused() -> None:
    with pytest.raises(ConfigError, match="snapshot: found format 0, allowed: 1"):
        Agenda().restore({"format": 0})
    with pytest.raises(ConfigError, match="snapshot: ageing: found '2', allowed: '0'"):
        Agenda().restore(Agenda(ageing=2).snapshot())
    with pytest.raises(ConfigError, match=r"snapshot: weights: found \{'a': 2\}, allowed: \{"):
        Agenda().restore(Agenda(weights={"a": 2}).snapshot())


# -------- many at once


def test_threads_lose_nothing_and_keep_the_order_inside_groups() -> None:
    agenda, readers, per_group = Agenda(), 4, 200
    groups = [f"g{i}" for i in range(20)]
    done: dict[str, list[int]] = defaultdict(list)
    at_work: Counter[str] = Counter()
    guard, wrong = Lock(), []

    def write(own: list[str]) -> None:
        for item in range(per_group):
            for group in own:
                agenda.arrive(group, item, item, priority=item % 7 or None)

    def read() -> None:
        while sum(map(len, done.values())) < per_group * len(groups) and not wrong:
            work = agenda.take(0)
            if work is None:
                continue
            with guard:
                at_work[work.group] += 1
                wrong.extend([work.group] if at_work[work.group] > 1 else [])
            items = list(work)
            failed = sum(items) % 5 == 0 and work.attempt == 1
            with guard:
                at_work[work.group] -= 1
                done[work.group] += [] if failed else items
            (agenda.rollback if failed else agenda.finish)(work)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [Thread(target=write, args=(groups[i::2],)) for i in range(2)]
        threads += [Thread(target=read) for _ in range(readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert dict(done) == {group: list(range(per_group)) for group in groups}


def test_what_is_not_needed_is_not_kept() -> None:
    """Items without a group, tenants that come and go, one group raised again and again."""
    agenda = Agenda()
    for i in range(2000):
        agenda.arrive("", i, i, tenant="always")
    for i in range(2000):
        agenda.arrive("", i, i, tenant=f"t{i}")
        for _ in range(2 if i % 2 else 1):
            work = taken(agenda)
            list(work)
            agenda.finish(work)
    assert len(agenda._state.tenants) < 300
    drained(agenda)
    assert not agenda._state.groups
    agenda.arrive("a", 1, 0)
    for i in range(1000):
        agenda.prioritise("a", i, i % 256)
    (tenant,) = agenda._state.line
    assert len(tenant.groups._heap) < 50


def test_places_stay_right_when_swept() -> None:
    class Named(Member):
        def __init__(self, name: int) -> None:
            super().__init__()
            self.name = name

    places: Places[Named] = Places()
    members = [Named(i) for i in range(100)]
    for turn in range(50):
        for member in members:
            places.put(member, (-turn, member.name * 37 % 101))
    for member in members[::2]:
        places.remove(member)
    assert len(places) == len(list(places)) == 50
    found = []
    while (first := places.first()) is not None:
        found.append(first)
        places.remove(first)
    assert found == sorted(members[1::2], key=lambda member: member.name * 37 % 101)


def test_a_hundred_thousand_groups_in_order() -> None:
    agenda = Agenda()
    for i in range(100_000):
        agenda.arrive(f"g{i}", i, i, priority=i * 7919 % 256)
    items = drained(agenda)
    assert items == sorted(range(100_000), key=lambda i: (-(i * 7919 % 256), i))
