"""Who of a list of destinations gets a message: eliminations, then a choice rule, all options.

As docs/reference/policies has it, for `msmq`, `nanomsg`, the everyday policies,
`priority-failover`, and what a file composes. Numbers are exact; everything is looked up and
sorted anew each time. Times are whole microseconds.
"""

from fractions import Fraction
from math import floor
from typing import Any

from tests.oracle import Row, exact, microseconds, text, truth
from tests.oracle.rendezvous import number as number_of
from tests.oracle.rendezvous import score

PRESETS: dict[str, tuple[list[str], str]] = {
    "msmq": (["disabled", "draining", "weight-zero"], "least-served"),
    "nanomsg": (["down", "draining"], "ready-ring"),
    "round-robin": (["disabled", "down", "draining"], "circular"),
    "weighted": (["disabled", "down", "draining", "weight-zero"], "least-served"),
    "fewest-pending": (["disabled", "down", "draining", "weight-zero"], "fewest-pending"),
    "hot-standby": (["disabled", "down", "draining"], "first-by-name"),
    "broadcast": (["disabled", "down"], "everyone"),
    "rendezvous": (["disabled", "down", "draining", "weight-zero"], "rendezvous"),
    "priority-failover": (["disabled", "weight-zero", "down", "no-share", "draining"], "by-share"),
}
READ_BY_STEP = {"disabled": "enabled", "down": "state", "draining": "draining"}
READ_BY_STEP |= {"weight-zero": "weight", "worse-priority": "priority"}
READ_BY_RULE: dict[str, list[str]] = {
    "least-served": ["weight"],
    "rendezvous": ["weight"],
    "ready-ring": ["priority", "capacity"],
    "by-share": ["weight", "priority"],
}
EVERYWHERE = ("address", "queue", "present", "readers", "speed")
DEFAULTS: Row = {"enabled": True, "present": True, "state": "up", "draining": False, "weight": 1}
DEFAULTS |= {"priority": 8, "capacity": 0, "speed": 1, "readers": 1, "address": "", "queue": ""}
STEPS = 10
WHOLE = Fraction(1)


class RefusedChangeError(Exception):
    """A change that means nothing here."""


