"""MSMQ weighted round robin, after "T-SQL Weighted Round Robin Algorithm"."""

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
    find_destination,
    is_reset,
    meant_cluster,
    messages_in_order,
    microseconds,
    truth,
)


def route(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Decision]:
    """Decide every message of one cluster of machines."""
    options = cluster.get("options", {})
    if set(options) - {"newcomer", "affinity"}:
        raise ValueError(f"options the oracle does not know: {options}")
    level = {"catch-up": False, "level": True}[options.get("newcomer", "catch-up")]
    machines = [
        {
            "name": row["name"],
            "weight": row["weight"],
            "enabled": row.get("enabled", True),
            "present": row.get("present", True),
            "draining": row.get("draining", False),
            "sent": 0,
        }
        for row in cluster["destination"]
    ]
    groups = Groups(cluster)
    due = changes_in_order(changes)
    sequences = Sequences()
    decisions = []
    for message in messages_in_order(messages):
        while due and microseconds(due[0]["time"]) <= microseconds(message["time"]):
            apply(due.pop(0), machines, level)
        stream, is_here = meant_cluster(cluster, message)
        sequence = sequences.next(stream)
        holding = [machine["name"] for machine in machines if may_hold(machine)]
        followed = groups.follow(message, holding) if is_here else None
        if followed is not None:
            decisions.append(Decision(message["id"], followed, ROUTED, sequence))
            continue
        machine = choose(machines) if is_here else None
        if machine is None:
            decisions.append(Decision(message["id"], None, NO_DESTINATION, sequence))
        else:
            machine["sent"] += 1
            groups.went_to(message, machine["name"])
            decisions.append(Decision(message["id"], machine["name"], ROUTED, sequence))
    return decisions


def may_hold(machine: Row) -> bool:
    return bool(machine["present"] and machine["enabled"] and machine["weight"] > 0)


def eligible(machine: Row) -> bool:
    return may_hold(machine) and not machine["draining"]


def choose(machines: list[Row]) -> Row | None:
    """Lowest sent/weight; tie: the heavier; tie: the name."""
    candidates = [machine for machine in machines if eligible(machine)]
    if not candidates:
        return None
    return min(
        candidates,
        key=lambda m: (Fraction(m["sent"], m["weight"]), -m["weight"], m["name"].encode("utf-8")),
    )


def apply(change: Row, machines: list[Row], level: bool) -> None:
    """One change, on its own."""
    if is_reset(change):
        for machine in machines:
            machine["sent"] = 0
        return
    machine = find_destination(machines, change["target"])
    attribute = change["attribute"]
    if attribute in ("state", "readers", "speed", "address"):
        return  # says nothing about who is next
    value = int(change["value"]) if attribute == "weight" else truth(change["value"])
    if value == machine[attribute]:
        return  # nothing changed
    was_eligible = eligible(machine)
    machine[attribute] = value
    if attribute == "present" and value:
        machine["sent"] = 0  # a new row in the table
    is_newcomer = eligible(machine) and (not was_eligible or attribute == "weight")
    if level and is_newcomer:
        others = [
            Fraction(other["sent"], other["weight"])
            for other in machines
            if other is not machine and eligible(other)
        ]
        machine["sent"] = floor(machine["weight"] * min(others)) if others else 0
