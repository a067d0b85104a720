"""Draws clusters with any options that stand together, and what happens to them."""

from dataclasses import dataclass, field
from typing import Any

from tests.oracle import Row

from .deciding import Deciding, Listed, Subscribers
from .deciding_destinations import PRESETS, READ_BY_RULE, READ_BY_STEP, Destinations
from .draws import Draws
from .driver import Step

NAMES = ["a", "B", "b", "é", "10", "9"]
GROUPS = ["", "g", "h", "é"]
LEAST = [1, 1_000, 250_000, 500_000, 1_000_000, 2_000_000]
"""Microseconds between steps: few, so that things meet."""
COMPOSED = ["least-served", "circular", "first-by-name", "fewest-pending", "everyone"]
COMPOSED += ["rendezvous", "ready-ring", "least-served", "ready-ring"]
POLICIES = [*PRESETS, "composed", "composed", "composed", "composed", "ibm-mq", "smartsockets"]
POLICIES += ["smartsockets", "priority-failover", "fewest-pending", "weighted"]
"""Those twice or more in which more things meet."""
RETURN = {"slow_start": [1, 0.001, 5, 30, 60], "slow_start_min": [1, 10, 50, 99]}
RETURN |= {"slow_start_aggression": [0.5, 1, 2, 10]}
STAYING = ("round-robin", "weighted", "hot-standby", "priority-failover", "msmq", "nanomsg")
STAYING += ("least-served", "circular", "first-by-name", "ready-ring")
VALUES: dict[str, list[Any]] = {
    "enabled": [True, False, "true", "false"],
    "present": [True, False, "true"],
    "draining": [True, False],
    "state": ["up", "down", "failed", "up"],
    "weight": [1, 1, 2, 2, 3, 3, 0, 0, 7, "5", 10**9, 2**63 - 1],
    "priority": [1, 2, 16],
    "capacity": [1, 2, 0, 3],
    "speed": [1, 0.5, 3],
    "readers": [1, 2],
    "address": ["", "x:1"],
}
THERE = {"present": True, "enabled": True, "state": "up", "draining": False, "connected": True}
NONSENSE: dict[str, list[Any]] = {
    "enabled": ["maybe"],
    "state": ["gone"],
    "weight": [-1, "many", 1.5],
    "priority": [-1, 999],
    "capacity": [-1],
    "speed": [0],
}
SOCKET_MODES = ["none", "round-robin", "weighted", "sorted"]
CHANNEL_STATES = ["running", "running", "inactive", "starting", "retrying", "paused"]


KNOWN = {
    "acknowledged by who joined again": (
        "smartsockets: R has x, leaves, joins, has y, acknowledges x: y is not pending any more",
        "reference/policies/smartsockets.md",
    ),
}
"""Faults that are not mended yet: what happens, the page that says otherwise. No world has them."""