class Destinations:
    """One cluster."""

    def __init__(self, plain: Row) -> None:
        policy, options = plain["policy"], plain.get("options", {})
        self.preset = policy if isinstance(policy, str) else ""
        self.steps, self.rule = (
            PRESETS[self.preset] if self.preset else (policy["eliminate"], policy["choose"])
        )
        self.options = options
        self.counts = self.rule in ("least-served", "by-share")
        self.affine = options.get("affinity") == "group"
        self.keyed_by = options.get("key", "group") if self.rule == "rendezvous" else ""
        self.reads = {self.keyed_by} - {""} | ({"group"} if self.affine else set())
        by_default = "catch-up" if self.preset == "msmq" else "level"
        self.level = options.get("newcomer", by_default) == "level"
        self.delay = microseconds(options.get("failback_delay", 0))
        self.window = microseconds(options.get("slow_start", 0))
        best = {"priority": 0 if self.rule == "by-share" else 8}
        self.rows: list[Row] = [
            {**DEFAULTS, **best, **row, "sent": Fraction(0), "held": 0, "pace": WHOLE, "lost": 0}
            for row in plain["destination"]
        ]
        self.ready = [row for row in self.rows if self.alone(row)]
        """In the order in which they became ready."""
        self.cursor = 0
        self.groups: dict[str, str] = {}
        self.to_come: list[tuple[int, Row, str, Any]] = []
        """(time, row, what, value): what follows of itself."""
        self.came: list[Row] = []
        """Who has come in this step."""
        self.version = 0
        self.shares = self.get_shares()

    # who is left

    def alone(self, row: Row) -> bool:
        """Whether nothing of its own drops it: it is there, switched on, up, of some weight."""
        return bool(row["present"]) and not any(
            self.drops(step, row) for step in self.steps if step != "no-share"
        )

    def drops(self, step: str, row: Row) -> bool:
        return bool(
            {
                "disabled": not row["enabled"],
                "down": row["state"] != "up",
                "draining": row["draining"],
                "weight-zero": row["weight"] == 0,
                "worse-priority": False,
            }[step]
        )

    def eliminated(self, rows: list[Row]) -> tuple[list[Row], list[tuple[str, list[str], int]]]:
        """Who is left of these, and each step that dropped somebody: its name, whom, how many."""
        left, told = list(rows), [("candidates", list[str](), len(rows))]
        for step in ["absent", *self.steps]:
            if step == "absent":
                kept = [row for row in left if row["present"]]
            elif step == "worse-priority":
                best = min((row["priority"] for row in left), default=0)
                kept = [row for row in left if row["priority"] == best]
            elif self.rule == "by-share" and step in ("down", "no-share"):
                kept = self.sharing(left, step)
            else:
                kept = [row for row in left if not self.drops(step, row)]
            if len(kept) < len(left):
                told.append((step, [r["name"] for r in left if r not in kept], len(kept)))
            left = kept
            if not left:
                break
        return left, told

    def sharing(self, left: list[Row], step: str) -> list[Row]:
        """Under priority-failover: who is up, or on a level in panic; whose level gets anything."""
        percent, panics = levels(self.rows, self.options)
        if step == "down":
            return [r for r in left if r["state"] == "up" or r["priority"] in panics]
        return [r for r in left if percent[r["priority"]]]

    def left(self, staying: Row | None = None) -> list[Row]:
        """Who gets through all steps; `staying`: as if this one were not draining."""
        before = staying["draining"] if staying else False
        if staying:
            staying["draining"] = False
        found = self.eliminated(self.rows)[0]
        if staying:
            staying["draining"] = before
        return found

    def get_shares(self) -> dict[str, Fraction]:
        if self.rule != "by-share":
            return {}
        percent, panics = levels(self.rows, self.options)
        found: dict[str, Fraction] = {}
        for level, part in percent.items():
            used = [row for row in self.eliminated(self.rows)[0] if row["priority"] == level]
            pace = {r["name"]: WHOLE if level in panics else r["pace"] for r in used}
            weight = {r["name"]: r["weight"] * pace[r["name"]] for r in used}
            found |= {name: part * one / sum(weight.values()) for name, one in weight.items()}
        return {name: share / sum(found.values()) for name, share in found.items()}

    # one message

    def choose(self, message: Row, sequence: int) -> Row:
        """Who gets it, and why."""
        left, told = self.eliminated(self.rows)
        group = text(message.get("group")) if self.affine else ""
        home = self.groups.get(group) if group else None
        for row in self.rows:
            if row["name"] == home and row in self.left(staying=row):
                why = {"steps": [("bound", [], 1)], "ranks": [home], "step": "bound"}
                return {"chosen": row, "names": [home], "why": {**why, "second": None}}
        order = self.order(left, message, sequence)
        why = self.why(left, told, order)
        if not order:
            return {"chosen": None, "names": [], "why": why}
        chosen = order[0]
        if self.rule == "everyone":
            return {"chosen": chosen, "names": [row["name"] for row in order], "why": why}
        self.serve(chosen)
        if group:
            self.groups[group] = chosen["name"]
        return {"chosen": chosen, "names": [chosen["name"]], "why": why}

    def why(
        self, left: list[Row], told: list[tuple[str, list[str], int]], order: list[Row]
    ) -> dict[str, Any]:
        """Which steps dropped whom, in which order the rule sees those left, what decided."""
        names = [row["name"] for row in order]
        if len(order) < len(left):
            busy = [row["name"] for row in self.in_order(left) if row not in order]
            told = [*told, (self.called(), busy, len(order))]
        last = told[-1][0] if len(told) > 1 else ""
        step = self.called() if left else "no-destination"
        if self.rule == "everyone":
            names = names[:1]
        if len(names) > 1:
            return {"steps": told, "ranks": names, "step": self.called(), "second": names[1]}
        return {"steps": told, "ranks": names, "step": last or step, "second": None}

    def called(self) -> str:
        return {"circular": "ready-ring", "by-share": "least-served"}.get(self.rule, self.rule)

    def in_order(self, rows: list[Row]) -> list[Row]:
        """As the rule lists its members: by name, or as in the file."""
        by_name = self.rule not in ("circular", "ready-ring", "fewest-pending")
        return sorted(rows, key=named) if by_name else [row for row in self.rows if row in rows]

    def order(self, left: list[Row], message: Row, sequence: int) -> list[Row]:
        """Those who are left in the order of the rule: the first is chosen."""
        if self.rule in ("least-served", "by-share"):
            return sorted(left, key=lambda r: (self.ratio(r), -self.weight(r), named(r)))
        if self.rule == "circular":
            return [row for row in self.ready if row in left]
        if self.rule == "ready-ring":
            return sorted(
                (row for row in self.ready if row in left), key=lambda row: int(row["priority"])
            )
        if self.rule == "fewest-pending":
            from_cursor = self.rows[self.cursor :] + self.rows[: self.cursor]
            return sorted((r for r in from_cursor if r in left), key=self.load)
        if self.rule == "rendezvous":
            number = number_of(text(message.get(self.keyed_by)), sequence)
            return sorted(left, key=lambda row: (score(row, number), named(row)))
        return sorted(left, key=named)

    def weight(self, row: Row) -> Fraction:
        """By how much it counts now."""
        if self.rule == "by-share":
            return self.shares.get(row["name"], Fraction(0))
        return Fraction(row["weight"]) * row["pace"]

    def ratio(self, row: Row) -> Fraction:
        return Fraction(row["sent"]) / self.weight(row)

    def load(self, row: Row) -> tuple[Fraction, int]:
        weight = row["weight"] if "weight-zero" in self.steps else 1
        return Fraction(row["held"], weight), -weight

    def serve(self, row: Row) -> None:
        row["sent"] += 1
        row["held"] += 1
        self.cursor = (self.rows.index(row) + 1) % len(self.rows)
        if row in self.ready:
            self.ready.remove(row)
        self.settle(row)

    def settle(self, row: Row) -> None:
        """At the tail of those that are ready, if it has just become so; out if it is not."""
        busy = self.rule == "ready-ring" and 0 < row["capacity"] <= row["held"]
        ready = self.alone(row) and not busy
        if ready and row not in self.ready:
            self.ready.append(row)
        if not ready and row in self.ready:
            self.ready.remove(row)

    def completed(self, name: str, _message: Row, version: int) -> None:
        (row,) = (row for row in self.rows if row["name"] == name)
        if version >= row["lost"]:  # else it failed since, and lost what it held
            row["held"] = max(0, row["held"] - 1)
            self.settle(row)

    # changes

    def meant(self, target: str, attribute: str, value: Any) -> tuple[Row | None, Any]:
        """The row and the value that a change means. Raises RefusedChangeError."""
        if attribute == "reset":
            if not self.counts:
                raise RefusedChangeError
            return None, None
        rows = [r for r in self.rows if target in (r["name"], f"destination:{r['name']}")]
        known = {*EVERYWHERE, *READ_BY_RULE.get(self.rule, [])}
        known |= {READ_BY_STEP[step] for step in self.steps if step in READ_BY_STEP}
        known |= {"capacity"} if self.preset == "msmq" else set()
        words = ("failed",) if "state" in known else ("failed", "up")
        if len(rows) != 1:
            raise RefusedChangeError
        if attribute == "state" and value in words:
            return rows[0], value
        fixed = {"priority"} if self.preset == "nanomsg" else set()
        fixed |= {"capacity"} if self.affine else set()
        if attribute not in known - fixed:
            raise RefusedChangeError
        return rows[0], self.allowed(attribute, value)

    def allowed(self, attribute: str, value: Any) -> Any:
        """The value as the file would have it."""
        try:
            if attribute in ("enabled", "present", "draining"):
                if value in ("", None):
                    raise ValueError
                return truth(value)
            if attribute == "state":
                return {"up": "up", "down": "down"}[value]
            if attribute in ("address", "queue"):
                return str(value)
            if attribute == "speed":
                return in_range(exact(value), Fraction(1, 1000), 10**6)
            least, most = {
                "priority": (0, 127) if self.rule == "by-share" else (1, 16),
                "weight": (0, 2**63 - 1),
                "capacity": (0, 0 if self.preset == "msmq" else 10**9),
                "readers": (0, 10**6),
            }[attribute]
            return in_range(int(str(value)), least, most)
        except (ValueError, KeyError):
            raise RefusedChangeError from None

    def next(self) -> int | None:
        """When something follows of itself."""
        return min((time for time, *_ in self.to_come), default=None)

    def step(self, now: int, changes: list[tuple[Row | None, str, Any]]) -> None:
        """What follows of itself by now, then these changes: all as one step."""
        self.version += 1
        due = [entry for entry in self.to_come if entry[0] <= now]
        self.to_come = [entry for entry in self.to_come if entry[0] > now]
        for _, row, what, value in sorted(due, key=lambda entry: entry[0]):
            if what == "pace":
                self.set_pace(row, value)
            else:
                self.set(row, what, value)
        for one, what, value in changes:
            if one is None:
                self.start_level()
            elif not self.held_back(one, what, value, now):
                self.set(one, what, value)
        self.let_in()
        self.begin_slowly(now)
        if (after := self.get_shares()) != self.shares:
            self.share_out(after)

    def share_out(self, after: dict[str, Fraction]) -> None:
        """Other shares: who stays, who leaves and who comes keep their leads over each other."""
        had = [row for row in self.rows if self.shares.get(row["name"])]
        has = [row for row in self.rows if after.get(row["name"])]
        self.lower([row for row in had if row in has])
        self.lower([row for row in had if row not in has])
        self.shares = after
        self.lower([row for row in has if row not in had])

    def lower(self, rows: list[Row]) -> None:
        """The one that is furthest behind is at 0, and the others lead as before."""
        level = min(map(self.ratio, rows), default=Fraction(0))
        for row in rows:
            row["sent"] = self.rounded(row["sent"] - level * self.weight(row))

    def start_level(self) -> None:
        for row in self.rows:
            row["sent"] = Fraction(0)

    def set(self, row: Row, attribute: str, value: Any) -> None:
        before, was_there = dict(row), self.alone(row)
        if attribute == "state":
            row["state"] = "up" if value == "up" else "down"
        else:
            row[attribute] = value
        is_there = self.alone(row)
        if was_there and not is_there:  # it leaves, and starts anew when it comes again
            self.came = [each for each in self.came if each is not row]
            self.drop(row, "pace")
            self.set_pace(row, WHOLE, before["weight"])
        if self.window and is_there and not was_there:
            self.came.append(row)
        if value == "failed" and attribute == "state":
            row["held"], row["lost"] = 0, self.version
        if row["present"] and not before["present"]:
            row["sent"] = Fraction(0)
        moved = "worse-priority" in self.steps and row["priority"] != before["priority"]
        if is_there and (not was_there or moved or row["weight"] != before["weight"]):
            self.welcome(row)
        self.settle(row)

    def welcome(self, row: Row) -> None:
        """A newcomer starts level with those that it would be chosen among."""
        if self.rule == "least-served" and self.level:
            ratios = [self.ratio(other) for other in self.beside(row)]
            row["sent"] = self.rounded(self.weight(row) * min(ratios, default=Fraction(0)))

    def beside(self, row: Row) -> list[Row]:
        """Who else gets through the steps, and would be chosen among together with it."""
        alike = "worse-priority" in self.steps or self.rule == "by-share"
        return [
            other
            for other in self.rows
            if other is not row and self.alone(other)
            if not alike or other["priority"] == row["priority"]
        ]

    # those who come back

    def held_back(self, row: Row, attribute: str, value: Any, now: int) -> bool:
        """Whether it is up again, but does not count as up before its fail-back delay is over."""
        if not self.delay or attribute != "state":
            return False
        if value != "up":
            self.drop(row, "state")
            return False
        waits = any(each is row and what == "state" for _, each, what, _ in self.to_come)
        if row["state"] != "up" and not waits:
            self.to_come.append((now + self.delay, row, "state", "up"))
        return bool(row["state"] != "up")

    def let_in(self) -> None:
        """Where nobody is there, the delay protects nobody: an `up` counts at once."""
        if any(self.alone(row) for row in self.rows):
            return
        for row in self.rows:
            waits = any(each is row and what == "state" for _, each, what, _ in self.to_come)
            if waits and self.alone({**row, "state": "up"}):
                self.drop(row, "state")
                self.set(row, "state", "up")

    def begin_slowly(self, now: int) -> None:
        """Who has come starts slowly, if others were there before to take the rest."""
        for row in [row for row in self.rows if any(each is row for each in self.came)]:
            if any(all(other is not each for each in self.came) for other in self.beside(row)):
                paces = self.paces()
                self.set_pace(row, paces[0])
                self.to_come += [
                    (now + self.window * k // STEPS, row, "pace", paces[k])
                    for k in range(1, STEPS + 1)
                    if paces[k] != paces[k - 1]
                ]
        self.came = []

    def paces(self) -> list[Fraction]:
        aggression = exact(self.options.get("slow_start_aggression", 1))
        least = Fraction(self.options.get("slow_start_min", 10), 100)
        return [*(max(least, per_mille(k, aggression)) for k in range(STEPS)), WHOLE]

    def set_pace(self, row: Row, pace: Fraction, weight: int | None = None) -> None:
        """Another part of its weight counts; by how many messages it leads stays as it is."""
        weight = row["weight"] if weight is None else weight
        if self.rule == "least-served" and pace != row["pace"]:
            own = Fraction(row["sent"]) / (weight * row["pace"])
            level = min(own, *(self.ratio(other) for other in self.beside(row)), own)
            row["sent"] = self.rounded(row["sent"] + level * weight * (pace - row["pace"]))
        row["pace"] = pace

    def rounded(self, sent: Fraction) -> Fraction:
        """Down to a whole message, or to a thousandth of one where weights change by parts."""
        finest = 1000 if self.window or self.rule == "by-share" else 1
        return Fraction(floor(sent * finest), finest)

    def drop(self, row: Row, what: str) -> None:
        self.to_come = [e for e in self.to_come if not (e[1] is row and e[2] == what)]


def levels(rows: list[Row], options: Row) -> tuple[dict[int, int], set[int]]:
    """What each level gets in per cent, and which levels panic: Envoy's formula."""
    serving = [r for r in rows if r["present"] and r["enabled"] and r["weight"] > 0]
    size, healthy = dict[int, int](), dict[int, int]()
    for level in sorted({row["priority"] for row in serving}):
        own = [row for row in serving if row["priority"] == level]
        size[level] = len(own)
        healthy[level] = sum(row["state"] == "up" and not row["draining"] for row in own)
    if options.get("spill", "gradual") == "none":
        first = [level for level in size if healthy[level]][:1]
        return {level: 100 * (level in first) for level in size}, set()
    factor = options.get("overprovisioning", 140)
    threshold = options.get("panic_threshold", 50)
    health = {level: min(100, factor * healthy[level] // size[level]) for level in size}
    total = min(100, sum(health.values()))
    if total == 0 and (threshold == 0 or not size):
        return dict.fromkeys(size, 0), set()
    if total == 0:
        percent = {level: 100 * size[level] // sum(size.values()) for level in size}
        percent[min(size)] += 100 - sum(percent.values())
        return percent, set(size)
    percent, remaining = {}, 100
    for level in size:
        percent[level] = min(remaining, health[level] * 100 // total)
        remaining -= percent[level]
    percent[next(level for level in size if health[level] > 0)] += remaining
    if total == 100:
        return percent, set()
    return percent, {lv for lv in size if Fraction(100 * healthy[lv], size[lv]) < threshold}


def per_mille(step: int, aggression: Fraction) -> Fraction:
    """(step/10)^(1/aggression), rounded to per mille, halves up."""
    n, d = aggression.numerator, aggression.denominator
    part = 0
    while part < 1000 and Fraction(2 * part + 1, 2000) ** n <= Fraction(step, STEPS) ** d:
        part += 1
    return Fraction(part, 1000)


def in_range(value: Any, least: Fraction | int, most: int) -> Any:
    if not least <= value <= most:
        raise ValueError(value)
    return value


def named(row: Row) -> bytes:
    return str(row["name"]).encode()
