"""The choice rules: schedules against single steps, and arithmetic at the edge of 64 bits."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.balance.many import among, one_after_another
from tests.engines import compiled, live

from fairlead import Balancer, Change, Cluster
from fairlead.balance.history import PrecomputedRun
from fairlead.balance.rules import least_served, ready_ring
from fairlead.balance.rules.fewest_pending import FewestPending
from fairlead.balance.rules.first_by_name import Everyone, FirstByName
from fairlead.balance.rules.least_served import NO_TICK, RECENT, TICK, UNIT, LeastServed
from fairlead.balance.rules.paced import Paced
from fairlead.balance.rules.ready_ring import ReadyRing
from fairlead.balance.rules.rendezvous import Rendezvous
from fairlead.balance.rules.rule import Rule
from fairlead.balance.rules.subscriber_lists import SubscriberLists
from fairlead.errors import ConfigError

SEVERAL = settings(max_examples=150)
TOP = 2**63 - 1
SMALL = st.integers(1, 12)
EDGE = st.one_of(
    st.integers(1, 5),
    st.integers(TOP - 5, TOP),
    st.integers(2**31 - 2, 2**31 + 2),
    st.integers(2**32 - 2, 2**32 + 2),
    st.integers(1, TOP),
)


RULES = [
    LeastServed([1, 2]),
    Paced([1, 2]),
    ReadyRing([1, 1], [0, 0], [1000, 1000]),
    FewestPending([1000, 1000]),
    FirstByName(),
    Everyone(),
    Rendezvous(["A", "B"], [1, 1]),
    SubscriberLists([0, 0]),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_a_rule_says_that_it_can_its_compiled_part_has(rule: Rule) -> None:
    functions = {function.__name__ for function in vars(rule.module)["COMPILED"]}
    assert "choose" in functions
    assert ("run_one" in functions) == (rule.scheduled([0, 1]) is rule)
    assert ("completed" in functions) or not hasattr(rule, "due")
    assert not rule.foreign


# --- least-served ----------------------------------------------------------------------------


@st.composite
def arbitrary(draw: st.DrawFn, weights: st.SearchStrategy[int] = SMALL) -> LeastServed:
    """A rule in any state that it could have come to, lagging members and all."""
    each = draw(st.lists(weights, min_size=1, max_size=5))
    recency = draw(st.booleans())
    rule = LeastServed(each, recency=recency)
    state = rule.state
    unit = draw(st.sampled_from([1, 1, 1, 2, 3, 12]))
    state.setting[UNIT] = unit
    for i in range(len(each)):
        state.count[i] = draw(st.integers(0, 60)) * draw(st.sampled_from([1, unit]))
    if recency:
        numbers = draw(st.lists(st.integers(0, 50), min_size=len(each), max_size=len(each)))
        state.tie[:] = numbers
        state.setting[TICK] = 50
    return rule


def members_of(rule: Any, draw: Any) -> list[int]:
    n = len(rule.state[0])
    return sorted(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n)))


def one_by_one(rule: Any, members: list[int], n: int) -> list[int]:
    return [rule.choose(members) for _ in range(n)]


@given(rule=arbitrary(), data=st.data(), n=st.integers(0, 120))
@SEVERAL
def test_advance_is_so_many_choices(rule: LeastServed, data: Any, n: int) -> None:
    members = members_of(rule, data.draw)
    stepped, skipped = rule.copy(), rule.copy()
    one_by_one(stepped, members, n)
    skipped.advance(members, n)
    assert skipped.state.count == stepped.state.count
    assert skipped.state.setting == stepped.state.setting
    # What comes next is the same, among whomever.
    others = members_of(rule, data.draw)
    assert one_by_one(skipped, others, 60) == one_by_one(stepped, others, 60)


@given(rule=arbitrary(), data=st.data(), n=st.integers(0, 120), recent=st.integers(1, 4))
@SEVERAL
def test_advance_among_the_most_recently_used(
    rule: LeastServed, data: Any, n: int, recent: int
) -> None:
    assume(rule.state.setting[TICK] != NO_TICK)
    rule.state.setting[RECENT] = recent
    members = members_of(rule, data.draw)
    assert rule.skips(members) == (recent >= len(members))
    stepped, skipped = rule.copy(), rule.copy()
    expected = one_by_one(stepped, members, n)
    assert set(expected) <= set(members)
    skipped.advance(members, n)
    assert one_by_one(skipped, members, 60) == one_by_one(stepped, members, 60)


@given(rule=arbitrary(), data=st.data(), parts=st.lists(st.integers(0, 40), max_size=5))
@SEVERAL
def test_advance_in_parts_is_advance_at_once(
    rule: LeastServed, data: Any, parts: list[int]
) -> None:
    members = members_of(rule, data.draw)
    whole, pieces = rule.copy(), rule.copy()
    whole.advance(members, sum(parts))
    for n in parts:
        pieces.advance(members, n)
    assert one_by_one(pieces, members, 60) == one_by_one(whole, members, 60)


def test_advance_among_very_many_keeps_who_was_used_when() -> None:
    """The last one was used before all others are, once each: so it is next, then they in turn."""
    size = 300
    rule = LeastServed([1] * size, recency=True)
    rule.served(size - 1)
    rule.advance(list(range(size)), size - 1)
    assert one_by_one(rule, list(range(size)), size) == [size - 1, *range(size - 1)]


@given(st.lists(st.integers(1, 3), min_size=257, max_size=300), st.integers(0, 700), st.data())
@settings(max_examples=20)
@pytest.mark.slow
def test_advance_among_very_many_is_so_many_choices(weights: list[int], n: int, data: Any) -> None:
    stepped = LeastServed(weights, recency=True)
    members = list(range(len(weights)))
    one_by_one(stepped, members, data.draw(st.integers(0, 300)))
    skipped = stepped.copy()
    one_by_one(stepped, members, n)
    skipped.advance(members, n)
    assert one_by_one(skipped, members, 300) == one_by_one(stepped, members, 300)


def test_a_stretch_is_a_circle_only_where_it_repeats() -> None:
    """Where ties go to who was used less recently, it may take a period until it does."""
    random, circles = Random(3), 0  # noqa: S311
    for _ in range(20):
        rule = LeastServed(random.choices([1, 2, 3, 7, 18, 50, 72, 97], k=20), recency=True)
        rule.state.tie[:] = random.sample(range(1, 21), 20)
        rule.state.setting[TICK] = 20
        rule.state.count[:] = random.choices([0, 0, 1, 2, 3], k=20)
        members = tuple(range(20))
        run, found = PrecomputedRun(rule, members), list[int]()
        for _ in range(4):
            found += run.choices
            run = run.after()
        circles += run.end is None
        assert found == one_by_one(rule, list(members), len(found))
    assert 0 < circles < 20


def test_what_would_have_been_enough_is_where_somebody_was_never_served() -> None:
    """A, of weight 3, is behind B's 2 for 1 when it was served 7 times; at 6 it is before B."""
    machines = [{"name": "A", "weight": 3, "enabled": False}, {"name": "B", "weight": 1}]
    balancer = Balancer(Cluster.of("msmq", destination=machines))
    assert [balancer.choose().destination for _ in range(2)] == ["B", "B"]
    balancer.apply(Change("A", "enabled", True))
    otherwise = balancer.choose().explain().otherwise
    assert otherwise == "B would have been chosen if A had been served 7 times"
    assert [balancer.choose().destination for _ in range(7)] == [*"AAAAAAB"]


