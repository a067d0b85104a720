"""Every replay is the one that the plain program tells; and what holds whatever the traffic."""

from collections import Counter, defaultdict
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import engines
from tests.golden_cases import POLICIES
from tests.replay.engines import Attempt, Kernel, oracle, table
from tests.replay.scenarios import CROWDED, KINDS, replay_scenario, scenarios, some
from tests.strategies import Scenario

from fairlead.replay.flow_run import FlowRun

kinds = pytest.mark.parametrize("kind", some(KINDS))
AGAIN = ("rolled-back", "released")


@pytest.mark.costly
@kinds
@settings(max_examples=40)
@given(data=st.data())
def test_a_replay_is_what_the_plain_program_tells(kind: str, data: st.DataObject) -> None:
    scenario = data.draw(scenarios(kind))
    assert table(*scenario) == oracle(*scenario)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_interpreted_it_is_what_the_plain_program_tells(kind: str, data: st.DataObject) -> None:
    """Of every kind: nothing is compiled."""
    _is_what_the_plain_program_tells(data.draw(scenarios(kind)))


@pytest.mark.costly
@pytest.mark.parametrize("kind", CROWDED)
@settings(max_examples=100)
@given(data=st.data())
def test_where_most_can_meet_it_is_what_the_plain_program_tells(
    kind: str, data: st.DataObject
) -> None:
    _is_what_the_plain_program_tells(data.draw(scenarios(kind)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=1000)
@given(data=st.data())
def test_a_thousand_interpreted_are_what_the_plain_program_tells(
    kind: str, data: st.DataObject
) -> None:
    _is_what_the_plain_program_tells(data.draw(scenarios(kind)))


def _is_what_the_plain_program_tells(scenario: Scenario) -> None:
    if scenario[1]:
        assert Kernel(*scenario, interpreted=True).through() == oracle(*scenario)


@pytest.mark.costly
@kinds
@settings(max_examples=15)
@given(data=st.data())
def test_compiled_and_interpreted_in_pieces_and_by_events_are_one(
    kind: str, data: st.DataObject
) -> None:
    scenario = data.draw(scenarios(kind))
    if not scenario[1]:
        return
    whole = Kernel(*scenario).through()
    places = st.integers(0, len(scenario[1]))
    cuts = data.draw(st.lists(places, max_size=4))
    assert Kernel(*scenario).through(cuts) == whole
    assert Kernel(*scenario).through(range(1, len(scenario[1]))) == whole
    assert Kernel(*scenario, interpreted=True).through(cuts) == whole
    assert Kernel(*scenario, by_events=True).through(cuts) == whole


@pytest.mark.parametrize("kind", some(["weighted", "fewest-pending", "rendezvous", "msmq"]))
def test_some_traffic_flows(kind: str) -> None:
    scenarios_ = [replay_scenario(kind, Random(seed)) for seed in range(60)]  # noqa: S311
    runs = [Kernel(*scenario).run for scenario in scenarios_ if scenario[1]]
    assert any(isinstance(run, FlowRun) for run in runs)
    assert not all(isinstance(run, FlowRun) for run in runs)


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["weighted", "fewest-pending"])
@settings(max_examples=100)
@given(
    readers=st.lists(st.integers(1, 3), min_size=1, max_size=2),
    work=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 1, 2])), min_size=1, max_size=12
    ),
)
def test_work_that_takes_no_time_flows(
    kind: str, readers: list[int], work: list[tuple[int, int]]
) -> None:
    destinations = [{"name": f"D{k}", "readers": n} for k, n in enumerate(readers)]
    messages = [
        {"id": f"{k:02}", "time": time, "service_time": length}
        for k, (time, length) in enumerate(work)
    ]
    scenario = ({"policy": kind, "destination": destinations}, messages, [])
    flowing = Kernel(*scenario)
    assert isinstance(flowing.run, FlowRun)
    assert flowing.through() == Kernel(*scenario, by_events=True).through() == oracle(*scenario)


@pytest.mark.parametrize("kind", ["weighted", "fewest-pending"])
@settings(max_examples=40)
@given(
    work=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=2, max_size=12),
    cut=st.integers(1, 11),
)
def test_by_position_each_message_comes_at_the_latest_time_so_far(
    kind: str, work: list[tuple[int, int]], cut: int
) -> None:
    """Whatever piece of the messages that time stands in."""
    messages = [
        {"id": f"{k:02}", "position": k, "time": time, "service_time": length}
        for k, (time, length) in enumerate(work)
    ]
    latest = accumulate((time for time, _ in work), max)
    by_time = [{**row, "time": time} for row, time in zip(messages, latest, strict=True)]
    cluster = {"policy": kind, "destination": [{"name": "A"}, {"name": "B", "readers": 2}]}
    flowing = Kernel(cluster, messages, [])
    assert isinstance(flowing.run, FlowRun)
    told = oracle(cluster, by_time, [])
    cuts = [min(cut, len(work))]
    assert flowing.through(cuts) == told
    assert Kernel(cluster, messages, [], by_events=True).through(cuts) == told


# --- laws -----------------------------------------------------------------------------------


@kinds
@settings(max_examples=15)
@given(data=st.data())
def test_nothing_is_lost_and_no_reader_does_two_things(kind: str, data: st.DataObject) -> None:
    cluster, messages, changes = data.draw(scenarios(kind))
    if not messages:
        return
    found = Kernel(cluster, messages, changes).through()
    assert {row.id for row in found} == {str(message["id"]) for message in messages}
    _attempts_follow_one_another(found)
    _readers_do_one_thing(found, {str(each["id"]): each.get("subject", "") for each in messages})
    final = Counter(row.sequence for row in found if row.outcome not in AGAIN)
    routed = engines.compiled(cluster, messages, changes)
    assert final == Counter(sequence for _, _, sequence in routed)


