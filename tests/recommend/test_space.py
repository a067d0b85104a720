"""What may vary, what is aimed at and what it costs: read from texts, refused by name."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Cluster, load_clusters
from fairlead.config.written import as_toml
from fairlead.errors import UserError
from fairlead.recommend.goal import cost_of, target_of
from fairlead.recommend.space import LIMITED, space_of
from fairlead.results.comparison import Waits

POOL = Cluster.of(
    "weighted",
    name="pool",
    destination=[
        {"name": "h100-1", "weight": 4, "readers": 2},
        {"name": "h100-2", "weight": 4, "readers": 2},
        {"name": "a10", "speed": 0.5},
    ],
)


def test_a_pattern_varies_its_destinations_together_and_each_by_themselves() -> None:
    together = space_of(POOL, ["weight of h100-* 1..3"])
    assert [knob.values for knob in together.knobs] == [(1, 2, 3)]
    cluster = together.cluster_at((3,))
    assert cluster is not None
    assert [each["weight"] for each in cluster.to_dict()["destination"]] == [3, 3, 1]
    apart = space_of(POOL, ["readers of each h100-* 1,5", "speed of a10 0.5,1"])
    assert apart.size == 8
    assert apart.said((5, None, 1)) == ["readers of h100-1 = 5", "speed of a10 = 1"]


def test_a_policy_keeps_what_it_knows_of_the_destinations() -> None:
    space = space_of(POOL, ["policy"])
    limited = space.cluster_at((LIMITED,))
    assert limited is not None
    assert [each["capacity"] for each in limited.to_dict()["destination"]] == [2, 2, 1]
    plain = space.cluster_at(("round-robin",))
    assert plain is not None
    assert plain.policy.name == "round-robin"
    assert "weight" not in plain.to_dict()["destination"][0]


@pytest.mark.parametrize(
    ("vary", "line"),
    [
        ([], "--vary: found nothing, allowed: at least one, such as"),
        (["weights"], "--vary: found 'weights', allowed: such as"),
        (["weight of b100-*"], "found no destination 'b100-*', allowed: h100-1, h100-2, a10"),
        (["wait of *"], "--vary wait of *: found 'wait', allowed: capacity"),
        (["weight of * 5..1"], "found 5..1, allowed: A..B"),
        (["weight of * one"], "found 'one', allowed: numbers"),
        (["speed of *"], "found no values, allowed: such as 1..8"),
        (["policy fifo"], "found 'fifo', allowed: round-robin"),
        (["weight of *", "weight of a10 1..2"], "found weight of a10 varied twice"),
        (["policy", "policy"], "found policy varied twice"),
    ],
)
def test_what_cannot_vary_is_one_line(vary: list[str], line: str) -> None:
    with pytest.raises(UserError) as refused:
        space_of(POOL, vary)
    assert line in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("p99_wait", "--target: found 'p99_wait', allowed: MEASURE < NUMBER UNIT"),
        ("p98_wait < 2s", "--target: found 'p98_wait', allowed: p99_wait"),
        ("p99_wait < 2", "--target: found 'p99_wait < 2', allowed: MEASURE < NUMBER UNIT"),
        ("p99_wait > 2s", "--target: found 'p99_wait > 2s', allowed"),
    ],
)
def test_a_target_that_is_none_is_one_line(text: str, line: str) -> None:
    with pytest.raises(UserError) as refused:
        target_of(text)
    assert str(refused.value).startswith(line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("three of *", "--cost: found 'three of *', allowed: PRICE of PATTERN"),
        ("3 of b100-*", "--cost 3 of b100-*: found no destination 'b100-*'"),
    ],
)
def test_a_cost_that_is_none_is_one_line(text: str, line: str) -> None:
    with pytest.raises(UserError) as refused:
        cost_of([text], POOL)
    assert str(refused.value).startswith(line)


def test_the_cost_is_that_of_all_readers() -> None:
    assert cost_of([], POOL).of(POOL) == 5
    assert cost_of(["2.5 of h100-*", "10 of h100-2"], POOL).of(POOL) == 5 + 20 + 1


def test_a_limit_itself_counts_as_it_is_written() -> None:
    at_limit = Waits("", 3, 2.0, 2.0, 2.0, 2.0, 2.0)
    assert target_of("max_wait <= 2s").met(at_limit)
    assert not target_of("max_wait < 2s").met(at_limit)


NAMES = st.text("abcä\"'\\ #-.", min_size=1, max_size=8).map(str.strip).filter(bool)


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 99), min_size=4, max_size=4),
    discipline=st.sampled_from(["fifo", "priority"]),
    ageing=st.sampled_from([0, 2.5]),
    comment=st.sampled_from(["", "One line.", "Two\nlines."]),
)
def test_a_cluster_written_as_a_file_reads_back_as_itself(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    weights: list[int],
    discipline: str,
    ageing: Any,
    comment: str,
) -> None:
    tables = [{"name": n, "weight": w} for n, w in zip(names, weights, strict=False)]
    order = {"discipline": discipline, **({"ageing": ageing} if discipline == "priority" else {})}
    cluster = Cluster.of("weighted", name="pool", destination=tables, order=order)
    file: Path = tmp_path_factory.mktemp("written") / "pool.toml"
    file.write_text(as_toml(cluster, comment), encoding="utf-8")
    tomllib.loads(file.read_text(encoding="utf-8"))
    (read,) = load_clusters(file)
    assert read.to_dict() == cluster.to_dict()
