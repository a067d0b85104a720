"""Clusters of all policies in one database, with changes and rollbacks between the choices."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from fairlead import Balancer, Change, Cluster, Decision, Store
from fairlead.errors import FairleadError
from fairlead.store.clusters.decision import StoreDecision
from tests.golden_cases import POLICIES
from tests.store.test_clusters import scenario

ELSEWHERE = ("cluster", "id", "time", "service_time")


class RolledBackError(Exception):
    """So that a transaction is undone."""


class Both:
    """One cluster, in a store and live."""

    def __init__(self, store: Store, name: str, policy: str, random: Random) -> None:
        plain, messages, self.changes = scenario(policy, f"{name} {random.random()}")
        self.store, self.name, self.random = store, name, random
        self.said = [
            {key: value for key, value in each.items() if key not in ELSEWHERE} for each in messages
        ] or [{}]
        cluster = Cluster.from_dict({**plain, "name": name}, default_name=name)
        store.keep_clusters([cluster])
        self.live = Balancer(cluster)
        self.open: list[tuple[StoreDecision, Decision]] = []

    def choose(self, n: int) -> int:
        """Choose so often in one transaction; how many choices were held against the live ones."""
        said = [self.random.choice(self.said) for _ in range(n)]
        undone = self.random.random() < 0.1
        found: list[StoreDecision] = []
        try:
            with self.store.transaction() as tx:
                found += [tx.next_destination(self.name, **each) for each in said]
                if undone:
                    raise RolledBackError
        except RolledBackError:
            return 0
        for each, got in zip(said, found, strict=True):
            wanted = self.live.choose(each)
            assert [name for name, _ in got.copies] == [
                copy.destination for copy in wanted.copies
            ], (self.name, each)
            assert (got.outcome, got.sequence) == (wanted.outcome, wanted.sequence)
            if wanted.copies:
                self.open.append((got, wanted))
        return n

    def complete(self, n: int) -> None:
        for _ in range(min(n, len(self.open))):
            got, wanted = self.open.pop(self.random.randrange(len(self.open)))
            for copy in wanted.copies:
                self.store.completed(got, copy.destination)
                self.live.completed(wanted, copy.destination)

    def change(self, now: float) -> None:
        if not self.changes:
            return
        change: dict[str, Any] = self.random.choice(self.changes)
        target = self.name if change["attribute"] == "reset" else change["target"]
        made = Change(target, change["attribute"], change.get("value"), now)
        try:
            self.live.apply(made)
        except FairleadError as refused:
            with pytest.raises(type(refused)):
                self.store.apply(self.name, made)
        else:
            self.store.apply(self.name, made)


def together(store: Store, seed: int, choices: int) -> None:
    random = Random(seed)  # noqa: S311
    now = [0.0]
    store._own_clock = lambda: now[0]
    every = [Both(store, f"{each}-{k}", each, random) for k, each in enumerate(POLICIES)]
    done = 0
    while done < choices:
        now[0] += random.choice([0, 0, 0.001, 1, 60])
        one = random.choice(every)
        one.live.at(now[0])
        if random.random() < 0.1:
            one.change(now[0])
        if random.random() < 0.5:
            one.complete(random.randrange(20))
        done += one.choose(random.randrange(1, 60))


@pytest.mark.parametrize("seed", range(2))
def test_clusters_of_all_policies_in_one_database(seed: int, store: Store) -> None:
    together(store, seed, 1000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 15))
def test_clusters_of_all_policies_in_one_database_for_long(
    seed: int, url: str, opened: Callable[..., Store]
) -> None:
    together(opened(url), seed, 100_000)
