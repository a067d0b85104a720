"""A search finds what trying everything finds, and says so when there is nothing to find."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from fairlead import Change, Cluster
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.rows import CheckedTable as Table
from fairlead.compiled.intake.rows import validate
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.memory.replay import PreparedMessages, prepared
from fairlead.recommend.goal import cost_of, target_of
from fairlead.recommend.recommend import SearchRequest, SearchResult, recommend, split
from fairlead.recommend.search import CHARTED
from fairlead.recommend.space import LIMITED, Space, space_of
from fairlead.recommend.trial import trial
from fairlead.recommend.verify import more_traffic
from fairlead.replay import replay

CREWS = Cluster.of(
    "round-robin",
    name="crews",
    destination=[{"name": "big", "readers": 4}, {"name": "small", "readers": 2, "speed": 0.5}],
)


def traffic(messages: int = 1_500, rate: float = 3.0) -> pa.Table:
    """Arrivals at random at this rate (a second), of a second of work each on average."""
    random, time, rows = Random(3), 0.0, []  # noqa: S311
    for k in range(messages):
        time += random.expovariate(rate)
        rows.append((f"m{k:05}", round(time, 6), round(random.expovariate(1), 6), f"g{k % 400}"))
    names = ("id", "time", "service_time", "group")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def ready(table: pa.Table, cluster: Cluster = CREWS) -> PreparedMessages:
    plan = Plan([cluster], [])
    return prepared(accepted(validate(Table(table, None), plan, worked=True)), [plan])


def found(
    space: Space, target: str, *, budget: int = 200, table: pa.Table | None = None
) -> SearchResult:
    asked = SearchRequest(space, target_of(target), cost_of([], space.cluster), (), budget)
    return recommend(ready(traffic() if table is None else table), asked)


def cheapest(space: Space, table: pa.Table, limit: float) -> float | None:
    """The cost of the cheapest cluster that keeps p99 in this traffic, by trying all of it."""
    early, _ = split(ready(table), "m")
    costs = []
    for big in space.knobs[0].values:
        for small in space.knobs[1].values:
            cluster = space.cluster_at((big, small))
            assert cluster is not None
            waits = sorted(replay(early.messages.table, cluster)["wait"].to_pylist())
            rank = -(-99 * len(waits) // 100)
            if waits[rank - 1] < limit * 0.998:  # a histogram is so exact
                costs.append(cost_of([], cluster).of(cluster))
    return min(costs, default=None)


@pytest.mark.parametrize("limit", [1.0, 4.0, 30.0])
def test_a_small_space_gives_the_optimum(limit: float) -> None:
    space = space_of(CREWS, ["readers of big 3..8", "readers of small 2..6"])
    result = found(space, f"p99_wait < {limit}s").recommendation
    assert result.found
    assert min(each.cost for each in result.tried if each.met) == cheapest(space, traffic(), limit)


def test_a_large_space_is_searched_within_its_budget_and_comes_close() -> None:
    space = space_of(
        CREWS,
        ["readers of big 1..40", "readers of small 1..40", "speed of big 1..3", "policy",
         "capacity of small 0..1000000000000 step 100000000", "priority of each * 1..16"],
    )  # fmt: skip
    assert space.size > 10**10
    result = found(space, "p99_wait < 2s", budget=120).recommendation
    assert result.found
    assert len(result.tried) <= 121 + 2 * CHARTED + 2
    assert "points were tried: there may be better ones" in result.notes[0]
    assert result.then.cost <= 10


def test_one_line_for_all_is_tried_unasked_with_the_policy() -> None:
    space = space_of(CREWS, ["policy"])
    result = found(space, "mean_wait < 1ms").recommendation
    values = {each.said[0]: each.value for each in result.tried if each.said and each.seen >= 1}
    assert min(values, key=lambda name: values[name]) == f"policy = {LIMITED}"


def test_nothing_in_the_space_meets_it() -> None:
    space = space_of(CREWS, ["readers of * 1..2"])
    result = found(space, "p99_wait < 1ms").recommendation
    assert not result.found
    assert all(each.seen < 1 or not each.met for each in result.tried)
    assert not result.then.met


def test_the_verdict_is_about_traffic_that_the_search_never_saw() -> None:
    table = traffic()
    early, late = split(ready(table), "m")
    assert len(early.messages.times) + len(late.messages.times) == len(table)
    assert early.messages.times.max() < late.messages.times.min()
    space = space_of(CREWS, ["readers of big 5..9"])
    result = found(space, "p99_wait < 3s").recommendation
    assert (result.searched, result.held_out) == (
        len(early.messages.times),
        len(late.messages.times),
    )
    assert result.then.messages == len(late.messages.times)
    assert 0 <= result.sure <= 1
    assert 0 <= result.tenths <= 10
    assert [each.name for each in result.breaks] == [
        "big is away",
        "small is away",
        "10 % more traffic",
    ]


def test_a_destination_that_is_away_stays_away_whatever_was_recorded_of_it() -> None:
    space = space_of(CREWS, ["readers of big 5..9"])
    back = [Change("big", "present", False, 10), Change("big", "present", True, 20)]
    plain = SearchRequest(space, target_of("p99_wait < 3s"), cost_of([], CREWS))
    lived = replace(plain, changes=back)
    one, other = (recommend(ready(traffic()), each).recommendation for each in (plain, lived))
    assert one.breaks[0] == other.breaks[0]
    assert one.breaks[0].value > one.then.value


def test_what_meets_the_target_only_in_the_search_is_said() -> None:
    table = traffic()
    early = len(split(ready(table), "m")[0].messages.times)
    slower = [0.1 if k < early else 5.0 for k in range(len(table))]
    table = table.set_column(2, "service_time", pa.array(slower))
    result = found(space_of(CREWS, ["readers of big 4..5"]), "p99_wait < 3s", table=table)
    assert result.recommendation.found
    assert not result.recommendation.then.met
    assert not result.recommendation.met
    assert result.recommendation.then.name == "the nearest"
    assert result.recommendation.verdict == (
        "p99_wait < 3s: met on the traffic of the search, and missed on the rest; the nearest"
    )
    assert result.recommendation.notes[0].startswith("record more traffic")


def test_what_was_not_tried_is_not_said_to_miss_the_target() -> None:
    space = space_of(CREWS, ["readers of each * 1..400", "speed of each * 0.01,0.02,0.03"])
    result = found(space, "max_wait < 1ms", budget=3).recommendation
    assert not result.met
    tried = len(result.tried) - 1
    assert result.verdict == (
        f"nothing was found that meets max_wait < 1ms in the {tried} of 1,440,000 points that were "
        "tried; the nearest"
    )


def test_what_a_chart_tried_counts_too() -> None:
    space = space_of(CREWS, ["readers of each * 1..6"])
    result = found(space, "p99_wait < 6s", budget=3).recommendation
    assert [each.cost for each in result.tried[:4] if each.met] == []
    assert result.found
    assert result.then.cost == min(each.cost for each in result.tried if each.met)


def test_what_is_worse_than_today_on_the_rest_is_not_recommended() -> None:
    """The cheaper crew keeps up with the earlier traffic, and not with the later."""
    table = traffic()
    early = len(split(ready(table), "m")[0].messages.times)
    busier = [0.1 if k < early else 0.5 for k in range(len(table))]
    table = table.set_column(2, "service_time", pa.array(busier))
    crew = Cluster.of("round-robin", destination=[{"name": "big", "readers": 2}])
    result = found(space_of(crew, ["readers of big 1..2"]), "p99_wait < 5s", table=table)
    assert result.recommendation.now.met
    assert result.recommendation.said == []
    assert result.recommendation.then == replace(result.recommendation.now, name="recommended")
    assert result.recommendation.notes[0].startswith(
        "what came first in the search (readers of big = 1) is not recommended: on the traffic "
        "that it never saw it is worse than the file, cost 1 instead of 2, p99_wait "
    )
    assert result.cluster == crew


def test_values_that_change_nothing_are_said() -> None:
    line = Cluster.of(
        {"eliminate": ["down"], "choose": "ready-ring"},
        destination=[{"name": name, "readers": 2, "capacity": 2} for name in ("a", "b")],
    )
    notes = found(space_of(line, ["readers of each * 1..8"]), "p99_wait < 2s").recommendation.notes
    said = [each for each in notes if "change nothing" in each]
    assert said == [
        f"readers of {name} above 2 change nothing: capacity is 2; vary that, too" for name in "ab"
    ]
    both = space_of(line, ["readers of * 1..3", "capacity of * 1..3"])
    notes = found(both, "p99_wait < 2s").recommendation.notes
    assert not any("change nothing" in each for each in notes)


def test_too_little_traffic_is_refused() -> None:
    with pytest.raises(MessageError, match="m: found 30 messages, allowed: at least 20 in the"):
        split(ready(traffic(30)), "m")


def test_a_trial_gives_the_waits_of_a_replay_and_breaks_off_only_what_misses() -> None:
    table = traffic()
    changes: Sequence[Change] = [
        Change("big", "state", "down", 40),
        Change("big", "state", "up", 60),
    ]
    whole = trial(ready(table), CREWS, changes, target_of("p99_wait < 20s"))
    waits = replay(table, CREWS, changes)["wait"].to_pylist()
    assert whole.waits.messages == len(waits)
    assert whole.waits.max == pytest.approx(max(waits))
    assert whole.waits.mean == pytest.approx(sum(waits) / len(waits))
    assert len(whole.late) == sum(wait >= 20 for wait in waits)
    broken = trial(ready(table), CREWS, changes, target_of("max_wait < 1ms"), unserved=0)
    assert not broken.whole


def test_more_traffic_adds_whole_conversations_later() -> None:
    given = ready(traffic(3_000))
    more = more_traffic(given, 10)
    n = len(given.messages.times)
    assert 1.02 * n < len(more.messages.times) < 1.2 * n
    groups = more.read["group"].to_pylist()
    copies = {name for name in groups if name.endswith("~1")}
    for copy in copies:
        assert groups.count(copy) == groups.count(copy.removesuffix("~1"))
    assert (more.messages.times[1:] >= more.messages.times[:-1]).all()
