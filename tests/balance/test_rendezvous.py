"""Choosing by key: fair, the same everywhere, and no key moves that need not."""

import re
from collections import Counter
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.balance.many import one_after_another
from tests.oracle import rendezvous as formula
from tests.strategies import AWKWARD_NAMES

from fairlead import Balancer, Change, Cluster, route
from fairlead.balance.rules import rendezvous
from fairlead.balance.rules.keyed import PLACES, number_of
from fairlead.balance.rules.rendezvous import Rendezvous, draw, logarithms, times
from fairlead.balance.rules.rule import Otherwise
from fairlead.compiled.kernels import as_arrays, kernels
from fairlead.errors import ConfigError, MessageError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policies" / "everyday.md"
VECTOR = re.compile(r"^\| `(.+?)` \| (\d+) \| `(.+?)` \| (\d+) \| (\d+) \|$", re.MULTILINE)
SIGMAS = 5
numbers = st.one_of(st.integers(0, PLACES + 5), st.integers(0, 2**62 - 1))
weights = st.one_of(st.integers(1, 9), st.integers(1, 2**63 - 1))
clusters = st.dictionaries(st.sampled_from(AWKWARD_NAMES), weights, min_size=2, max_size=6)
some_keys = st.lists(numbers, min_size=1, max_size=40)


def rule_of(weights: dict[str, int]) -> Rendezvous:
    names = sorted(weights)
    return Rendezvous(names, [weights[name] for name in names])


def chosen(weights: dict[str, int], keys: list[int]) -> list[str]:
    """Whom each key falls to."""
    rule, names = rule_of(weights), sorted(weights)
    everybody = list(range(len(names)))
    found = one_after_another(rule, [everybody], [0] * len(keys), numbers=keys)
    return [names[i] for i in found]


# --- the formula -----------------------------------------------------------------------------


def test_the_page_s_vectors() -> None:
    found = VECTOR.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) >= 8
    for key, number, name, of_name, drawn in found:
        word = key.encode().decode("unicode_escape") if key.isascii() else key
        assert number_of(word, 0) == formula.number(word, 0) == int(number)
        rule = rule_of({name: 1})
        assert rule.state.number == [int(of_name)]
        assert draw(rule.state, 0, int(number)) == formula.draw(name, int(number)) == int(drawn)


def test_the_table_is_that_of_the_logarithm() -> None:
    assert list(logarithms()) == [formula.log2(k) for k in range(257)]


@given(a=st.integers(0, 2**62 - 1), b=st.integers(0, 2**62 - 1))
def test_a_product_keeps_its_lowest_62_bits(a: int, b: int) -> None:
    assert times(a, b) == a * b % 2**62 == kernels(rendezvous).times(a, b)


@given(name=st.sampled_from(AWKWARD_NAMES), key=numbers)
def test_draws_are_the_same_compiled_and_by_the_formula(name: str, key: int) -> None:
    rule = rule_of({name: 1})
    drawn = draw(rule.state, 0, key)
    assert drawn == formula.draw(name, key)
    assert drawn == kernels(rendezvous).draw(as_arrays(rule.state), 0, key)
    assert 0 <= drawn <= rendezvous.MAX_DRAW


def test_without_a_key_the_place_is_one() -> None:
    assert number_of("", 7) == 2**32 + 7
    assert number_of("0", 7) < 2**32


# --- shares ----------------------------------------------------------------------------------

KINDS = {
    "words": [number_of(f"user-{k}", 0) for k in range(100_000)],
    "numbers": [number_of(f"{k:08}", 0) for k in range(100_000)],
    "places": [number_of("", k) for k in range(100_000)],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [(1, 2, 5), (1, 1, 1, 1, 1, 1, 1), (1, 100)])
def test_shares_follow_the_weights(kind: str, parts: tuple[int, ...]) -> None:
    keys = KINDS[kind]
    counts = Counter(chosen({f"d{k}": weight for k, weight in enumerate(parts)}, keys))
    for k, weight in enumerate(parts):
        part = weight / sum(parts)
        error = sqrt(len(keys) * part * (1 - part))
        assert abs(counts[f"d{k}"] - len(keys) * part) < SIGMAS * error


