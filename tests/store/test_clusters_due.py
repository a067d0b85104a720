"""What becomes due of itself while nobody chooses is made in its order, with the time of each."""

import json
from collections.abc import Callable

from fairlead import Cluster, Store


def test_resets_and_what_follows_a_change_are_made_in_their_order(
    url: str, opened: Callable[..., Store]
) -> None:
    now = [1000.0]
    store = opened(url, clock=lambda: now[0])
    plain = {
        "policy": "weighted",
        "options": {"failback_delay": 100},
        "store": {"reset_every": 60},
        "destination": [{"name": "a", "state": "down"}, {"name": "b"}],
    }
    store.keep_clusters([Cluster.from_dict(plain, default_name="pool")])
    store.change("pool", "a", "state", "up")
    now[0] = 1400
    store.next_destination("pool")
    changes = [event for event in store.journal() if event.kind == "changed"]
    assert [(event.time, json.loads(event.detail or "")["attribute"]) for event in changes] == [
        (1000, "state"),
        (1060, "reset"),
        (1100, "due"),
        (1360, "reset"),
    ]


def test_nobody_is_bound_to_a_destination_that_was_removed_and_added_again(store: Store) -> None:
    pair = [{"name": "a"}, {"name": "b"}]
    store.keep_clusters(
        [Cluster.of("round-robin", name="pool", options={"affinity": "group"}, destination=pair)]
    )
    assert store.next_destination("pool", group="g").destination == "a"
    store.remove_destination("pool", "a")
    store.add_destination("pool", {"name": "a"})
    went = [store.next_destination("pool", group=group).destination for group in ("x", "g")]
    assert went == ["b", "a"]  # b was next; g is chosen for anew
    store.remove_destination("pool", "a")
    store.add_destination("pool", {"name": "a"})
    assert store.next_destination("pool", group="g").destination == "b"


def test_what_a_removed_destination_completes_is_nobody_elses(store: Store) -> None:
    pool = Cluster.of("fewest-pending", name="pool", destination=[{"name": "a"}, {"name": "b"}])
    store.keep_clusters([pool])
    held = [store.next_destination("pool") for _ in range(2)]
    assert [each.destination for each in held] == ["a", "b"]
    store.remove_destination("pool", "b")
    store.add_destination("pool", {"name": "c"})
    assert store.next_destination("pool").destination == "c"
    store.completed(held[1])
    assert store.next_destination("pool").destination == "a", "c holds one, too"
