"""nanomsg's prioritised load balancing, after "Prioritised Load Balancing with nanomsg"."""

from fractions import Fraction
from math import floor

from . import (
    NO_DESTINATION,
    ROUTED,
    Decision,
    Groups,
    Row,
    Sequences,
    changes_in_order,
    exact,
    find_destination,
    is_reset,
    meant_cluster,
    messages_in_order,
    microseconds,
    truth,
)


class Sender:
    """The sending socket: its peers, its sixteen rings, and what is still to complete."""

    def __init__(self, cluster: Row) -> None:
        if set(cluster.get("options", {})) - {"affinity"}:
            raise ValueError(f"options the oracle does not know: {cluster['options']}")
        self.peers: list[Row] = []
        # A ring is a list of ready peers, its first is the one whose turn it is.
        self.rings: dict[int, list[Row]] = {priority: [] for priority in range(1, 17)}
        # (time of completion, number of the send, peer), in the order of sending.
        self.to_complete: list[tuple[int, int, Row]] = []
        self.sends = 0
        for row in cluster["destination"]:
            peer = {
                "name": row["name"],
                "priority": row.get("priority", 8),
                "present": row.get("present", True),
                "state": row.get("state", "up"),
                "draining": row.get("draining", False),
                "capacity": row.get("capacity", 0),
                "speed": exact(row.get("speed", 1)),
                "outstanding": 0,
            }
            self.peers.append(peer)
            self.settle_in(peer)

    def settle_in(self, peer: Row) -> None:
        """Put the peer where it belongs: at the tail of its ring if it has just become ready,
        out of it if it is no longer; a ready peer that was ready keeps its place."""
        ring = self.rings[peer["priority"]]
        connected = peer["present"] and peer["state"] == "up" and not peer["draining"]
        busy = peer["capacity"] > 0 and peer["outstanding"] >= peer["capacity"]
        ready = connected and not busy
        if ready and peer not in ring:
            ring.append(peer)
        if not ready and peer in ring:
            ring.remove(peer)

    def send(self, message: Row) -> Row | None:
        for priority in range(1, 17):
            ring = self.rings[priority]
            if ring:
                peer = ring.pop(0)
                self.sends += 1
                peer["outstanding"] += 1
                if message.get("service_time") not in (None, ""):
                    finish = microseconds(message["time"]) + work(message, peer)
                    self.to_complete.append((finish, self.sends, peer))
                self.settle_in(peer)
                return peer
        return None

    def complete_until(self, time: int) -> None:
        while True:
            finished = [entry for entry in self.to_complete if entry[0] <= time]
            if not finished:
                return
            first = min(finished, key=lambda entry: (entry[0], entry[1]))
            self.to_complete.remove(first)
            peer = first[2]
            peer["outstanding"] -= 1
            self.settle_in(peer)

    def apply(self, change: Row) -> None:
        if is_reset(change):
            raise ValueError("nanomsg keeps no counts to reset")
        peer = find_destination(self.peers, change["target"])
        attribute = change["attribute"]
        if attribute in ("readers", "address"):
            return  # says nothing about who is next
        if attribute == "priority":
            raise ValueError("the priority is fixed for life")
        value = change["value"]
        if attribute in ("present", "draining"):
            value = truth(value)
        elif attribute == "capacity":
            value = int(value)
        elif attribute == "speed":
            value = exact(value)
        elif attribute != "state" or value not in ("up", "down", "failed"):
            raise ValueError(f"no such change: {change}")
        if value == peer[attribute]:
            return  # nothing changed
        peer[attribute] = value
        if value == "failed":  # it loses what it held
            peer["outstanding"] = 0
            self.to_complete = [entry for entry in self.to_complete if entry[2] is not peer]
        self.settle_in(peer)


def work(message: Row, peer: Row) -> int:
    """How long the peer works on the message, in microseconds; half a microsecond counts up."""
    asked = floor(exact(message["service_time"]) * 1_000_000 + Fraction(1, 2))
    speed: Fraction = peer["speed"]
    return floor(asked / speed + Fraction(1, 2))


def route(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Decision]:
    """Decide every message of one sending socket."""
    sender = Sender(cluster)
    groups = Groups(cluster)
    due = changes_in_order(changes)
    sequences = Sequences()
    decisions = []
    for message in messages_in_order(messages):
        now = microseconds(message["time"])
        while due and microseconds(due[0]["time"]) <= now:
            change = due.pop(0)
            sender.complete_until(microseconds(change["time"]))
            sender.apply(change)
        sender.complete_until(now)
        stream, is_here = meant_cluster(cluster, message)
        sequence = sequences.next(stream)
        holding = [p["name"] for p in sender.peers if p["present"] and p["state"] == "up"]
        followed = groups.follow(message, holding) if is_here else None
        if followed is not None:
            decisions.append(Decision(message["id"], followed, ROUTED, sequence))
            continue
        peer = sender.send(message) if is_here else None
        groups.went_to(message, peer["name"] if peer else None)
        if peer is None:
            decisions.append(Decision(message["id"], None, NO_DESTINATION, sequence))
        else:
            decisions.append(Decision(message["id"], peer["name"], ROUTED, sequence))
    return decisions
