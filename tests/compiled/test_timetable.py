"""A timetable, held against routing message by message."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Change, Cluster
from fairlead.compiled import timetable as module
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.compiled.router import Router
from fairlead.compiled.timetable import timetable

POLICIES = st.sampled_from(["weighted", "round-robin", "hot-standby", "msmq", "nanomsg"])
STATES: list[tuple[str, Any]] = [
    ("present", False),
    ("present", True),
    ("state", "down"),
    ("state", "up"),
]
HAPPENS: dict[str, list[tuple[str, Any]]] = {
    "weighted": [
        ("present", False),
        ("present", True),
        ("state", "down"),
        ("state", "up"),
        ("weight", 9),
    ],
    "msmq": [("present", False), ("present", True), ("enabled", False), ("weight", 9)],
    **{
        key: [("present", False), ("present", True), ("state", "down"), ("state", "up")]
        for key in ("round-robin", "hot-standby", "nanomsg")
    },
}
MEMBERS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


@st.composite
def plans(draw: st.DrawFn) -> ClassifiedPlan:
    """A cluster of one class of messages, and changes at whole seconds from 1 to 9."""
    policy, weights = draw(POLICIES), draw(MEMBERS)
    names = "ABCDE"[: len(weights)]
    tables: list[dict[str, Any]] = [{"name": name} for name in names]
    if policy in ("weighted", "msmq"):
        for table, weight in zip(tables, weights, strict=True):
            table["weight"] = weight
    changes = [
        Change(draw(st.sampled_from(names)), *draw(st.sampled_from(HAPPENS[policy])), time)
        for time in draw(st.lists(st.integers(1, 9), max_size=4))
    ]
    options = {"options": {"slow_start": 3}} if policy == "weighted" and draw(st.booleans()) else {}
    plan = Plan([Cluster.of(policy, name="pool", destination=tables, **options)], changes)
    return plan.classified([plan.message_class("pool", {}, control=False)])


@given(plan=plans(), sizes=st.lists(st.integers(0, 150), min_size=1, max_size=5))
def test_each_place_gets_what_the_router_gives_it(plan: ClassifiedPlan, sizes: list[int]) -> None:
    n = sum(sizes)
    times = np.sort(np.random.default_rng(n).integers(0, 10_000_000, n))
    versions = np.searchsorted(plan.times, times, "right")
    router, states, counts, wanted = Router(plan), [], {}, []
    edges = np.cumsum([0, *sizes])
    for block, (start, stop) in enumerate(itertools.pairwise(edges)):
        states.append(router.dump())
        tally = Counter(versions[start:stop].tolist())
        counts[block] = {version: {0: many} for version, many in tally.items()}
        codes = np.zeros(stop - start, np.int32)
        wanted += router.feed(codes, times[start:stop]).tolist()
        router.sequence(codes)
    table = timetable(plan, counts, states)
    assert table is not None
    found, sequences = [], []
    for block, (start, stop) in enumerate(itertools.pairwise(edges)):
        for place, version in enumerate(versions[start:stop].tolist()):
            cycle = table.cycles[table.which[block][version]]
            head = table.heads[table.head_of[block][version]]
            since = place - table.starts[block][version]
            turn = (since + table.turns[block][version]) % len(cycle)
            found.append(head[since] if since < len(head) else cycle[turn])
            sequences.append(table.sequences[block] + place)
    assert found == wanted
    assert sequences == list(range(n))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 11))
def test_all_rotations_of_a_cycle_are_one(cycle: list[int], by: int) -> None:
    by %= len(cycle)
    places: dict[tuple[int, ...], int] = {}
    turned = tuple(cycle[by:] + cycle[:by])
    for each in (tuple(cycle), turned):
        number, turn = module._placed(each, places)
        assert number == 0
        (kept,) = places
        assert tuple(kept[(turn + k) % len(kept)] for k in range(len(kept))) == each


def test_blocks_of_one_version_share_a_cycle() -> None:
    plan = Plan(
        [
            Cluster.of(
                "weighted",
                name="p",
                destination=[{"name": "A", "weight": 900}, {"name": "B", "weight": 100}],
            )
        ],
        [],
    )
    known = plan.classified([MessageClass("p", ())])
    router, states, counts = Router(known), [], {}
    for block, many in enumerate([1_003, 777, 5]):
        states.append(router.dump())
        counts[block] = {0: {0: many}}
        router.feed(np.zeros(many, np.int32))
    table = timetable(known, counts, states)
    assert table is not None
    assert [len(each) for each in table.cycles] in ([10], [10, 5])


def test_streams_that_need_their_order_have_none() -> None:
    fewest = Plan([Cluster.of("fewest-pending", name="p", destination=[{"name": "A"}])], [])
    classes = [fewest.message_class("p", {}, control=False)]
    known = fewest.classified(classes)
    assert timetable(known, {0: {0: {0: 5}}}, [Router(known).dump()]) is None
    two = Plan([Cluster.of("weighted", name=n, destination=[{"name": "A"}]) for n in "pq"], [])
    both = two.classified([two.message_class(n, {}, control=False) for n in "pq"])
    assert timetable(both, {0: {0: {0: 5, 1: 5}}}, [Router(both).dump()]) is None