def _attempts_follow_one_another(found: list[Attempt]) -> None:
    """One row of a message is its last at each destination, and each before it ends in vain."""
    attempts: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    of: dict[str, list[Attempt]] = defaultdict(list)
    for row in found:
        attempts[row.id, row.destination].append(row)
        of[row.id].append(row)
        assert (row.start is None) == (row.reader is None)
        assert (row.start is None and row.finish is None) == (row.wait is None)
        assert (row.wait or 0) >= 0
        if row.start is not None:
            assert row.finish is None or row.finish >= row.start
    for rows in of.values():
        again = sum(row.outcome in AGAIN for row in rows)
        everywhere = len({row.destination for row in rows if row.outcome not in AGAIN})
        assert len(rows) == again + everywhere
    for rows in attempts.values():
        for before, after in pairwise(rows):
            assert before.outcome in AGAIN
            assert after.attempt > before.attempt


def _readers_do_one_thing(found: list[Attempt], subject: dict[str, str]) -> None:
    """A subscriber of two subjects is two destinations."""
    work: dict[tuple[str, str, int | None], list[tuple[int, int]]] = defaultdict(list)
    for row in found:
        if row.start is not None and row.finish is not None:
            work[subject[row.id], row.destination, row.reader].append((row.start, row.finish))
    for times in work.values():
        for (_, finish), (start, _) in pairwise(sorted(times)):
            assert start >= finish


@pytest.mark.parametrize("kind", some(k for k in KINDS if k not in ("ibm-mq", "smartsockets")))
@settings(max_examples=15)
@given(data=st.data())
def test_a_group_is_worked_on_in_order_by_one_reader_at_a_time(
    kind: str, data: st.DataObject
) -> None:
    cluster, messages, changes = data.draw(scenarios(kind))
    changes = [change for change in changes if change["value"] != "failed"]
    messages = [{"group": "", **each} for each in messages]
    if not messages or any("rollbacks" in message for message in messages):
        return
    kernel = Kernel(cluster, messages, changes)
    place = {id_: k for k, id_ in enumerate(kernel.ids)}
    group = {str(message["id"]): message["group"] for message in messages}
    done: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for row in kernel.through():
        if group[row.id] and row.start is not None:
            done[row.destination, group[row.id]].append(row)
    for rows in done.values():
        rows.sort(key=lambda row: place[row.id])
        for before, after in pairwise(rows):
            assert before.finish is not None
            assert after.start is not None
            assert after.start >= before.finish


TIMED = ("nanomsg", "fewest-pending", "smartsockets", "composed")
OPEN_LOOP = [kind for kind in POLICIES if kind not in TIMED]


@pytest.mark.parametrize("kind", some(OPEN_LOOP))
@settings(max_examples=15)
@given(data=st.data())
def test_who_does_not_look_at_completions_is_chosen_as_by_route(
    kind: str, data: st.DataObject
) -> None:
    cluster, messages, changes = data.draw(scenarios(kind))
    failing = any(change["value"] == "failed" for change in changes)
    if not messages or failing:
        return
    found = [row for row in Kernel(cluster, messages, changes).through() if row.attempt == 1]
    outcomes = {"rolled-back": "routed"}
    got = [(row.destination, outcomes.get(row.outcome, row.outcome), row.sequence) for row in found]
    routed = engines.compiled(cluster, messages, changes)
    assert Counter(got) == Counter((name or "", *rest) for name, *rest in routed)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_more_readers_never_raise_a_wait_in_all(seed: int, readers: int, raised: bool) -> None:
    """Work of one length, all of one destination."""
    random = Random(seed)  # noqa: S311
    cluster: dict[str, Any] = {"policy": "round-robin", "destination": [{"name": "A"}]}
    cluster["order"] = {"discipline": "priority" if raised else "fifo"}
    messages = [
        {"id": f"{k:03}", "time": random.randint(0, 20), "service_time": 3, "priority": k % 3}
        for k in range(40)
    ]
    waits = []
    for n in (readers, readers + 1):
        cluster["destination"][0]["readers"] = n
        found = Kernel(cluster, messages, []).through()
        assert sum(row.finish - row.start for row in found) == 40 * 3_000_000  # type: ignore[operator]
        waits.append(sum(row.wait or 0 for row in found))
    assert waits[1] <= waits[0]


COUNTING = {"fewest-pending": "pending", "nanomsg": "held", "composed ready-ring": "held"}


@pytest.mark.parametrize("kind", some(COUNTING))
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_pending_in_the_end_is_what_is_left(kind: str, data: st.DataObject) -> None:
    scenario: Scenario = data.draw(scenarios(kind))
    # What follows its group is not chosen, so it does not count.
    if not scenario[1] or scenario[0].get("options", {}).get("affinity") == "group":
        return
    kernel = Kernel(*scenario)
    kernel.through()
    kernel.run.cluster.rule.adopt(kernel.run.state)
    pending = getattr(kernel.run.cluster.rule.state, COUNTING[kind])
    left = kernel.attempts(kernel.replays.left())
    names = Counter(row.destination for row in left if row.destination)
    assert dict(zip(kernel.run.cluster.members, pending, strict=True)) == {
        name: names[name] for name in kernel.run.cluster.members
    }
