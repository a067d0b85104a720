"""Levels with gradual spill, by Envoy's formula as the semantics give it."""

from fractions import Fraction
from typing import Any

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
from .comebacks import WHOLE, Comebacks

DEFAULTS: Row = {"enabled": True, "present": True, "state": "up", "weight": 1, "priority": 0}
DEFAULTS["pace"] = WHOLE
DEFAULTS["draining"] = False


def holding(rows: list[Row], options: Row) -> list[str]:
    """Who drains, and would get messages if it alone did not."""
    return [
        row["name"]
        for row in rows
        if row["draining"]
        and row["name"]
        in shares([{**r, "draining": r["draining"] and r is not row} for r in rows], options)
    ]


def shares(rows: list[Row], options: Row) -> dict[str, Fraction]:
    """Destination -> its part of all messages, only those that get any."""
    serving = [r for r in rows if r["present"] and r["enabled"] and r["weight"] > 0]
    levels = sorted({row["priority"] for row in serving})
    members = {level: [r for r in serving if r["priority"] == level] for level in levels}
    up = {
        level: [r for r in members[level] if r["state"] == "up" and not r["draining"]]
        for level in levels
    }
    size = {level: len(members[level]) for level in levels}
    healthy = {level: len(up[level]) for level in levels}
    if options.get("spill", "gradual") == "none":
        first = [level for level in levels if up[level]][:1]
        percent, panics = {level: 100 * (level in first) for level in levels}, set[int]()
    else:
        percent, panics = gradual(levels, size, healthy, options)
    found = {}
    for level in levels:
        used = members[level] if level in panics else up[level]
        used = [row for row in used if not row["draining"]]
        part = {r["name"]: r["weight"] * (1 if level in panics else r["pace"]) for r in used}
        for row in used:
            if percent[level]:
                name = row["name"]
                found[name] = Fraction(percent[level] * part[name]) / sum(part.values())
    return found


def gradual(
    levels: list[int], size: dict[int, int], healthy: dict[int, int], options: Row
) -> tuple[dict[int, int], set[int]]:
    """What each level gets in per cent, and which levels panic."""
    factor = options.get("overprovisioning", 140)
    threshold = options.get("panic_threshold", 50)
    health = {level: min(100, factor * healthy[level] // size[level]) for level in levels}
    total = min(100, sum(health.values()))
    if total == 0 and (threshold == 0 or not levels):
        return dict.fromkeys(levels, 0), set()
    if total == 0:
        percent = {level: 100 * size[level] // sum(size.values()) for level in levels}
        percent[levels[0]] += 100 - sum(percent.values())
        return percent, set(levels)
    percent, remaining = {}, 100
    for level in levels:
        percent[level] = min(remaining, health[level] * 100 // total)
        remaining -= percent[level]
    percent[next(level for level in levels if health[level] > 0)] += remaining
    if total == 100:
        return percent, set()
    return percent, {lv for lv in levels if Fraction(100 * healthy[lv], size[lv]) < threshold}


def route(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Decision]:
    """Decide every message of one cluster."""
    options = cluster.get("options", {})
    rows: list[Row] = [{**DEFAULTS, **row} for row in cluster["destination"]]
    now_get = shares(rows, options)
    groups = Groups(cluster)
    sent = dict.fromkeys(now_get, 0)
    comebacks = Comebacks(options)
    due = changes_in_order(changes)
    sequences = Sequences()
    decisions = []
    for message in messages_in_order(messages):
        now = microseconds(message["time"])
        while (at := comebacks.next(due)) is not None and at <= now:
            for row, what, value in comebacks.take(at):
                set_to(row, what, value, comebacks)
            starts_anew = False
            while due and microseconds(due[0]["time"]) == at:
                starts_anew |= apply(due.pop(0), rows, comebacks)
            for row in comebacks.begin(rows, chosen_among, at):
                row["pace"] = comebacks.paces[0]
            get = shares(rows, options)
            total, before = sum(get.values()), sum(now_get.values())
            part = {name: share / total for name, share in get.items()}
            part_before = {name: share / before for name, share in now_get.items()}
            now_get = get
            if starts_anew or part != part_before:
                sent = dict.fromkeys(now_get, 0)
        stream, is_here = meant_cluster(cluster, message)
        sequence = sequences.next(stream)
        may_stay = [*now_get, *holding(rows, options)]
        followed = groups.follow(message, may_stay) if is_here else None
        if followed is not None:
            decisions.append(Decision(message["id"], followed, ROUTED, sequence))
            continue
        if not is_here or not now_get:
            decisions.append(Decision(message["id"], None, NO_DESTINATION, sequence))
            continue
        name = min(
            now_get,
            key=lambda n: (sent[n] / now_get[n], -now_get[n], n.encode("utf-8")),
        )
        sent[name] += 1
        groups.went_to(message, name)
        decisions.append(Decision(message["id"], name, ROUTED, sequence))
    return decisions


def is_there(row: Row) -> bool:
    serves = row["present"] and row["enabled"] and row["weight"] > 0
    return bool(serves and row["state"] == "up" and not row["draining"])


def chosen_among(row: Row, other: Row) -> bool:
    """Whether another row is there, on the same level."""
    return other is not row and is_there(other) and row["priority"] == other["priority"]


def apply(change: Row, rows: list[Row], comebacks: Comebacks) -> bool:
    """One change; whether it was a reset."""
    if is_reset(change):
        return True
    row = find_destination(rows, change["target"])
    attribute, value = change["attribute"], change["value"]
    if not comebacks.hold_back(row, attribute, value, microseconds(change["time"])):
        set_to(row, attribute, value, comebacks)
    return False


def set_to(row: Row, attribute: str, value: Any, comebacks: Comebacks) -> None:
    was_there = is_there(row)
    if attribute in ("enabled", "present", "draining"):
        row[attribute] = truth(value)
    elif attribute == "state":
        row["state"] = "up" if value == "up" else "down"
    elif attribute in ("weight", "priority"):
        row[attribute] = int(value)
    elif attribute == "pace":
        row["pace"] = value
    comebacks.moved(row, was_there, is_there(row))