@dataclass
class World:
    """Clusters, and how they are played."""

    clusters: list[Row]
    shares: tuple[int, int, int] = (6, 3, 4)
    """How often there are messages, changes and completions, beside all else."""
    restores: bool = False
    themes: list[str] = field(default_factory=list)
    """Attributes that change more often than others: where all do, few changes meet."""
    narrow: bool = False
    """Whether no others change."""
    modes: list[str] = field(default_factory=lambda: list(SOCKET_MODES))
    deliveries: list[str] = field(default_factory=lambda: ["", "ordered", "some", "all", "all"])
    features: frozenset[str] = field(default_factory=frozenset)

    def model(self) -> Deciding:
        return Deciding(self.clusters)

    def next_step(self, draws: Draws, model: Deciding) -> Step:
        messages, changes, completions = self.shares
        verbs = ["choose"] * messages + ["apply"] * changes + ["at", "at", "again"]
        verbs += ["restore"] * (2 if self.restores else 0)
        open_ones = [n for n in range(len(model.decisions)) if can_complete(model, n)]
        verbs += ["completed"] * (completions if open_ones else 0)
        verbs += ["explain"] if model.decisions else []
        verb = draws.pick(verbs)
        if verb == "again":  # what is due, a microsecond before or after
            due = model.next()
            return Step(
                "at", {"time": (due or self.soon(draws, model)) + draws.pick([0, 0, -1, 1])}
            )
        if verb == "apply":
            return Step(verb, {"changes": self.changes(draws, model)})
        if verb == "at":
            return Step(verb, {"time": self.soon(draws, model)})
        if verb == "completed":
            return Step(verb, self.completion(draws, model, open_ones))
        if verb == "explain":
            return Step(verb, {"number": draws.whole(0, len(model.decisions) - 1)})
        return Step(verb, {} if verb == "restore" else {"message": self.message(draws)})

    def soon(self, draws: Draws, model: Deciding) -> int:
        """Mostly a little later; sometimes back."""
        now = max(model.now, 0)
        return now + draws.pick([*LEAST, 0, -1_000_000, -1]) * draws.pick([1, 1, 3])

    def completion(self, draws: Draws, model: Deciding, open_ones: list[int]) -> Row:
        number = draws.pick([*open_ones, open_ones[0]])
        decision = model.decisions[number]
        if draws.whole(0, 30) == 0:
            return {"number": number, "by": "nobody"}
        alone = len(decision["copies"]) == 1 and draws.whole(0, 1)
        return {"number": number, "by": None if alone else draws.pick(decision["open"])}

    # messages

    def message(self, draws: Draws) -> Row:
        if draws.whole(0, 3) == 0:
            return self.odd(draws)
        plain = draws.pick(self.clusters)
        said: Row = (
            {} if len(self.clusters) == 1 and draws.whole(0, 2) else {"cluster": plain["name"]}
        )
        policy = plain["policy"]
        if policy == "ibm-mq":
            return said | self.put(draws, plain)
        if policy == "smartsockets":
            return said | self.publication(draws)
        if plain.get("options", {}).keys() & {"affinity", "key"} or draws.whole(0, 3) == 0:
            said[plain.get("options", {}).get("key", "group")] = draws.pick(GROUPS)
        return said

    def put(self, draws: Draws, plain: Row) -> Row:
        said: Row = {}
        kind = draws.pick(["queue", "queue", "queue", "manager", "both", "pcf", ""])
        if kind in ("queue", "both"):
            said["queue"] = draws.pick(["Q", "Q", "R", "nowhere"])
        if kind in ("manager", "both"):
            said["queue_manager"] = draws.pick(["QM", "M1", "M2", "A", "nobody"])
        if kind == "pcf":
            said |= {"pcf": True, "already_sent": draws.pick(["", "M1", "M1;M2"])}
        for name, values in (
            ("bind", ["", "on-open", "not-fixed", "on-group"]),
            ("producer", ["", "p"]),
            ("group", GROUPS),
            ("via_cluster_channel", [True, False]),
        ):
            if draws.whole(0, 2) == 0:
                said[name] = draws.pick(values)
        return said

    def publication(self, draws: Draws) -> Row:
        said: Row = {"subject": draws.pick(["/s", "/s", "/s", "/t", "", "/none"])}
        said["mode"] = draws.pick(["", *self.modes, *self.modes])
        said["delivery"] = draws.pick(self.deliveries)
        said["type"] = draws.pick(["", "WORK", "?"])
        said["server"] = draws.pick(["", "", "far"])
        return said

    def odd(self, draws: Draws) -> Row:
        """What says nothing, or something odd."""
        return draws.pick(
            [
                {},
                {},
                {"id": "m", "size": 5},
                {"cluster": "elsewhere", "queue": "Q"},
                {"type": "SetPriority", "group": "g"},
                {"colour": "red"},
                {"mode": "loud"},
                {"pcf": "true", "queue": "Q"},
                {"group": 5},
                {"group": True},
            ]
        )

    # changes

    def changes(self, draws: Draws, model: Deciding) -> list[Row]:
        found = []
        time = self.soon(draws, model)
        for _ in range(draws.pick([1, 1, 1, 2, 3])):
            time += draws.pick([0, 0, 0, 1_000_000, -1])
            back = self.back(draws, model) if draws.whole(0, 2) == 0 else None
            found.append({**(back or self.change(draws)), "time": time})
        if draws.whole(0, 5) == 0:
            return self.to_everybody(draws, found[0])
        return found

    def back(self, draws: Draws, model: Deciding) -> Row | None:
        """One that is out comes back, if there is one."""
        gone: list[Row] = []
        for name, cluster in model.clusters.items():
            rows = cluster.own.rows if isinstance(cluster, Subscribers) else []
            rows = cluster.rows if isinstance(cluster, Listed) else rows
            suffix = f"@{name}" if len(self.clusters) > 1 else ""
            for row in rows:
                own = f"subscriber:{row['name']}@{row['subject']}" if "subject" in row else ""
                gone += [
                    {
                        "target": (own or row["name"]) + suffix,
                        "attribute": attribute,
                        "value": there,
                    }
                    for attribute, there in THERE.items()
                    if row.get(attribute, there) != there
                ]
        return draws.pick(gone) if gone else None

    def to_everybody(self, draws: Draws, change: Row) -> list[Row]:
        """The same change to all destinations of a cluster, as one step; some go there and back."""
        plain = draws.pick(self.clusters)
        if "destination" not in plain or change["attribute"] == "reset":
            return [change]
        suffix = f"@{plain['name']}" if len(self.clusters) > 1 else ""
        every = [{**change, "target": row["name"] + suffix} for row in plain["destination"]]
        values = VALUES.get(change["attribute"], ["x"])
        return [*every, {**draws.pick(every), "value": draws.pick(values)}]

    def change(self, draws: Draws) -> Row:
        plain = draws.pick(self.clusters)
        if draws.whole(0, 12) == 0 and not self.narrow:
            target = draws.pick(["*", plain["name"], "nowhere"])
            return {"target": target, "attribute": "reset", "value": draws.pick([None, True, "no"])}
        if plain["policy"] == "ibm-mq":
            target, attribute, value = queue_manager_change(draws, plain)
        elif plain["policy"] == "smartsockets":
            target, attribute, value = subscriber_change(draws, plain, self.narrow)
        else:
            target, attribute, value = destination_change(draws, plain, self.themes, self.narrow)
        if len(self.clusters) > 1:
            target += f"@{plain['name']}"
        if draws.whole(0, 25) == 0 and not self.narrow:
            target = draws.pick(["nobody", target + "@nowhere", ""])
        return {"target": target, "attribute": attribute, "value": value}


