"""What a store says later of a group whose destination had dropped out."""

from fairlead import Cluster, Store


def test_a_group_that_was_elsewhere_is_not_called_new(store: Store) -> None:
    """What is kept of a choice does not say whether it is the first of its group."""
    cluster = Cluster.of(
        "hot-standby",
        name="pool",
        options={"affinity": "group"},
        destination=[{"name": "A"}, {"name": "B"}],
    )
    store.keep_clusters([cluster])
    first = store.next_destination("pool", group="g")
    store.change("pool", "A", "state", "down")
    moved = store.next_destination("pool", group="g")
    assert (first.destination, moved.destination) == ("A", "B")
    said = str(store.decision(moved.number).explain())
    assert "the first of group g" not in said
    assert said.endswith("group g had nobody to follow: those that come later follow it")


def test_a_cluster_that_is_replaced_binds_its_groups_anew(store: Store) -> None:
    def load(weight: int) -> None:
        plain = {
            "policy": "weighted",
            "options": {"affinity": "group"},
            "destination": [{"name": "a", "weight": weight}, {"name": "b"}],
        }
        store.keep_clusters([Cluster.from_dict(plain, default_name="pool")], replace=True)

    def went(group: str) -> str | None:
        return store.next_destination("pool", group=group).destination

    load(1)
    assert [went("g"), went("h"), went("h")] == ["a", "b", "b"]
    load(2)
    assert [went("h"), went("g"), went("h")] == ["a", "b", "a"]
