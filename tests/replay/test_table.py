"""`replay` of a table: what comes in, what comes out, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from tests.replay.engines import Kernel, oracle, table

from fairlead import Change, Cluster
from fairlead.errors import FairleadError, MessageError
from fairlead.replay import replay

ONE = Cluster.of("round-robin", destination=[{"name": "A", "address": "queue:a"}])


def rows(**columns: Any) -> pa.Table:
    n = len(next(iter(columns.values())))
    ids = [str(k) for k in range(n)]
    return pa.table({"id": ids, "time": [0.0] * n, "service_time": [1.0] * n, **columns})


def test_rows_come_in_any_order_and_go_out_in_order_with_what_they_brought() -> None:
    found = replay(rows(id=["b", "a", "c"], time=[1, 1, 0], letter=["B", "A", "C"]), ONE)
    assert found.column("letter").to_pylist() == ["C", "A", "B"]
    assert (
        found.select(["destination", "address", "outcome", "sequence", "attempt", "reader"])[
            "address"
        ].to_pylist()
        == ["queue:a"] * 3
    )
    assert found.column("start").to_pylist() == [0, 1, 2]
    assert found.column("finish").to_pylist() == [1, 2, 3]
    assert found.column("wait").to_pylist() == [0, 0, 1]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_go_out_as_they_came_in(unit: str, zone: str | None) -> None:
    moment = datetime(2026, 11, 21, 10, tzinfo=UTC if zone else None)
    times = pa.array([moment, moment], pa.timestamp(unit, zone))
    found = replay(rows(time=times), ONE)
    assert found.schema.field("start").type == pa.timestamp("us", zone)
    second = moment.replace(second=1)
    assert found.column("start").to_pylist() == [moment, second]
    assert found.column("finish").to_pylist() == [second, moment.replace(second=2)]


def test_an_attempt_is_a_row() -> None:
    found = replay(rows(rollbacks=[0, 2]), ONE)
    assert found.column("id").to_pylist() == ["0", "1", "1", "1"]
    assert found.column("attempt").to_pylist() == [1, 1, 2, 3]
    assert found.column("outcome").to_pylist() == ["routed", "rolled-back", "rolled-back", "routed"]
    assert found.column("sequence").to_pylist() == [0, 1, 1, 1]
    assert found.column("wait").to_pylist() == [0, 1, 0, 0]


def test_clusters_are_replayed_beside_each_other() -> None:
    clusters = [
        Cluster.of(policy, name=policy, destination=[{"name": "A"}])
        for policy in ("round-robin", "nanomsg")
    ]
    found = replay(rows(cluster=["nanomsg", "round-robin", "nanomsg", "?", ""]), clusters)
    assert found.column("start").to_pylist() == [0, 0, 1, None, None]
    assert found.column("outcome").to_pylist() == ["routed"] * 3 + ["no-destination"] * 2


def test_no_messages() -> None:
    found = replay(rows(priority=pa.array([], pa.int64())), ONE, [Change("A", "readers", 2, 1)])
    assert found.num_rows == 0
    assert "wait" in found.column_names


def test_priorities_as_text() -> None:
    cluster = Cluster.of(
        "round-robin", order={"discipline": "priority"}, destination=[{"name": "A"}]
    )
    found = replay(rows(priority=["", None, "7"]), cluster)
    assert found.column("start").to_pylist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        (pa.table({"id": ["a"], "time": [0]}), "no column 'service_time'"),
        (rows(service_time=[None]), "service_time"),
        (
            rows(priority=[256]),
            "row 0: priority: found '256', allowed: an integer from 0 to 255, or",
        ),
        (rows(priority=["high"]), "priority"),
        (rows(cost=[0]), "row 0: cost: found '0', allowed: an integer from 1 to 1000000000"),
        (rows(rollbacks=[-1]), "row 0: rollbacks: found '-1'"),
        (rows(id=["a", "a"]), "id"),
        (
            rows(group=["g", "h", "g"], tenant=["x", "y", "y"]),
            "row 2: tenant: found 'y', allowed: 'x', as the first message of its group has",
        ),
        (rows(wait=[1]), "column 'wait' is what a replay adds; rename it"),
        (rows(reader=[1]), "column 'reader' is what a replay adds; rename it"),
    ],
)
def test_what_is_refused(messages: pa.Table, error: str) -> None:
    with pytest.raises(MessageError, match=error):
        replay(messages, ONE)


def test_groups_of_two_clusters_are_two_groups() -> None:
    two = [Cluster.of("weighted", name=name, destination=[{"name": "A"}]) for name in "ab"]
    others = rows(group=["g"] * 3, tenant=["x", "y", "z"], cluster=["a", "b", "nowhere"])
    assert len(replay(others, two)) == 3
    same = rows(group=["g", "g"], tenant=["x", "y"], cluster=["b", "b"])
    with pytest.raises(MessageError, match="row 1: tenant: found 'y', allowed: 'x'"):
        replay(same, two)
    with pytest.raises(MessageError, match="row 1: tenant: found 'y', allowed: 'x'"):
        replay(rows(group=["g", "g"], tenant=["x", "y"], cluster=["", "b"]), two[1])


def test_a_group_is_one_tenants_in_all_batches() -> None:
    messages = [
        {"id": str(k), "time": k, "service_time": 1, "group": "g", "tenant": "yx"[k // 3]}
        for k in range(4)
    ]
    kernel = Kernel({"policy": "round-robin", "destination": [{"name": "A"}]}, messages, [])
    kernel.feed(0, 2)
    with pytest.raises(MessageError, match="row 3 in order, tenant"):
        kernel.feed(2, 4)


def test_costs_beyond_64_bits_are_refused() -> None:
    order = {"weights": {"x": 999_983, "y": 999_979, "z": 999_961}}
    cluster = Cluster.of("round-robin", order=order, destination=[{"name": "A"}])
    with pytest.raises(FairleadError, match="cost: found 10 in all, allowed: less than 4"):
        replay(rows(tenant=["x", "y"], cost=[5, 5]), cluster)


# --- exact, and whatever the rule -------------------------------------------------------------


@pytest.mark.parametrize("priority", [None, 3])
def test_weights_whose_products_leave_64_bits_are_compared_exactly(priority: int | None) -> None:
    weights = [2**62 + 1, 2**62, 2**61 + 7]
    cluster = {
        "policy": "weighted",
        "order": {"discipline": "priority"},
        "destination": [{"name": n, "weight": w} for n, w in zip("ABC", weights, strict=True)],
    }
    messages = [
        {"id": f"{k:03}", "time": k, "service_time": 2, "priority": priority} for k in range(50)
    ]
    light = [{"target": "A", "attribute": "weight", "value": 1, "time": 30}]
    assert table(cluster, messages, light) == oracle(cluster, messages, light)
    small = [{**change, "time": 0, "target": n} for change in light for n in "BC"]
    assert table(cluster, messages, light + small) == oracle(cluster, messages, light + small)


def test_work_that_takes_no_time_at_a_high_speed_is_done_before_the_next_reader_looks() -> None:
    cluster = {"policy": "hot-standby", "destination": [{"name": "A", "readers": 2, "speed": 3}]}
    messages = [{"id": f"{k}", "time": 0, "service_time": "0.000001"} for k in range(3)]
    found = table(cluster, messages, [])
    assert [row.reader for row in found] == [1, 2, 1]
    assert found == oracle(cluster, messages, [])


def test_what_was_taken_away_before_it_began_has_waited_until_then() -> None:
    cluster = {"policy": "round-robin", "destination": [{"name": "A"}]}
    messages = [{"id": name, "time": k, "service_time": 9} for k, name in enumerate("ab")]
    fails = {"time": 5, "target": "A", "attribute": "state", "value": "failed"}
    found = {(row.id, row.attempt): row for row in table(cluster, messages, [fails])}
    begun, waited = found["a", 1], found["b", 1]
    assert (begun.start, begun.finish, begun.wait) == (0, 5_000_000, 0)
    assert (waited.start, waited.finish, waited.wait) == (None, 5_000_000, 4_000_000)