def can_complete(model: Deciding, number: int) -> bool:
    """Whether somebody has not completed it; without what is KNOWN."""
    decision = model.decisions[number]
    cluster = model.clusters.get(decision["cluster"])
    if isinstance(cluster, Subscribers) and decision["version"] < max(
        cluster.joined.values(), default=0
    ):
        return False
    return bool(decision["open"])


def a_world(draws: Draws) -> World:
    """One cluster, or two."""
    names = draws.pick([["c"], ["c"], ["c"], ["c", "d"]])
    clusters = [a_cluster(draws, name) for name in names]
    features = {str(plain["policy"]) for plain in clusters}
    shares = draws.pick([(6, 3, 4), (16, 3, 4), (6, 10, 2), (8, 3, 1), (10, 5, 12)])
    world = World(clusters, shares, features=frozenset(features))
    world.narrow = draws.whole(0, 2) == 0
    world.themes, world.restores = some_themes(draws, clusters), draws.whole(0, 1) == 1
    if draws.whole(0, 1):
        world.modes = draws.pick([["none", "weighted"], ["weighted"], ["round-robin", "sorted"]])
        world.deliveries = draws.pick([["all"], ["all", ""]])
    return world


def some_themes(draws: Draws, clusters: list[Row]) -> list[str]:
    """One attribute or two that matter in one of the clusters."""
    plain = draws.pick(clusters)
    read = read_of(plain) if "destination" in plain else ["state"]
    return [draws.pick(read) for _ in range(draws.whole(1, 2))]


def a_cluster(draws: Draws, name: str, policies: list[str] = POLICIES) -> Row:
    policy = draws.pick(policies)
    if policy == "ibm-mq":
        return {**queue_managers(draws), "name": name}
    if policy == "smartsockets":
        return {**subscribers(draws), "name": name}
    plain: Row = {"name": name, "policy": a_composition(draws) if policy == "composed" else policy}
    rule = plain["policy"]["choose"] if policy == "composed" else PRESETS[policy][1]
    steps = plain["policy"]["eliminate"] if policy == "composed" else PRESETS[policy][0]
    options = some_options(draws, policy, rule, steps)
    read = [READ_BY_STEP[step] for step in steps if step in READ_BY_STEP]
    read += [*READ_BY_RULE.get(rule, []), "present", "speed", "readers", "address"]
    if options.get("affinity") == "group" and "capacity" in read:
        read.remove("capacity")
    plain["destination"] = [
        {"name": each, **some_attributes(draws, policy, rule, read)}
        for each in NAMES[: draws.pick([1, 2, 2, 3, 3, 4])]
    ]
    return {**plain, "options": options} if options else plain