@given(rule=arbitrary(), data=st.data(), n=st.integers(0, 120))
@SEVERAL
def test_upcoming_is_so_many_choices(rule: LeastServed, data: Any, n: int) -> None:
    members = members_of(rule, data.draw)
    stepped, ahead = rule.copy(), rule.copy()
    assert ahead.upcoming(members, n) == one_by_one(stepped, members, n)
    assert ahead.dump() == stepped.dump()


@given(rule=arbitrary(), data=st.data())
@SEVERAL
def test_a_settled_rule_repeats_after_a_period(rule: LeastServed, data: Any) -> None:
    members = members_of(rule, data.draw)
    period = rule.period(members)
    rule.advance(members, 200)  # nobody can lag longer
    if not rule.settled(members):
        rule.advance(members, 2_000)
    assume(rule.settled(members))
    one_by_one(rule, members, period)
    assert one_by_one(rule, members, period) == one_by_one(rule, members, period)


@given(rule=arbitrary(), data=st.data(), n=st.integers(0, 400))
@SEVERAL
def test_compiled_choices_are_live_choices(rule: LeastServed, data: Any, n: int) -> None:
    members = members_of(rule, data.draw)
    plain, fast = rule.copy(), rule.copy()
    assert among(fast, members, n) == one_by_one(plain, members, n)
    assert one_by_one(fast, members, 60) == one_by_one(plain, members, 60)


