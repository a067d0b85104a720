"""What makes the cluster of a file the one of now: whoever asks what if begins with that."""

from typing import Any

import pytest

from fairlead import Change, Cluster, Store
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError

CLUSTERS: list[tuple[dict[str, Any], list[Change]]] = [
    (
        {
            "policy": "msmq",
            "destination": [{"name": "a", "weight": 3}, {"name": "b", "weight": 1}],
        },
        [Change("a", "weight", 7), Change("b", "enabled", value=False)],
    ),
    (
        {
            "policy": "smartsockets",
            "subscriber": [
                {"name": "s", "subject": "/a"},
                {"name": "s", "subject": "/b"},
                {"name": "t", "subject": "/a"},
            ],
        },
        [Change("subscriber:s@/a", "present", value=False)],
    ),
    (
        {"policy": "fewest-pending", "destination": [{"name": "a"}, {"name": "b"}]},
        [Change("a", "state", "down"), Change("b", "draining", value=True)],
    ),
]


def objects(plan: Plan) -> dict[Any, Any]:
    (state,) = plan.states.values()
    for time, changes in plan.steps["pool"]:
        state.apply(changes, time)
    return state.objects


@pytest.mark.parametrize(("file", "changes"), CLUSTERS)
def test_with_it_the_file_gives_the_cluster_of_now(
    file: dict[str, Any], changes: list[Change], store: Store
) -> None:
    store.keep_clusters([Cluster.from_dict({**file, "name": "pool"}, default_name="pool")])
    assert store.pool("pool").since_file == []
    store.apply("pool", changes)
    pool = store.pool("pool")
    assert len(pool.since_file) == len(changes)
    begun = Cluster.from_dict(file, default_name="pool")
    now = Cluster.from_dict(pool.file, default_name="pool")
    assert objects(Plan([now], [Change(*change) for change in pool.since_file])) == objects(
        Plan([begun], changes)
    )


def test_whoever_joined_since_is_in_the_file_and_here(store: Store) -> None:
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=[{"name": "a", "weight": 1}])])
    store.add_destination("pool", {"name": "new", "weight": 5})
    pool = store.pool("pool")
    assert [(each.target, each.attribute, each.value) for each in pool.since_file] == [
        ("destination:new", "present", True)
    ]


def test_what_is_pending_is_counted_where_it_decides(store: Store) -> None:
    many = [{"name": "A"}, {"name": "B"}]
    store.keep_clusters(
        [
            Cluster.of("fewest-pending", name="few", destination=many),
            Cluster.of("round-robin", name="ring", destination=many),
        ]
    )
    for _ in range(3):
        store.next_destination("few")
        store.next_destination("ring")
    assert [each.pending for each in store.pool("few").machines] == [2, 1]
    assert [each.pending for each in store.pool("ring").machines] == [None, None]


def test_whoever_knows_the_version_changes_what_he_has_seen(store: Store) -> None:
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=[{"name": "a", "weight": 1}])])
    assert store.pool("pool").version == 0
    store.change("pool", "a", "weight", 2)
    with store.transaction() as tx:
        assert tx.cluster_version("pool") == store.pool("pool").version == 1
        tx.change("pool", "a", "weight", 3)
        assert tx.cluster_version("pool") == 2
    assert store.pool("pool").version == 2
    with store.transaction() as tx, pytest.raises(MessageError, match="cluster: found 'no such'"):
        tx.cluster_version("no such")