def some_attributes(draws: Draws, policy: str, rule: str, read: list[str]) -> Row:
    found: Row = {}
    for attribute in dict.fromkeys(read):
        likely = attribute in ("capacity", "weight", *(["priority"] if rule != "by-share" else []))
        needed = policy == "msmq" and attribute == "weight"
        if needed or draws.whole(0, 2 if likely else 6) == 0:
            value = draws.pick([v for v in VALUES[attribute] if not isinstance(v, str)] or [""])
            if attribute in ("state", "address"):
                value = draws.pick(["up", "down"] if attribute == "state" else ["", "x:2"])
            if attribute == "priority" and rule == "by-share":
                value -= 1
            found[attribute] = value
    return found


def a_composition(draws: Draws) -> Row:
    rule = draws.pick(COMPOSED)
    steps = [
        step
        for step in ("disabled", "down", "draining", "weight-zero")
        if draws.whole(0, 3) or (step == "weight-zero" and rule in ("least-served", "rendezvous"))
    ]
    if rule != "ready-ring" and draws.whole(0, 1) == 0:
        steps.append("worse-priority")
    return {"eliminate": steps, "choose": rule}


def some_options(draws: Draws, policy: str, rule: str, steps: list[str]) -> Row:
    options = a_return(draws, policy, rule)
    if "down" in steps and policy != "nanomsg" and draws.whole(0, 2) == 0:
        options["failback_delay"] = draws.pick([1, 0.001, 2, 0.5, 20])
    if (policy in STAYING or (policy == "composed" and rule in STAYING)) and draws.whole(0, 1):
        options["affinity"] = "group"
    if rule == "rendezvous" and draws.whole(0, 1):
        options["key"] = draws.pick(["group", "subject", "queue"])
    if policy == "priority-failover":
        options |= a_spill(draws)
    return options


def a_return(draws: Draws, policy: str, rule: str) -> Row:
    """How those are treated who come back."""
    options: Row = {}
    by_weight = rule in ("least-served", "by-share") and policy != "msmq"
    if by_weight and draws.whole(0, 1):
        for name, values in RETURN.items():
            if name == "slow_start" or draws.whole(0, 1):
                options[name] = draws.pick(values)
    elif rule == "least-served" and draws.whole(0, 1):
        options["newcomer"] = draws.pick(["level", "catch-up"])
    return options


def a_spill(draws: Draws) -> Row:
    """How the next level helps."""
    if draws.whole(0, 3) == 0:
        return {"spill": "none"}
    options: Row = {}
    for name, values in (("overprovisioning", [100, 140, 200]), ("panic_threshold", [0, 50, 100])):
        if draws.whole(0, 1):
            options[name] = draws.pick(values)
    return options


def read_of(plain: Row) -> list[str]:
    """The attributes that matter, those twice that drop somebody."""
    known = Destinations(plain)
    read = [READ_BY_STEP[step] for step in known.steps if step in READ_BY_STEP]
    return [*READ_BY_RULE.get(known.rule, []), *read, *read, "state", "present"]


def destination_change(
    draws: Draws, plain: Row, themes: list[str], narrow: bool
) -> tuple[str, str, Any]:
    read = read_of(plain)
    attribute = draws.pick([*read, "speed", "readers", "address", *sorted(VALUES), "name"])
    if themes and (narrow or draws.whole(0, 3)):
        attribute = draws.pick(themes)
    target = draws.pick(plain["destination"])["name"]
    if draws.whole(0, 9) == 0:
        target = f"destination:{target}"
    values = VALUES.get(attribute, ["x"])
    if draws.whole(0, 15) == 0 and not narrow:
        values = NONSENSE.get(attribute, values)
    return target, attribute, draws.pick(values)