@pytest.mark.parametrize("kind", KINDS)
def test_neighbouring_keys_have_nothing_to_do_with_each_other(kind: str) -> None:
    found = chosen({"a": 1, "b": 2, "c": 5}, KINDS[kind])
    alike = (1 + 4 + 25) / 64
    error = sqrt(len(found) * alike * (1 - alike))
    for apart in (1, 2, 10, 16, 100, 256, 1000):
        same = sum(one == other for one, other in zip(found, found[apart:], strict=False))
        assert abs(same - (len(found) - apart) * alike) < SIGMAS * error


# --- what moves ------------------------------------------------------------------------------


@given(cluster=clusters, keys=some_keys, data=st.data())
def test_when_one_goes_only_its_keys_move(
    cluster: dict[str, int], keys: list[int], data: Any
) -> None:
    gone = data.draw(st.sampled_from(sorted(cluster)))
    less = {name: weight for name, weight in cluster.items() if name != gone}
    for before, after in zip(chosen(cluster, keys), chosen(less, keys), strict=True):
        assert before in (gone, after)


@given(cluster=clusters, keys=some_keys, data=st.data())
def test_when_a_weight_grows_keys_move_only_there(
    cluster: dict[str, int], keys: list[int], data: Any
) -> None:
    grown = data.draw(st.sampled_from(sorted(cluster)))
    more = {**cluster, grown: data.draw(st.integers(cluster[grown], 2**63 - 1))}
    for before, after in zip(chosen(cluster, keys), chosen(more, keys), strict=True):
        assert after in (grown, before)


@given(cluster=clusters, keys=some_keys, factor=st.integers(1, 1000))
def test_only_the_ratios_of_weights_matter(
    cluster: dict[str, int], keys: list[int], factor: int
) -> None:
    larger = {name: weight * factor for name, weight in cluster.items()}
    assert chosen(larger, keys) == chosen(cluster, keys)


@given(cluster=clusters, keys=some_keys)
def test_compiled_is_interpreted(cluster: dict[str, int], keys: list[int]) -> None:
    rule, names = rule_of(cluster), sorted(cluster)
    everybody = range(len(names))
    assert [names[rule.choose_for(everybody, key)] for key in keys] == chosen(cluster, keys)
    assert rule.dump() == rule_of(cluster).dump()


def test_weights_fit_up_to_the_edge() -> None:
    edge = (2**63 - 1) // (38 * 2**32)
    assert rule_of({"a": edge}).fits_int64(1)
    assert not rule_of({"a": edge + 1}).fits_int64(1)


# --- live ------------------------------------------------------------------------------------

ABC = [{"name": name, "weight": weight} for name, weight in (("A", 1), ("B", 2), ("C", 5))]
POOL = Cluster.of("rendezvous", name="pool", destination=ABC)


def test_a_key_s_destination_does_not_depend_on_what_came_before() -> None:
    balancer = Balancer(POOL)
    alone = {key: Balancer(POOL).choose({"group": key}).destination for key in "abcdefgh"}
    for key in "abba" * 3 + "hgfedcba":
        assert balancer.choose({"group": key}).destination == alone[key]
        balancer.choose()


@given(cluster=clusters, key=st.text(max_size=3))
@settings(max_examples=60)
def test_the_weight_that_would_have_been_enough_is_the_lowest(
    cluster: dict[str, int], key: str
) -> None:
    def balancer(weights: dict[str, int]) -> Balancer:
        rows = [{"name": name, "weight": weight} for name, weight in weights.items()]
        return Balancer(Cluster.of("rendezvous", destination=rows))

    explanation = balancer(cluster).choose({"group": key}).explain()
    enough = re.search(r"with a weight of (\d+) or more", explanation.otherwise)
    assert explanation.runner_up is not None
    if enough is None:
        assert "had been gone" in explanation.otherwise
        return
    weight = int(enough[1])
    with_it = balancer({**cluster, explanation.runner_up: weight}).choose({"group": key})
    assert with_it.destination == explanation.runner_up
    less = balancer({**cluster, explanation.runner_up: weight - 1}).choose({"group": key})
    assert less.destination != explanation.runner_up


@pytest.mark.parametrize(("first", "second", "enough"), [(0, 1, 3), (1, 0, 2)])
def test_a_weight_that_makes_it_equal_is_enough_for_the_first_by_name(
    first: int, second: int, enough: int
) -> None:
    """The draw of the second is twice that of the first: with a weight of 2 they are equal."""
    otherwise = rule_of({"A": 1, "B": 1})._otherwise(first, second, {first: 5, second: 10})
    assert otherwise == Otherwise("weight", enough)


