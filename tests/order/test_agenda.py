"""The live agenda: what it has beyond `test_queue.py`, and how it bears threads and many groups."""

import sys
from collections import Counter
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from fairlead import Agenda, Cluster, Work, load_clusters
from fairlead.errors import ConfigError, MessageError
from fairlead.order.waiting import Places


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
        work.accept()
    return items


# -------- what it refuses


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"discipline": "priorty"}, "discipline: found 'priorty', allowed: fifo, priority; did"),
        ({"discipline": "fifo", "ageing": 5}, "ageing: found 5, allowed: only 0 with the disc"),
        ({"ageing": -1}, "ageing: found -1, allowed: a number of seconds from 0"),
        ({"ageing": 0.0000001}, "ageing: found 1E-7, allowed: .* at most 6 decimals"),
        ({"ageing": float("inf")}, "ageing: found Infinity, allowed: a number of seconds"),
        ({"default_priority": 256}, "default_priority: found 256, allowed: an integer from 0 to"),
        (
            {"weights": {f"t{k}": 10**6 - k for k in range(10_000)}},
            "weights: found a least common multiple of more than 4611686018427387904, allowed: wei",
        ),
        ({"weights": {"a": 0}}, "weights: 'a': found 0, allowed: an integer from 1 to 1000000"),
    ],
)
def test_settings_that_are_not_allowed_are_refused(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=f"^{line}"):
        Agenda(**settings)


# -------- conversations


def test_the_group_of_a_conversation_lives_until_its_end() -> None:
    agenda = Agenda()
    agenda.begin("g", tenant="t")
    assert agenda.prioritise("g", 0, 5)
    assert agenda.take(0) is None, "and that was its turn"
    agenda.send("g", 1, 0, tenant="t")
    assert drained(agenda) == [1]
    agenda.send("a", "a", 1, tenant="t")
    assert agenda.prioritise("g", 2, 5)
    agenda.send("g", 2, 3, tenant="t")
    assert drained(agenda) == [2, "a"]
    with pytest.raises(MessageError, match="tenant of group 'g': found 'u', allowed: 't'"):
        agenda.begin("g", tenant="u")
    agenda.end("g")
    assert not agenda.prioritise("g", 4, 5)
    agenda.send("g", 3, 4, tenant="u")
    assert drained(agenda) == [3]


def test_a_conversation_that_ends_loses_nothing() -> None:
    agenda = Agenda()
    agenda.send("g", 1, 0)
    agenda.begin("g")
    agenda.send("g", 2, 0)
    work = taken(agenda)
    assert next(work) == 1
    agenda.end("g")
    agenda.end("g")
    agenda.end("unknown")
    work.accept()
    assert drained(agenda) == [2]
    assert not agenda.prioritise("g", 0)
    with pytest.raises(MessageError, match="group: found '', allowed: a name"):
        agenda.begin("")


# -------- [order] of a cluster file


def test_it_is_as_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(
        'policy = "msmq"\n[order]\ndiscipline = "priority"\ndefault_priority = 3\nageing = 0.5\n'
        "weights = { acme = 3 }\n"
        '[[destination]]\nname = "A"\nweight = 1\n'
    )
    (cluster,) = load_clusters(file)
    agenda = Agenda.of(cluster.tables.order)
    agenda.send("a", "a", 0)
    agenda.send("b", "b", 1.999999)
    agenda.send("c", "c", 2)
    assert agenda.prioritise("b", 2)
    assert agenda.prioritise("c", 2)
    assert drained(agenda) == ["b", "a", "c"]
    for item in range(4):
        agenda.send("", f"acme {item}", 3, tenant="acme")
        agenda.send("", f"other {item}", 3, tenant="other")
    assert drained(agenda)[:5] == ["acme 0", "other 0", "acme 1", "acme 2", "other 1"]


def test_a_file_without_order_means_fifo() -> None:
    cluster = Cluster.of("msmq", destination=[{"name": "A", "weight": 1}])
    agenda = Agenda.of(cluster.tables.order)
    agenda.send("a", "a", 0)
    agenda.send("b", "b", 0, priority=255)
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


# -------- keeping its state


def test_after_a_crash_the_work_of_all_readers_is_released() -> None:
    agenda = Agenda()
    for group in "abc":
        agenda.send(group, group, 0, priority=5)
    list(taken(agenda))
    old = taken(agenda)
    again = Agenda()
    again.restore(agenda.snapshot())
    assert (
        repr(again.working()) == "[<Work on group 'a', attempt 1>, <Work on group 'b', attempt 1>]"
    )
    for work in again.working():
        work.release()
    assert again.working() == []
    assert drained(again) == ["a", "b", "c"]
    agenda.restore(agenda.snapshot())
    with pytest.raises(MessageError, match="or the agenda was restored since"):
        old.accept()


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
    done: dict[str, list[int]] = {group: [] for group in groups}  # threads change no key
    at_work: Counter[str] = Counter()
    guard, wrong = Lock(), []

    def write(own: list[str]) -> None:
        for item in range(per_group):
            for group in own:
                agenda.send(group, item, item, priority=item % 7 or None)

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
            work.release() if failed else work.accept()

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
    assert done == {group: list(range(per_group)) for group in groups}


def test_what_is_not_needed_is_not_kept() -> None:
    """Items without a group, tenants that come and go, one group raised again and again."""
    agenda = Agenda()
    for i in range(2000):
        agenda.send("", i, i, tenant="always")
    for i in range(2000):
        agenda.send("", i, i, tenant=f"t{i}")
        for _ in range(2 if i % 2 else 1):
            work = taken(agenda)
            list(work)
            work.accept()
    assert len(agenda._line.tenants) < 300
    drained(agenda)
    assert not agenda._line.groups
    agenda.send("a", 1, 0)
    for i in range(1000):
        agenda.prioritise("a", i, i % 256)
    (tenant,) = agenda._line.listed()
    assert len(tenant.places.heap) < 50


def test_hundreds_of_tenants_that_were_charged_alike_are_restored() -> None:
    """None of them is forgotten before what it has waiting is there again."""
    agenda, restored = Agenda(), Agenda()
    names = [f"t{i * 37 % 200}" for i in range(200)]
    for place, name in enumerate(names):
        agenda.send("" if place % 2 else name, place, place, tenant=name)
    taken(agenda, 200)
    restored.restore(agenda.snapshot())
    for each in (agenda, restored):
        (work,) = each.working()
        work.release()
    assert drained(restored) == drained(agenda) == list(range(200))


def test_places_stay_right_when_swept() -> None:
    class Named:
        def __init__(self, name: int) -> None:
            self.name = name
            self.place: tuple[Any, ...] | None = None

    places: Places[Named] = Places()
    members = [Named(i) for i in range(100)]
    for turn in range(50):
        for member in members:
            places.put(member, (-turn, member.name * 37 % 101))
    for member in members[::2]:
        places.remove(member)
    assert places.count == len(list(places)) == 50
    found = []
    while (first := places.first()) is not None:
        found.append(first)
        places.remove(first)
    assert found == sorted(members[1::2], key=lambda member: member.name * 37 % 101)


@pytest.mark.slow
def test_a_hundred_thousand_groups_in_order() -> None:
    agenda = Agenda()
    for i in range(100_000):
        agenda.send(f"g{i}", i, i, priority=i * 7919 % 256)
    items = drained(agenda)
    assert items == sorted(range(100_000), key=lambda i: (-(i * 7919 % 256), i))
