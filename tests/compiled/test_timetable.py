"""A timetable, held against routing message by message."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Change, Cluster
from fairlead.compiled import timetable as module
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.compiled.router import Router
from fairlead.compiled.timetable import NO_PLACE, timetable

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
def clusters(draw: st.DrawFn, name: str) -> tuple[Cluster, list[Change]]:
    """A cluster of one class of messages, and changes at whole seconds from 1 to 9."""
    policy, weights = draw(POLICIES), draw(MEMBERS)
    names = "ABCDE"[: len(weights)]
    tables: list[dict[str, Any]] = [{"name": name} for name in names]
    if policy in ("weighted", "msmq"):
        for table, weight in zip(tables, weights, strict=True):
            table["weight"] = weight
    changes = [
        Change(
            f"{draw(st.sampled_from(names))}@{name}",
            *draw(st.sampled_from(HAPPENS[policy])),
            time,
        )
        for time in draw(st.lists(st.integers(1, 9), max_size=4))
    ]
    options = {"options": {"slow_start": 3}} if policy == "weighted" and draw(st.booleans()) else {}
    return Cluster.of(policy, name=name, destination=tables, **options), changes


@st.composite
def plans(draw: st.DrawFn) -> ClassifiedPlan:
    """Up to three clusters; messages of each, of one that is not there, and orders."""
    drawn = [draw(clusters(name)) for name in draw(st.sampled_from(["p", "pq", "pqr"]))]
    plan = Plan([cluster for cluster, _ in drawn], [each for _, own in drawn for each in own])
    classes = [plan.message_class(cluster.name, {}, control=False) for cluster in plan.clusters]
    if draw(st.booleans()):
        classes.append(plan.message_class("nowhere", {}, control=False))
        classes.append(plan.message_class("p", {}, control=True))
    return plan.classified(draw(st.permutations(classes)))


@given(
    plan=plans(),
    sizes=st.lists(st.integers(0, 150), min_size=1, max_size=5),
    few=st.sampled_from([0, 0, 10, 1_000]),
)
def test_each_place_gets_what_the_router_gives_it(
    plan: ClassifiedPlan, sizes: list[int], few: int
) -> None:
    """`few`: how many are written down where somebody lags."""
    n = sum(sizes)
    random = np.random.default_rng(n)
    times = np.sort(random.integers(0, 10_000_000, n))
    codes = random.integers(0, len(plan.classes), n).astype(np.int32)
    versions = np.searchsorted(plan.times, times, "right")
    router, wanted, sequences = Router(plan), [], []
    start_state = router.dump()
    counts: dict[int, dict[int, Counter[int]]] = {}
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    for block, version, code in zip(
        blocks.tolist(), versions.tolist(), codes.tolist(), strict=True
    ):
        counts.setdefault(block, {}).setdefault(version, Counter())[code] += 1
    for start, stop in itertools.pairwise(np.cumsum([0, *sizes])):
        wanted += router.feed(codes[start:stop], times[start:stop]).tolist()
        sequences += router.sequence(codes[start:stop]).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        patch.setattr(module, "MOST_OF_VERSION", 20)
        table = timetable(plan, counts, len(sizes), start_state)
    assert table is not None
    found, places = [], []
    seen: Counter[tuple[int, int]] = Counter()
    for block, version, code in zip(
        blocks.tolist(), versions.tolist(), codes.tolist(), strict=True
    ):
        first = table.sequences[block][code]
        place = first if first == NO_PLACE else first + seen[block, code]
        seen[block, code] += 1
        segment = table.first[version][code]
        segment += sum(place >= begins[version][code] for begins in table.later)
        cycle = table.cycles[table.which[segment]]
        head = table.heads[table.head_of[segment]]
        since = place - table.since[segment]
        turn = (since + table.turns[segment]) % len(cycle)
        found.append(head[since] if since < len(head) else cycle[turn])
        places.append(place)
    assert found == wanted
    assert places == sequences


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


def test_blocks_and_versions_share_a_cycle() -> None:
    """Nine in ten to A, whichever block or version it is."""
    plan = Plan(
        [
            Cluster.of(
                "weighted",
                name="p",
                destination=[{"name": "A", "weight": 900}, {"name": "B", "weight": 100}],
            )
        ],
        [Change("A", "weight", 900, 5)],
    )
    known = plan.classified([MessageClass("p", ())])
    counts = {0: {0: {0: 1_003}}, 1: {0: {0: 777}}, 2: {1: {0: 20_005}}}
    table = timetable(known, counts, 3, Router(known).dump())
    assert table is not None
    assert [len(each) for each in table.cycles] == [10]
    assert table.sequences == [[0], [1_003], [1_780]]


def test_who_lags_gets_all_until_it_has_caught_up() -> None:
    """A was not there for 30,000 messages; then it gets 15,000 alone, before they are shared."""
    machines = [{"name": name, "weight": 1} for name in "ABC"]
    happens = [Change("A", "enabled", False, 1), Change("A", "enabled", True, 2)]
    plan = Plan([Cluster.of("msmq", name="p", destination=machines)], happens)
    known = plan.classified([MessageClass("p", ())])
    counts = {0: {0: {0: 3_000}, 1: {0: 30_000}, 2: {0: 90_000}}}
    table = timetable(known, counts, 1, Router(known).dump())
    assert table is not None
    assert sorted(map(len, table.cycles)) == [1, 2, 3]
    assert table.since == [0, 3_000, 33_000, 48_000]
    assert table.first == [[0], [1], [2]]
    assert table.later == [[[module.NEVER], [module.NEVER], [48_000]]]


def test_no_message_needs_no_order() -> None:
    plan = Plan([Cluster.of("weighted", name="p", destination=[{"name": "A"}])], [])
    known = plan.classified([])
    assert timetable(known, {}, 1, Router(known).dump()) == module.Timetable(
        [[]], heads=[()], first=[[]]
    )


def test_streams_that_need_their_order_have_none() -> None:
    fewest = Plan([Cluster.of("fewest-pending", name="p", destination=[{"name": "A"}])], [])
    known = fewest.classified([fewest.message_class("p", {}, control=False)])
    assert timetable(known, {0: {0: {0: 5}}}, 1, Router(known).dump()) is None
    by_key = Plan([Cluster.of("rendezvous", name="p", destination=[{"name": "A"}])], [])
    known = by_key.classified([by_key.message_class("p", {}, control=False)])
    assert timetable(known, {0: {0: {0: 5}}}, 1, Router(known).dump()) is None


def test_streams_that_share_a_choice_have_none() -> None:
    tables: dict[str, Any] = {
        "queue_manager": {"name": "HUB", "clusters": ["C"]},
        "remote": [{"name": "QM"}],
        "channel": [{"name": "TO.QM", "queue_manager": "QM"}],
        "queue": [{"name": name, "queue_manager": "QM", "bind": "not-fixed"} for name in "PQ"],
    }
    shared = Plan([Cluster.of("ibm-mq", **tables)], [])
    each = [shared.message_class("", {"queue": name}, control=False) for name in "PQ"]
    for classes, none in ((each[:1], False), (each, True)):
        known = shared.classified(classes)
        counts = {0: {0: dict.fromkeys(range(len(classes)), 5)}}
        assert (timetable(known, counts, 1, Router(known).dump()) is None) == none