def test_many_members_are_chosen_from_a_heap() -> None:
    random = Random(5)  # noqa: S311
    rule = LeastServed([random.randint(1, 50) for _ in range(300)], recency=True)
    members = list(range(0, 300, 2))
    plain, fast = rule.copy(), rule.copy()
    assert among(fast, members, 2_000) == one_by_one(plain, members, 2_000)
    assert fast.dump() == plain.dump()


# --- the edge of 64 bits ---------------------------------------------------------------------


def exactly(rule: LeastServed, members: list[int], n: int) -> list[int]:
    """The choices as fractions say them."""
    s = rule.state
    count = {i: Fraction(s.count[i], s.setting[UNIT]) for i in members}
    tie, tick, found = {i: s.tie[i] for i in members}, s.setting[TICK], []
    for _ in range(n):
        best = min(members, key=lambda i: (count[i] / s.weight[i], tie[i], i))
        count[best] += 1
        if tick != NO_TICK:
            tick += 1
            tie[best] = tick
        found.append(best)
    return found


@given(rule=arbitrary(weights=EDGE), data=st.data(), n=st.integers(0, 40))
@SEVERAL
def test_weights_up_to_the_edge_stay_exact(rule: LeastServed, data: Any, n: int) -> None:
    members = members_of(rule, data.draw)
    for i in members:
        if data.draw(st.booleans()):
            rule.state.count[i] = data.draw(EDGE)
    expected = exactly(rule, members, n)
    assert one_by_one(rule.copy(), members, n) == expected
    assert rule.copy().upcoming(members, n) == expected
    assert among(rule.copy(), members, n) == expected
    assert one_after_another(rule.copy(), [members], [0] * n) == expected
    skipped = rule.copy()
    skipped.advance(members, n // 2)
    assert one_by_one(skipped, members, n - n // 2) == expected[n // 2 :]


@pytest.mark.parametrize("weight", [2**31, 2**62 - 1, 2**62, TOP])
def test_arithmetic_changes_over_before_a_product_passes_the_edge(weight: int) -> None:
    rule = LeastServed([weight, weight, 1])
    most = TOP // weight  # a product of a count and a weight may be as large as this
    assert rule.fits_int64(most - 1)
    assert not rule.fits_int64(most)
    rule.state.count[0] = most
    assert not rule.fits_int64(0)


@pytest.mark.parametrize("n", [1, 7, 300, 1_000])
@pytest.mark.parametrize("weights", [(TOP, TOP - 1), (TOP, 1), (TOP, TOP, 3), (2**62, 2**61, 5)])
def test_engines_agree_at_the_edge(weights: tuple[int, ...], n: int) -> None:
    cluster = {
        "policy": "msmq",
        "destination": [{"name": f"D{i}", "weight": w} for i, w in enumerate(weights)],
    }
    messages = [{"id": f"{k:05}", "time": k} for k in range(n)]
    changes = [{"target": "D0", "attribute": "weight", "value": TOP // 3, "time": n / 2}]
    found = live(cluster, messages, changes)
    assert compiled(cluster, messages, changes) == found
    early = exactly(LeastServed(list(weights)), list(range(len(weights))), (n + 1) // 2)
    assert [f"D{i}" for i in early] == [name for name, _, _ in found[: len(early)]]


@pytest.mark.parametrize("weight", [TOP + 1, -1])
def test_weights_beyond_the_edge_are_refused(weight: int) -> None:
    with pytest.raises(ConfigError, match=f"found {weight}, allowed: an integer from 0 to {TOP}"):
        Cluster.of("msmq", destination=[{"name": "A", "weight": weight}])


def test_a_live_balancer_passes_the_edge() -> None:
    destinations = [{"name": "A", "weight": TOP}, {"name": "B", "weight": TOP - 1}]
    cluster = Cluster.of("msmq", destination=destinations)
    balancer = Balancer(cluster)
    found = [balancer.choose().destination for _ in range(1_000)]
    assert found == ["A", "B"] * 500
    balancer.apply(Change("B", "weight", 1))
    assert [balancer.choose().destination for _ in range(600)] == ["A"] * 600


# --- fewest-pending by strength --------------------------------------------------------------


@pytest.mark.parametrize("weight", [2**31, 2**62 - 1, 2**62, TOP])
def test_pending_times_weight_stays_below_the_edge(weight: int) -> None:
    rule = FewestPending([1000, 1000], [weight, 1])
    most = TOP // weight
    assert rule.fits_int64(most - 1) == (most < TOP // (2 << 24))
    assert not rule.fits_int64(most)


@pytest.mark.parametrize("weights", [(TOP, TOP - 1), (TOP, 1), (TOP, TOP, 3), (2**62, 2**61, 5)])
def test_engines_agree_on_who_is_strong_at_the_edge(weights: tuple[int, ...]) -> None:
    cluster = {
        "policy": "fewest-pending",
        "destination": [{"name": f"D{i}", "weight": w} for i, w in enumerate(weights)],
    }
    messages = [{"id": f"{k:05}", "time": k // 3, "service_time": 1 + k % 7} for k in range(60)]
    changes = [{"target": "D0", "attribute": "weight", "value": TOP // 3, "time": 9}]
    assert compiled(cluster, messages, changes) == live(cluster, messages, changes)


@given(pending=st.lists(SMALL, min_size=2, max_size=5), data=st.data())
def test_without_weights_and_with_equal_ones_it_is_the_fewest(
    pending: list[int], data: st.DataObject
) -> None:
    n = len(pending)
    cursor = data.draw(st.integers(0, n - 1))
    chosen = []
    for weights in ([], [data.draw(SMALL)] * n):
        rule = FewestPending([1000] * n, weights)
        rule.state.pending[:] = pending
        rule.state.cursor[0] = cursor
        chosen.append(rule.choose(list(range(n))))
    wanted = min(range(n), key=lambda i: (pending[i], i < cursor, i))
    assert chosen == [wanted, wanted]


def test_a_state_of_a_time_without_weights_is_taken_over() -> None:
    old = FewestPending([1000, 1000]).dump()
    del old["weight"], old["uneven"]
    rule = FewestPending([1000, 1000], [3, 1])
    rule.load(old)
    assert [rule.choose([0, 1]) for _ in range(4)] == [0, 1, 0, 0]
    assert FewestPending([1000, 1000]).carried(old, {0: 0, 1: 1})["weight"] == [1, 1]


# --- other weights ---------------------------------------------------------------------------


@given(rule=arbitrary(), data=st.data(), weights=st.lists(st.integers(1, 60), max_size=6))
@SEVERAL
def test_reweighing_in_place_keeps_every_ratio(
    rule: LeastServed, data: Any, weights: list[int]
) -> None:
    for weight in weights:
        s = rule.state
        i = data.draw(st.integers(0, len(s.weight) - 1))
        before = [least_served.ratio(s, j) for j in range(len(s.weight))]
        least_served.reweigh_in_place(s, i, weight)
        assert [least_served.ratio(s, j) for j in range(len(s.weight))] == before
        assert s.weight[i] == weight
    members = list(range(len(rule.state.weight)))
    expected = exactly(rule, members, 60)
    assert among(rule.copy(), members, 60) == expected
    assert one_by_one(rule, members, 60) == expected


@given(rule=arbitrary(weights=st.integers(1, 10**6)), data=st.data())
@SEVERAL
def test_level_is_the_lowest_ratio_rounded_down(rule: LeastServed, data: Any) -> None:
    s = rule.state
    i = data.draw(st.integers(0, len(s.weight) - 1))
    others = [j for j in range(len(s.weight)) if j != i]
    least_served.level(s, i, others)
    lowest = min((least_served.ratio(s, j) for j in others), default=Fraction(0))
    assert least_served.ratio(s, i) <= lowest
    assert least_served.ratio(s, i) + Fraction(1, s.weight[i]) > lowest


# --- ready-ring ------------------------------------------------------------------------------


@st.composite
def rings(draw: st.DrawFn, *, capacities: bool) -> ReadyRing:
    """Peers that have been served, disconnected and connected in some order."""
    n = draw(st.integers(1, 6))
    sizes = st.sampled_from([0, 1, 2, 3]) if capacities else st.just(0)
    rule = ReadyRing(
        draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)),
        draw(st.lists(sizes, min_size=n, max_size=n)),
        [1000] * n,
    )
    for i in draw(st.permutations(range(n))):
        ready_ring.connect(rule.state, i)
    for i in draw(st.lists(st.integers(0, n - 1), max_size=8)):
        if rule.state.connected[i]:
            ready_ring.disconnect(rule.state, i)
        else:
            ready_ring.connect(rule.state, i)
    return rule


@given(rule=rings(capacities=False), data=st.data(), n=st.integers(0, 60))
@SEVERAL
def test_a_ring_without_limits_is_a_schedule(rule: ReadyRing, data: Any, n: int) -> None:
    members = [i for i in members_of(rule, data.draw) if rule.state.connected[i]]
    assume(members)
    assert rule.skips(members)
    stepped, skipped, ahead = rule.copy(), rule.copy(), rule.copy()
    expected = one_by_one(stepped, members, n)
    skipped.advance(members, n)
    assert ahead.upcoming(members, n) == expected
    assert among(rule.copy(), members, n) == expected
    after = one_by_one(stepped, members, 30)
    assert one_by_one(skipped, members, 30) == after
    period = rule.period(members)
    assert after[period:] == after[: 30 - period]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["choose", "choose", "complete", "go", "come", "other"]), st.integers(0, 5)
    ),
    max_size=60,
)


@given(rule=rings(capacities=True), data=st.data(), events=EVENTS)
@SEVERAL
def test_a_ring_that_looks_at_each_peer_and_one_that_does_not_choose_the_same(
    rule: ReadyRing, data: Any, events: list[tuple[str, int]]
) -> None:
    looking, quick = rule.copy(), rule
    members = tuple(members_of(rule, data.draw))
    for event, number in events:
        i = number % len(rule.state.ring)
        if event == "choose":
            assert quick.choose(members) == looking.choose([*members])
        elif event == "complete":
            for each in (looking, quick):
                each.completed(i)
        elif event == "other":  # the cluster has changed: others can be chosen
            members = tuple(members_of(rule, data.draw))
        else:
            turn = ready_ring.connect if event == "come" else ready_ring.disconnect
            for each in (looking, quick):
                turn(each.state, i)
        assert quick.state == looking.state


@given(rule=rings(capacities=True), data=st.data(), n=st.integers(0, 30))
@SEVERAL
def test_a_ring_takes_no_more_than_it_may_hold(rule: ReadyRing, data: Any, n: int) -> None:
    members = [i for i in members_of(rule, data.draw) if rule.state.connected[i]]
    assume(members)
    held = dict.fromkeys(members, 0)
    plain = rule.copy()
    for _ in range(n):
        found = plain.choose(members)
        if found < 0:
            assert all(0 < rule.state.capacity[i] <= held[i] for i in members)
            busy = data.draw(st.sampled_from(members))
            plain.completed(busy)
            held[busy] -= 1
        else:
            held[found] += 1
            assert rule.state.capacity[found] == 0 or held[found] <= rule.state.capacity[found]
    assert among(rule.copy(), members, n) == one_by_one(rule, members, n)