def test_an_explanation_is_of_its_own_moment() -> None:
    balancer = Balancer(POOL)
    keyed, keyless = balancer.choose({"group": "é"}), balancer.choose()
    before = [str(each.explain()) for each in (keyed, keyless)]
    balancer.apply(Change("C", "weight", 1))
    for _ in range(5):
        balancer.choose({"group": "x"})
    assert [str(each.explain()) for each in (keyed, keyless)] == before
    assert "for the key's number 235179326" in before[0]
    assert "for place 1 in the stream, without a key" in before[1]
    for each in (keyed, keyless):
        assert each.explain().ranks[0][0] == each.destination


def test_a_snapshot_goes_on() -> None:
    balancer, other = Balancer(POOL), Balancer(POOL)
    balancer.apply(Change("C", "weight", 1))
    for _ in range(3):
        balancer.choose()
    other.restore(balancer.snapshot())
    for group in ["", "a", "", "b", "c", ""]:
        one, two = (each.choose({"group": group}) for each in (balancer, other))
        assert (one.destination, one.sequence) == (two.destination, two.sequence)


# --- tables ----------------------------------------------------------------------------------


def test_places_go_on_from_block_to_block() -> None:
    table = pa.table({"id": [f"{k:03}" for k in range(200)], "time": range(200)})
    table = table.append_column("group", pa.array([None, "a", "", "b"] * 50))
    found = route(table, POOL)["destination"].to_pylist()
    balancer = Balancer(POOL)
    groups = table["group"].to_pylist()
    assert found == [balancer.choose({"group": group}).destination for group in groups]
    assert len(set(found[::4])) == 3
    assert all(one == other for one, other in pairwise(found[1::4]))


def test_each_cluster_has_its_own_key() -> None:
    by_type = {"policy": "rendezvous", "name": "by type", "options": {"key": "type"}}
    own = Cluster.from_dict({**by_type, "destination": ABC}, default_name="")
    hub = Cluster.of(
        "ibm-mq",
        name="hub",
        queue_manager={"name": "HUB", "clusters": ["C"]},
        remote=[{"name": "X"}, {"name": "Y"}],
        channel=[{"name": f"TO.{q}", "queue_manager": q} for q in "XY"],
        queue=[{"name": "Q", "queue_manager": q, "bind": "on-group"} for q in "XY"],
    )
    rows = [
        {
            "id": f"{k:03}",
            "time": k,
            "cluster": ["pool", "by type", "hub"][k % 3],
            "group": "abc"[k // 3 % 3],
            "type": ["", "t", "u", "SetPriority"][k % 4],
            "bind": ["", "on-group"][k % 2],
            "queue": "Q",
        }
        for k in range(120)
    ]
    balancer = Balancer([POOL, own, hub])
    expected = [(d.destination, d.sequence) for d in map(balancer.choose, rows)]
    found = route(pa.Table.from_pylist(rows), [POOL, own, hub])
    assert [(r["destination"], r["sequence"]) for r in found.to_pylist()] == expected


@pytest.mark.parametrize("kind", [pa.float64(), pa.timestamp("us"), pa.decimal128(38, 2)])
def test_a_column_that_engines_spell_otherwise_is_no_key(kind: pa.DataType) -> None:
    table = pa.table({"id": ["a"], "time": [1], "group": pa.array([1]).cast(kind)})
    with pytest.raises(MessageError, match=r"group: found .*, allowed: text, whole numbers"):
        route(table, POOL)


@pytest.mark.parametrize("key", [1.0, 1e20, b"a"])
def test_a_value_that_engines_spell_otherwise_is_no_key(key: object) -> None:
    with pytest.raises(MessageError, match=r"message group: found .*, allowed: text, whole num"):
        Balancer(POOL).choose({"group": key})


def test_a_table_without_the_key_is_refused() -> None:
    with pytest.raises(
        MessageError, match=r"no column 'group', found: .*; cluster \w+ chooses by it"
    ):
        route(pa.table({"id": ["a"], "time": [1]}), POOL)


def test_a_key_that_is_no_attribute_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"options\.key: found 'gruop', allowed: group.*'group'"):
        Cluster.of("rendezvous", options={"key": "gruop"}, destination=ABC)
