"""The everyday policies, and those a file composes, as docs/reference/policies/ describes them."""

from fractions import Fraction
from math import floor
from typing import Any

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
    rendezvous,
    text,
    truth,
)
from .comebacks import WHOLE, Comebacks

PRESETS: dict[str, tuple[list[str], str]] = {
    "round-robin": (["disabled", "down", "draining"], "circular"),
    "weighted": (["disabled", "down", "draining", "weight-zero"], "least-served"),
    "fewest-pending": (["disabled", "down", "draining", "weight-zero"], "fewest-pending"),
    "hot-standby": (["disabled", "down", "draining"], "first-by-name"),
    "broadcast": (["disabled", "down"], "everyone"),
    "rendezvous": (["disabled", "down", "draining", "weight-zero"], "rendezvous"),
}
DEFAULTS: Row = {"enabled": True, "present": True, "state": "up", "weight": 1, "speed": 1}
DEFAULTS["draining"] = False


class Choosing:
    """One cluster, one message at a time."""

    def __init__(self, cluster: Row) -> None:
        policy = cluster["policy"]
        if isinstance(policy, str):
            self.steps, self.rule = PRESETS[policy]
        else:
            self.steps, self.rule = policy["eliminate"], policy["choose"]
        options = cluster.get("options", {})
        self.keyed_by = options.get("key", "group")
        self.level = options.get("newcomer", "level") == "level"
        self.comebacks = Comebacks(options)
        best = {"priority": 8}
        self.rows: list[Row] = [
            {**DEFAULTS, **best, **row, "sent": 0, "pending": 0, "pace": WHOLE}
            for row in cluster["destination"]
        ]
        self.circle = [row for row in self.rows if self.alone(row)]
        self.cursor = 0
        self.number = 0
        self.working: list[tuple[int, int, Row]] = []

    def alone(self, row: Row, staying: Row | None = None) -> bool:
        """Whether a destination is there, switched on, up and of some weight, as far as asked.

        `staying`: the one to which a group is bound, for which its own draining means nothing.
        """
        return bool(
            row["present"]
            and (row is staying or "draining" not in self.steps or not row["draining"])
            and ("disabled" not in self.steps or row["enabled"])
            and ("down" not in self.steps or row["state"] == "up")
            and ("weight-zero" not in self.steps or row["weight"] > 0)
        )

    def holding(self) -> list[str]:
        """Where groups may stay."""
        return [row["name"] for row in self.rows if row in self.left(staying=row)]

    def left(self, staying: Row | None = None) -> list[Row]:
        found = [row for row in self.rows if self.alone(row, staying)]
        if "worse-priority" in self.steps and found:
            best = min(row["priority"] for row in found)
            found = [row for row in found if row["priority"] == best]
        return found

    def choose(self, message: Row, now: int, sequence: int) -> Row | None:
        self.complete(now)
        left = self.left()
        if not left:
            return None
        if self.rule == "least-served":
            chosen = min(
                left,
                key=lambda r: (r["sent"] / counting(r), -counting(r), bytes_of(r)),
            )
        elif self.rule == "circular":
            chosen = next(row for row in self.circle if row in left)
            self.circle.remove(chosen)
            self.circle.append(chosen)
        elif self.rule == "first-by-name":
            chosen = min(left, key=bytes_of)
        elif self.rule == "rendezvous":
            number = rendezvous.number(text(message.get(self.keyed_by)), sequence)
            chosen = min(left, key=lambda r: (rendezvous.score(r, number), bytes_of(r)))
        else:
            weighs = "weight-zero" in self.steps
            order = self.rows[self.cursor :] + self.rows[: self.cursor]
            chosen = min(
                (row for row in order if row in left),
                key=lambda row: (
                    (Fraction(row["pending"], row["weight"]), -row["weight"])
                    if weighs
                    else row["pending"]
                ),
            )
            self.cursor = (self.rows.index(chosen) + 1) % len(self.rows)
            self.number += 1
            done = now + duration(message["service_time"], chosen["speed"])
            self.working.append((done, self.number, chosen))
        chosen["sent"] += 1
        chosen["pending"] += 1
        return chosen

    def complete(self, now: int) -> None:
        for entry in [entry for entry in self.working if entry[0] <= now]:
            self.working.remove(entry)
            entry[2]["pending"] -= 1

    def step(self, now: int, changes: list[Row]) -> None:
        """What follows of itself at this time, then the changes of this time."""
        self.complete(now)
        for row, what, value in self.comebacks.take(now):
            if what == "pace":
                self.set_pace(row, value)
            else:
                self.set(row, what, value)
        for change in changes:
            self.apply(change, now)
        for row in self.comebacks.begin(self.rows, self.chosen_among, now):
            self.set_pace(row, self.comebacks.paces[0])

    def set_pace(self, row: Row, pace: Any) -> None:
        """Another part of its weight counts; its sent/weight stays."""
        row["sent"] = self.rounded(row["sent"] * pace / row["pace"])
        row["pace"] = pace

    def rounded(self, sent: Fraction) -> Fraction:
        """Down to a whole message, or to a thousandth of one where there is a slow start."""
        finest = 1000 if self.comebacks.slow else 1
        return Fraction(floor(sent * finest), finest)

    def apply(self, change: Row, now: int) -> None:
        if is_reset(change):
            for row in self.rows:
                row["sent"] = 0
            return
        row = find_destination(self.rows, change["target"])
        attribute, value = change["attribute"], change["value"]
        if attribute in ("readers", "address"):
            return
        if not self.comebacks.hold_back(row, attribute, value, now):
            self.set(row, attribute, value)

    def set(self, row: Row, attribute: str, value: Any) -> None:
        before, was_there = dict(row), self.alone(row)
        row[attribute] = meant(attribute, value)
        if value == "failed":
            row["pending"] = 0
            self.working = [entry for entry in self.working if entry[2] is not row]
        is_there = self.alone(row)
        self.comebacks.moved(row, was_there, is_there)
        if is_there and not was_there:
            self.circle.append(row)
        if was_there and not is_there:
            self.circle.remove(row)
        if row["present"] and not before["present"]:
            row["sent"] = 0
        arrived = is_there and (not was_there or row["weight"] != before["weight"])
        if arrived:
            self.welcome(row)

    def welcome(self, row: Row) -> None:
        """A newcomer starts level with those that it would be chosen among."""
        if self.rule == "least-served" and self.level:
            ratios = [
                other["sent"] / counting(other)
                for other in self.rows
                if self.chosen_among(row, other)
            ]
            row["sent"] = self.rounded(counting(row) * min(ratios)) if ratios else 0

    def chosen_among(self, row: Row, other: Row) -> bool:
        """Whether another row is there, and would be left together with this one."""
        together = "worse-priority" not in self.steps or row["priority"] == other["priority"]
        return other is not row and self.alone(other) and together


