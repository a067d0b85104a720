"""A store behind the verbs of the live balancer, so that both can be asked the same."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from fairlead import Change, Cluster, Store
from fairlead.balance.decision import Copy
from fairlead.balance.times import MICROS
from fairlead.store.clusters.changing import make_due
from fairlead.store.clusters.decision import StoreDecision
from tests.engines import Row, changes_of, cluster_of, decisions, in_order

SAID_ELSEWHERE = ("cluster", "id", "time", "service_time")


class Decided:
    """A store's decision with the names that the live balancer's has."""

    def __init__(self, found: StoreDecision) -> None:
        self.found = found
        self.outcome, self.sequence = found.outcome, found.sequence
        self.destination, self.cluster = found.destination, found.cluster
        self.copies = [Copy(*each) for each in found.copies]


class StoreBalancer:
    """Asks one cluster of a store."""

    def __init__(self, store: Store, cluster: str) -> None:
        self.store = store
        self.cluster = cluster
        self.now = Fraction(0)
        store._own_clock = lambda: self.now

    def choose(self, message: Row) -> Decided:
        said = {k: v for k, v in message.items() if k not in SAID_ELSEWHERE}
        return Decided(self.store.next_destination(self.cluster, **said))

    def completed(self, decision: Any, by: str | None = None) -> None:
        self.store.completed(decision.found, by)

    def apply(self, changes: Iterable[Change]) -> None:
        every = list(changes)
        self.now = max(self.now, Fraction(every[0].micros, MICROS))
        self.store.apply(self.cluster, every)

    def at(self, time: Any) -> None:
        """It is this time now; what is due happens before anything else does."""
        self.now = max(self.now, Fraction(time))
        now = int(self.now * MICROS)
        with self.store._writing() as database:
            make_due(database, self.cluster, now, "test")

    def next_change(self) -> Fraction | None:
        with self.store._connection() as database:
            ((due,),) = database.execute(
                "SELECT due FROM fairlead_clusters"
                if database.dialect == "sqlite"
                else "SELECT due FROM fairlead.clusters"
            ).fetchall()
        return None if due is None else Fraction(due, MICROS)


def in_store(store: Store, plain: dict[str, Any], messages: list[Row], changes: list[Row]) -> Any:
    """The decisions of a store, fed with messages and changes in the order of time."""
    cluster: Cluster = cluster_of(plain)
    store.keep_clusters([cluster])
    asked = StoreBalancer(store, cluster.name)
    decided = decisions([plain], [cluster], in_order(messages), changes_of(changes), balancer=asked)
    return [copy for copies in decided for copy in copies]
