"""Clusters in plain SQL, on PostgreSQL: choose, publish, change, and look at machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from fairlead import Cluster, Store
from tests.stores import made_url

Opened = Callable[..., Store]


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


# -------- what is settled in SQL completes


@pytest.mark.parametrize("outcome", ["accepted", "rejected", "expired"])
@pytest.mark.parametrize("in_sql", [False, True])
def test_what_is_settled_by_the_functions_is_completed_for_its_cluster(
    opened: Opened, outcome: str, in_sql: bool
) -> None:
    now = [1000.0]
    url = made_url("postgresql")
    store = opened(url, clock=lambda: now[0])
    store.keep_clusters([Cluster.of("fewest-pending", name="pool", destination=named("A", "B"))])
    expires = 1 if outcome == "expired" else None
    for id_ in ("m1", "m2"):
        store.publish("pool", "body", id=id_, expires=expires)
    if outcome == "expired":
        now[0] += 2
        assert store.take("B") is None
    elif in_sql:
        with psycopg.connect(url) as connection:
            connection.execute(
                "SELECT fairlead.settle(token, %s, array_agg(number)) FROM fairlead.take('B') "
                "GROUP BY token",
                [outcome],
            )
    else:
        work = store.take("B")
        assert work is not None
        assert next(work).id == "m2"
        work.accept() if outcome == "accepted" else work.reject()
    # B has nothing any more, A has one
    assert [store.next_destination("pool").destination for _ in range(3)] == ["B", "A", "B"]
