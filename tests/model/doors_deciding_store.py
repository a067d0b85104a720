"""Doors to deciding inside a database: each choice, change and completion is a transaction."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairlead import Change, Cluster, Store
from fairlead.errors import ChangeError, MessageError
from fairlead.store.clusters.decision import StoreDecision
from tests.oracle import Row
from tests.stores import made_url

from .deciding import Deciding
from .deciding_worlds import World, a_cluster
from .doors_deciding import MICROS, Live
from .draws import Draws
from .driver import Refused


@dataclass
class OneCluster(World):
    """A world as a store has it: changes are made now, and somebody else names the cluster."""

    def message(self, draws: Draws) -> Row:
        said = super().message(draws)
        if said.get("type") == "SetPriority":  # it is a message to the cluster that is asked
            return {}
        return {name: value for name, value in said.items() if name != "cluster"}

    def changes(self, draws: Draws, model: Deciding) -> list[Row]:
        found = super().changes(draws, model)
        now = max(model.now, 0, *(each["time"] for each in found))
        return [{**each, "time": now} for each in found]


def one_cluster(draws: Draws) -> OneCluster:
    plain = a_cluster(draws, "c")
    world = OneCluster([plain], features=frozenset({str(plain["policy"])}))
    world.narrow, world.restores = draws.whole(0, 2) == 0, True
    return world


class InStore(Live):
    """`Store.next_destination`."""

    name = "store"
    dialect = "sqlite"
    at_once = True

    def __init__(self, world: Any) -> None:
        self.url = made_url(self.dialect)
        self.now = 0
        self.chosen: list[StoreDecision] = []
        super().__init__(world)
        self.store.keep_clusters(
            [Cluster.from_dict(plain, default_name="") for plain in world.clusters]
        )

    def opened(self) -> Any:
        self.store = Store.open(self.url, clock=lambda: Fraction(self.now, MICROS))
        if not self.at_once:
            self.store._calling = self.store._writing

    def choose(self, message: Row) -> object:
        try:
            found = self.store.next_destination("c", **message)
        except MessageError:
            return Refused("message")
        self.chosen.append(found)
        decision = self.store.decision(found.number)
        self.decisions.append(decision)
        copies = [tuple(copy) for copy in decision.copies]
        assert copies == [tuple(copy) for copy in found.copies]
        return {
            "outcome": found.outcome,
            "cluster": found.cluster,
            "sequence": found.sequence,
            "chosen": found.destination,
            "stream": decision.stream,
            "copies": copies,
            "why": self.why(decision),
        }

    def explain(self, number: int) -> object:
        return self.why(self.store.decision(self.chosen[number].number))

    def completed(self, number: int, by: str | None) -> object:
        try:
            self.store.completed(self.chosen[number], by)
        except MessageError:
            return Refused("message")
        return None

    def apply(self, changes: list[Row]) -> object:
        before = self.now
        self.at(changes[0]["time"])
        try:
            self.store.apply(
                "c", [Change(each["target"], each["attribute"], each["value"]) for each in changes]
            )
        except ChangeError:
            self.now = before
            return Refused("change")
        return None

    def at(self, time: int) -> None:
        self.now = max(self.now, time)

    def restore(self) -> None:
        self.store.close()
        self.opened()

    def look(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.store.close()


class InPostgreSQL(InStore):
    """The same on PostgreSQL, by its functions where it has them."""

    name = "store on PostgreSQL"
    dialect = "postgresql"
