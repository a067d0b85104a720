"""What clusters were is kept as long as the journal, and no longer."""

from collections.abc import Callable

import pytest

from fairlead import Cluster, Store
from fairlead.errors import MessageError

DAY = 86_400


def test_a_cluster_can_be_explained_as_far_back_as_the_journal_goes(
    url: str, opened: Callable[..., Store]
) -> None:
    now = [1_000_000_000.0]
    store = opened(url, clock=lambda: now[0])
    machines = [{"name": name, "weight": weight} for name, weight in (("A", 2), ("B", 1))]
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=machines)])
    numbers = []
    for k in range(40):
        now[0] += DAY
        numbers += [store.next_destination("pool").number for _ in range(30)]
        if k % 10 == 5:
            store.change("pool", "B", "weight", k)
    store.prune(keep=15 * DAY)
    with store.transaction() as tx:
        names = ("choice_runs", "versions")
        mark = "_" if url.startswith("sqlite") else "."
        stretches, versions = (
            tx.execute(f"SELECT count(*) FROM fairlead{mark}{name}").fetchone()[0]  # noqa: S608
            for name in names
        )
    assert versions == 3
    assert stretches <= 5
    for number in numbers[-14 * 30 :: 29]:
        assert store.decision(number).explain().deciding_step
    with pytest.raises(MessageError, match="found"):
        store.decision(numbers[0])


def test_a_stretch_is_kept_as_long_as_a_decision_in_it(
    url: str, opened: Callable[..., Store]
) -> None:
    now = [0.0]
    store = opened(url, clock=lambda: now[0])

    def choose_on(day: int) -> int:
        """A choice by whoever looks for what is old, too."""
        now[0] = day * DAY
        store._retention._due.clear()
        return store.next_destination("pool").number

    pair = [{"name": "A", "weight": 2}, {"name": "B", "weight": 1}]
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=pair)])
    assert store.retention() == 30
    last = choose_on(20)  # in the stretch of day 0
    now[0] = 35 * DAY
    store.change("pool", "B", "weight", 5)
    for day in (40, 50):  # the stretch is older than what is kept, and goes on until day 35
        choose_on(day)
        assert store.decision(last).explain().deciding_step
    choose_on(66)
    with pytest.raises(MessageError, match="found"):
        store.decision(last)