def queue_managers(draws: Draws) -> Row:
    level = [0, 0, 0, 1, 9]
    found: Row = {
        "policy": "ibm-mq",
        "queue_manager": {
            "name": "QM",
            "clusters": ["C"],
            "use_queue": draws.pick(["any", "local"]),
        },
        "remote": [
            {"name": "M1"},
            {"name": "M2"},
            {"name": "M3", "suspended": draws.pick([True, False])},
        ],
        "channel": [],
        "queue": [],
        "alias": [{"name": "A", "queue_manager": "M1"}, {"name": "A", "queue_manager": "M2"}],
    }
    if draws.whole(0, 3) == 0:
        found["queue_manager"]["most_recently_used_channels"] = draws.pick([1, 2])
    for name, owner in (("K1", "M1"), ("K2", "M2"), ("K3", "M3"), ("K4", "M1")):
        row: Row = {"name": name, "queue_manager": owner, "weight": draws.pick([50, 50, 25, 1])}
        for attribute in ("rank", "priority", "network_priority"):
            if draws.whole(0, 4) == 0:
                row[attribute] = draws.pick(level)
        row["manual"] = draws.whole(0, 6) == 0
        row["present"] = draws.whole(0, 6) > 0
        found["channel"].append(row)
    for queue, owner in (("Q", "M1"), ("Q", "M2"), ("Q", "M3"), ("R", "M2"), ("Q", "QM")):
        row = {"name": queue, "queue_manager": owner, "bind": draws.pick(["not-fixed", "on-group"])}
        row["put_enabled"] = draws.whole(0, 5) > 0
        row["present"] = owner != "QM" or draws.whole(0, 2) == 0
        found["queue"].append(row)
    if draws.whole(0, 3) == 0:
        found["options"] = {"literal_step_11": True}
    return found


def queue_manager_change(draws: Draws, plain: Row) -> tuple[str, str, Any]:
    truths, level = [True, False], [0, 0, 1, 9]
    kind = draws.pick(["channel", "channel", "queue", "alias", "remote", "queue_manager"])
    values: dict[str, list[Any]] = {
        "channel": ["state", "rank", "priority", "weight", "network_priority", "present"],
        "queue": ["put_enabled", "rank", "priority", "present", "bind", "use_queue"],
        "alias": ["put_enabled", "rank", "priority", "present"],
        "remote": ["suspended", "present"],
        "queue_manager": ["use_queue", "most_recently_used_channels"],
    }
    row = plain["queue_manager"] if kind == "queue_manager" else draws.pick(plain[kind])
    attribute = draws.pick(values[kind])
    allowed: dict[str, list[Any]] = {
        "state": CHANNEL_STATES,
        "weight": [50, 25, 99, 1],
        "bind": ["on-open", "not-fixed", "on-group"],
        "use_queue": ["any", "local", *(["queue-manager"] if kind == "queue" else [])],
        "most_recently_used_channels": [1, 2, 999_999_999],
    }
    allowed |= dict.fromkeys(("present", "put_enabled", "suspended"), truths)
    owner = f"@{row['queue_manager']}" if "queue_manager" in row else ""
    return f"{kind}:{row['name']}{owner}", attribute, draws.pick(allowed.get(attribute, level))


def subscribers(draws: Draws) -> Row:
    found: Row = {"policy": "smartsockets", "subscriber": []}
    for subject in draws.pick([["/s"], ["/s"], ["/s", "/t"]]):
        for name in NAMES[: draws.pick([1, 2, 2, 3])]:
            row: Row = {"name": name, "subject": subject}
            for attribute, values in (
                ("load_balanced", [True, False]),
                ("connected", [True, "warm", False]),
                ("present", [True, False]),
            ):
                if draws.whole(0, 5) == 0:
                    row[attribute] = draws.pick(values)
            row["disconnect_mode"] = draws.pick(["failure", "success", "warm", "warm"])
            found["subscriber"].append(row)
    if draws.whole(0, 1):
        found["message_type"] = [{"name": "WORK", "mode": draws.pick(SOCKET_MODES)}]
    if draws.whole(0, 1):
        found["options"] = {
            "on_receiver_failure": draws.pick(["reroute", "reroute", "nack"]),
            "reconnect_timeout": draws.pick([0, 1, 2]),
        }
    return found


def subscriber_change(draws: Draws, plain: Row, narrow: bool) -> tuple[str, str, Any]:
    if draws.whole(0, 6) == 0 and not narrow:
        pair = draws.pick(
            [("mode", draws.pick(SOCKET_MODES)), ("present", draws.pick([True, False]))]
        )
        return "message_type:WORK", *pair
    row = draws.pick(plain["subscriber"])
    values: dict[str, list[Any]] = {
        "state": ["failed", "failed", "up"],
        "connected": [True, False, "warm"],
        "load_balanced": [True, False],
        "present": [True, False],
        "disconnect_mode": ["failure", "success", "warm"],
    }
    attribute = draws.pick(["state", "connected"] if narrow else ["state", *values])
    target = f"subscriber:{row['name']}@{row['subject']}"
    return target, attribute, draws.pick(values[attribute])
