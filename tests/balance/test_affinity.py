"""Groups that stay where they went."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Balancer, Change, Cluster, route
from fairlead.errors import ChangeError, ConfigError, MessageError

AFFINE = {"affinity": "group"}


def pool(policy: str = "round-robin", *names: str, **options: Any) -> Cluster:
    return Cluster.of(
        policy,
        options={**AFFINE, **options},
        destination=[{"name": name, "address": f"to {name}"} for name in names or "ABC"],
    )


def went(balancer: Balancer, groups: Iterable[str]) -> list[str | None]:
    return [balancer.choose({"group": group}).destination for group in groups]


def test_a_decision_says_that_it_follows_its_group() -> None:
    balancer = Balancer(pool())
    assert went(balancer, "gh") == ["A", "B"]
    why = balancer.choose({"group": "g"}).explain()
    assert why.deciding_step == "bound"
    assert "g" in str(why)


def test_a_group_follows_its_destination_to_another_address() -> None:
    balancer = Balancer(pool())
    assert balancer.choose({"group": "g"}).address == "to A"
    balancer.apply(Change("A", "address", "elsewhere"))
    assert balancer.choose({"group": "g"}).address == "elsewhere"
    table = pa.table({"id": ["a", "b"], "time": [0, 2], "group": ["g", "g"]})
    moved = [Change("A", "address", "elsewhere", 1)]
    assert route(table, pool(), moved)["address"].to_pylist() == ["to A", "elsewhere"]


def test_a_snapshot_remembers_where_groups_went() -> None:
    one, other = Balancer(pool()), Balancer(pool())
    went(one, "ghk")
    one.apply(Change("B", "draining", True))
    other.restore(one.snapshot())
    assert went(other, "khgx") == went(one, "khgx") == ["C", "B", "A", "A"]


def test_the_words_of_a_binding_are_nobodys_business() -> None:
    balancer = Balancer(pool())
    message = {"group": "g", "bind": "sometimes", "producer": "p"}
    assert [balancer.choose(message).destination for _ in range(2)] == ["A", "A"]


def test_where_a_group_cannot_stay_affinity_is_refused() -> None:
    with pytest.raises(ConfigError, match="affinity"):
        pool("fewest-pending")
    with pytest.raises(ConfigError, match="affinity"):
        pool("broadcast")
    peers = [{"name": "A", "capacity": 1}]
    with pytest.raises(ConfigError, match="completions decide who is busy"):
        Cluster.of("nanomsg", options=AFFINE, destination=peers)
    balancer = Balancer(pool("nanomsg"))
    with pytest.raises(ChangeError, match="no destination can be busy"):
        balancer.apply(Change("A", "capacity", 1))


def test_a_table_without_groups_is_refused() -> None:
    table = pa.table({"id": ["a"], "time": [0]})
    refusal = (
        r"no column 'group', found: id, time; affinity = \"group\" of cluster default follows it"
    )
    with pytest.raises(MessageError, match=refusal):
        route(table, pool())


def test_draining_is_refused_where_it_would_be_ignored() -> None:
    with pytest.raises(ConfigError, match="draining"):
        Cluster.of("broadcast", destination=[{"name": "A", "draining": True}])
