"""Random scenarios of the everyday policies, and of policies that a file composes."""

from fractions import Fraction
from random import Random

from tests.strategies import (
    Row,
    Scenario,
    Values,
    a_service_time,
    a_speed,
    a_tiny_service_time,
    a_weight,
    destination_count,
    in_play,
    maybe,
    often,
    one_of,
    rarely,
    seconds,
    some_changes,
    some_messages,
    some_names,
    tiny_seconds,
    yes_or_no,
)

UP = {"enabled", "present", "state"}
STARTING = UP | {"draining"}
READ_BY = {
    "round-robin": STARTING,
    "weighted": STARTING | {"weight"},
    "fewest-pending": STARTING | {"speed", "weight"},
    "hot-standby": STARTING,
    "broadcast": UP,
    "rendezvous": STARTING | {"weight"},
    "priority-failover": STARTING | {"weight", "priority"},
}
WEIGHING = ("weighted", "least-served", "priority-failover")
STEPS = {"disabled": "enabled", "down": "state", "draining": "draining", "weight-zero": "weight"}
STAYING = ("round-robin", "circular", "weighted", "least-served", "hot-standby", "first-by-name")
STAYING = (*STAYING, "priority-failover")
"""Policies and rules under which a group can stay with a destination."""
CHOICES = ("least-served", "circular", "first-by-name", "fewest-pending", "everyone", "rendezvous")
GROUPS = ["", "g1", "g2", "g3", "G1", "é", "a\nb"]
KEYS = ["", "", "a", "A", "b", "1", "01", "é", "e\u0301", "\U0001f600", "a\nb", "\n", " ", "x" * 99]


def everyday(policy: str, random: Random) -> Scenario:
    """A scenario of one of the presets."""
    options: Row = {}
    if policy == "weighted":
        options = random.choice([{}, {"newcomer": "level"}, {"newcomer": "catch-up"}])
    if policy == "rendezvous":
        options = random.choice([{}, {"key": "group"}, {"key": "subject"}])
    if policy == "priority-failover":
        options = _failover_options(random)
    _returning(random, options, slow=policy in WEIGHING, down=True)
    return _scenario(random, policy, policy, READ_BY[policy], options)


def composed(random: Random) -> Scenario:
    """A scenario of a policy that its file puts together."""
    choose = random.choice(CHOICES)
    eliminate = [name for name in STEPS if random.random() < 1 / 2 or _needed(name, choose)]
    random.shuffle(eliminate)
    read = {STEPS[name] for name in eliminate} | {"present"}
    if rarely(random) or random.random() < 1 / 3:
        eliminate.append("worse-priority")
        read.add("priority")
    options: Row = {}
    if choose == "least-served":
        options = random.choice([{}, {"newcomer": "catch-up"}])
    if choose == "fewest-pending":
        read.add("speed")
    _returning(random, options, slow=choose == "least-served", down="down" in eliminate)
    return _scenario(random, {"eliminate": eliminate, "choose": choose}, choose, read, options)


def _needed(step: str, choose: str) -> bool:
    return step == "weight-zero" and choose in ("least-served", "rendezvous")


def _failover_options(random: Random) -> Row:
    if rarely(random):
        return {"spill": "none"}
    options: Row = {}
    maybe(random, options, "overprovisioning", one_of(100, 140, 200))
    maybe(random, options, "panic_threshold", one_of(0, 50, 50, 100, random.randint(0, 100)))
    return options


def _returning(random: Random, options: Row, *, slow: bool, down: bool) -> None:
    """How those who come back are treated; the times are such that often several things meet."""
    if slow and options.get("newcomer") != "catch-up" and random.random() < 1 / 2:
        options["slow_start"] = random.choice([0.5, 1, 2, 5, 5, 10, 10, 20, 0.001])
        maybe(random, options, "slow_start_min", one_of(1, 10, 30, 50, 99))
        maybe(random, options, "slow_start_aggression", one_of(0.1, 0.25, 0.5, 1, 1.5, 2, 10))
    if down and random.random() < 1 / 2:
        options["failback_delay"] = random.choice([0.5, 1, 1, 2, 3, 0.25, 0.001])


def _scenario(
    random: Random, policy: str | Row, rule: str, read: set[str], options: Row
) -> Scenario:
    stays = rule in STAYING and random.random() < 2 / 5
    if stays:
        options["affinity"] = "group"
    levels = one_of(0, 1, 2, 127) if policy == "priority-failover" else one_of(8, 8, 7, 1, 16)
    values: Values = {
        "draining": rarely,
        "enabled": often,
        "present": often,
        "priority": levels,
        "speed": a_speed,
        "state": one_of("up", "up", "up", "down"),
        "weight": lambda random: random.choice([1, 1, 2, a_weight(random)]),
    }
    play = in_play(random, sorted(read), 1 / 3, 3 / 4, 1)
    cluster: Row = {"policy": policy, "destination": []}
    if options:
        cluster["options"] = options
    for name in some_names(random, destination_count(random)):
        row: Row = {"name": name}
        for attribute in sorted(play):
            maybe(random, row, attribute, values[attribute])
        if rarely(random):
            row["readers"] = random.randint(1, 4)
            row["address"] = "to " + name
        cluster["destination"].append(row)
    tiny = random.random() < (1 / 10 if options else 1 / 3)
    kinds: list[Row] = [{}]
    if rule == "fewest-pending":
        works = a_tiny_service_time if tiny else a_service_time
        kinds = [{"service_time": works(random)} for _ in range(random.randint(1, 4))]
    if rule == "rendezvous":
        name = options.get("key", "group")
        kinds = [{name: random.choice(KEYS)} for _ in range(random.randint(1, 9))]
    if stays:
        kinds = [{"group": random.choice(GROUPS)} for _ in range(random.randint(1, 9))]
    messages = some_messages(random, cluster, kinds, tiny_seconds if tiny else seconds)
    values["enabled"] = values["present"] = values["draining"] = yes_or_no
    values["state"] = one_of("up", "up", "down", "failed")
    changing = {attribute: values[attribute] for attribute in play}
    targets = [(row["name"], changing) for row in cluster["destination"]]
    resets = rule in WEIGHING
    changes = some_changes(random, cluster, messages, targets, resets=resets)
    if options.keys() & {"slow_start", "failback_delay"} or "weight" in read:
        changes += _there_and_back(random, cluster, read)
        random.shuffle(changes)
    return cluster, messages, changes


def _there_and_back(random: Random, cluster: Row, read: set[str]) -> list[Row]:
    """Some go and come back, mostly early enough that what follows later matters."""
    ways = {"state": ("down", "up"), "enabled": (False, True), "present": (False, True)}
    changes: list[Row] = []
    for row in random.sample(
        cluster["destination"], random.randint(0, len(cluster["destination"]))
    ):
        attribute = random.choice(["state", "state", *ways])
        if attribute not in read:
            attribute = "present"
        time = Fraction(0)
        for k in range(random.choice([2, 2, 2, 3, 4, 4])):
            time += random.choice([Fraction(0), Fraction(1, 2), Fraction(1, 2), Fraction(1)])
            change = {"time": time, "target": row["name"], "attribute": attribute}
            changes.append({**change, "value": ways[attribute][k % 2]})
        if "weight" in read and random.random() < 1 / 2:  # it may be on its way up
            time += random.choice([Fraction(0), Fraction(1, 2), Fraction(1)])
            weight = {"attribute": "weight", "value": random.choice([1, 2, 3])}
            changes.append({"time": time, "target": row["name"], **weight})
    return changes