def counting(row: Row) -> Fraction:
    """The part of its weight by which it counts now."""
    return Fraction(row["weight"]) * row["pace"]


def meant(attribute: str, value: Any) -> Any:
    """A changed value as the file would have it."""
    if attribute in ("enabled", "present", "draining"):
        return truth(value)
    if attribute == "state":
        return "up" if value == "up" else "down"
    return value if attribute == "speed" else int(value)


def bytes_of(row: Row) -> bytes:
    return str(row["name"]).encode("utf-8")


def duration(service_time: Any, speed: Any) -> int:
    """Microseconds of work; half a microsecond counts up."""
    asked = floor(exact(service_time) * 1_000_000 + Fraction(1, 2))
    return floor(asked / exact(speed) + Fraction(1, 2))


def route(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Decision]:
    """Decide every message of one cluster."""
    choosing = Choosing(cluster)
    groups = Groups(cluster)
    due = changes_in_order(changes)
    sequences = Sequences()
    decisions = []
    for message in messages_in_order(messages):
        now = microseconds(message["time"])
        while (at := choosing.comebacks.next(due)) is not None and at <= now:
            choosing.step(at, [change for change in due if microseconds(change["time"]) == at])
            due = [change for change in due if microseconds(change["time"]) > at]
        stream, is_here = meant_cluster(cluster, message)
        sequence = sequences.next(stream)
        followed = groups.follow(message, choosing.holding()) if is_here else None
        if followed is not None:
            chosen = [row for row in choosing.rows if row["name"] == followed]
        elif choosing.rule == "everyone":
            chosen = sorted(choosing.left(), key=bytes_of) if is_here else []
        else:
            one = choosing.choose(message, now, sequence) if is_here else None
            chosen = [] if one is None else [one]
            groups.went_to(message, one["name"] if one else None)
        recipients: list[Row] = chosen or [{"name": None}]
        outcome = ROUTED if chosen else NO_DESTINATION
        decisions += [Decision(message["id"], row["name"], outcome, sequence) for row in recipients]
    return decisions
