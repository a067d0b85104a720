"""Doors to deciding: the live balancer, with a journal and without, told one thing at a time."""

import json
from fractions import Fraction
from typing import Any

from fairlead import Balancer, Change, Cluster, Decision, EventRow, JournalRow
from fairlead.errors import ChangeError, MessageError
from tests.oracle import Row

from .driver import Refused

MICROS = 1_000_000


def seconds(time: int) -> Fraction:
    return Fraction(time, MICROS)


def whole(time: float | None) -> int | None:
    """Microseconds."""
    return None if time is None else round(Fraction(str(time)) * MICROS)


class Live:
    """`Balancer`, without a journal: it makes decisions ahead."""

    name = "balancer"

    def __init__(self, world: Any) -> None:
        self.clusters = [Cluster.from_dict(plain, default_name="") for plain in world.clusters]
        self.listed = {plain["name"] for plain in world.clusters if "destination" in plain}
        self.decisions: list[Decision] = []
        self.balancer = self.opened()

    def opened(self) -> Balancer:
        return Balancer(self.clusters)

    def choose(self, message: Row) -> object:
        try:
            decision = self.balancer.choose(message)
        except MessageError:
            return Refused("message")
        self.decisions.append(decision)
        return {
            "outcome": decision.outcome,
            "cluster": decision.cluster,
            "sequence": decision.sequence,
            "chosen": decision.destination,
            "stream": decision.stream,
            "copies": [tuple(copy) for copy in decision.copies],
            "why": self.why(decision),
        }

    def why(self, decision: Decision) -> object:
        """As far as the model says it."""
        if decision.cluster not in self.listed or decision.frame is None:
            return None
        found = decision.explain()
        return {
            "steps": [
                (step.name, [drop.candidate for drop in step.dropped], step.kept)
                for step in found.steps
            ],
            "ranks": [name for name, _ in found.ranks],
            "step": found.deciding_step,
            "second": found.runner_up,
        }

    def explain(self, number: int) -> object:
        return self.why(self.decisions[number])

    def completed(self, number: int, by: str | None) -> object:
        try:
            self.balancer.completed(self.decisions[number], by)
        except MessageError:
            return Refused("message")
        return None

    def apply(self, changes: list[Row]) -> object:
        try:
            self.balancer.apply(
                [
                    Change(each["target"], each["attribute"], each["value"], seconds(each["time"]))
                    for each in changes
                ]
            )
        except ChangeError:
            return Refused("change")
        return None

    def at(self, time: int) -> None:
        self.balancer.at(seconds(time))

    def restore(self) -> None:
        snapshot = json.loads(json.dumps(self.balancer.snapshot()))
        self.balancer = self.opened()
        self.balancer.restore(snapshot)

    def look(self) -> dict[str, Any]:
        return {"next change": whole(self.balancer.next_change())}

    def close(self) -> None:
        """It keeps nothing open."""


class Journaled(Live):
    """`Balancer` with a journal: each decision is made when it is asked for."""

    name = "balancer with a journal"

    def __init__(self, world: Any) -> None:
        self.rows: list[JournalRow | EventRow] = []
        super().__init__(world)

    def opened(self) -> Balancer:
        return Balancer(self.clusters, journal=self.rows.append)

    def look(self) -> dict[str, Any]:
        rows = [self.decided(r) if isinstance(r, JournalRow) else happened(r) for r in self.rows]
        self.rows.clear()
        return {**super().look(), "journal": rows}

    def decided(self, row: JournalRow) -> Row:
        names = ("outcome", "cluster", "sequence", "stream")
        found = {name: getattr(row, name) for name in (*names, "position", "destination")}
        found |= {"address": row.address, "id": row.id, "version": row.version}
        copies = [tuple(copy) for copy in row.decision.copies]
        why = self.why(row.decision)
        return {**found, "chosen": row.decision.destination, "copies": copies, "why": why}


def happened(row: EventRow) -> Row:
    found = {"position": row.position, "cluster": row.cluster, "outcome": row.outcome}
    found["version"] = row.version
    if row.outcome == "completed":
        return {
            **found,
            "stream": row.stream,
            "sequence": row.sequence,
            "destination": row.destination,
        }
    return {**found, "time": whole(row.time), "attribute": row.attribute}
