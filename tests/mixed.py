"""Random files that mix everything: several policies at once, bindings, changes, empty columns.

A `Mixed` is a file of clusters, a table of messages and a list of changes. Each cluster is one of
`strategies.random_scenario`, under a name of its own, and all of them are in one table. A message
also carries attributes that its own policy does not read but another one in the file does, or says
nothing where others do; some messages are control messages, some name a cluster that does not
exist, or none; some that nobody waits for have no service time.
In some files the messages are ordered by `position`, so that times jump.

What must come out is put together from `tests.oracle`, cluster by cluster; what no policy decides
(control messages, unknown clusters) is decided here.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from tests import oracle
from tests.golden_cases import POLICIES
from tests.strategies import Row, random_scenario

IBM = {"queue", "queue_manager", "via_cluster_channel", "pcf", "already_sent"}
IBM |= {"bind", "producer", "group"}
SMARTSOCKETS = {"subject", "mode", "delivery", "type", "server"}
NOISE: dict[str, list[str]] = {
    "bind": ["on-open", "on-group", "not-fixed"],
    "delivery": ["all", "ordered"],
    "group": ["g1", "g2", "p1"],
    "mode": ["round-robin", "none"],
    "producer": ["p1", "p2"],
    "queue": ["Q", "A", "é"],
    "queue_manager": ["A", "a"],
    "server": ["far"],
    "subject": ["/s", "/t"],
    "type": ["INFO", "WORK", "?"],
}
"""Attributes that mean something to some policies, and values that are allowed."""
CONTROL = "control"
TICK = Fraction(1, 1_000_000)

Expected = list[tuple[str | None, str, int | None]]


class Mixed(NamedTuple):
    """One file of clusters, its messages in no particular order, and changes."""

    clusters: list[Row]
    messages: list[Row]
    changes: list[Row]
    """Targets are unambiguous in the whole file: `target@cluster`."""
    own_changes: dict[str, list[Row]]
    """The same changes by cluster, with targets as they are alone."""


def mixed(random: Random, clusters: int, rows: int) -> Mixed:
    """So many clusters of random policies with about so many messages in all."""
    by_position = random.random() < 1 / 4
    found = Mixed([], [], [], {})
    systems = [random.choice([*POLICIES, "ibm-mq", "ibm-mq"]) for _ in range(clusters)]
    for k, system in enumerate(systems):
        plain, messages, changes = random_scenario(system, random)
        name = f"{random.choice(['Köln', 'c'])}-{k}"
        found.own_changes[name] = [
            {**each, "target": name if each["attribute"] == "reset" else each["target"]}
            for each in changes
        ]
        found.clusters.append({**plain, "name": name})
        pool = list(_several(random, messages, changes, rows // clusters))
        read = _read(system, plain)
        for message in pool:
            found.messages.append(_with_noise(random, {**message, "cluster": name}, read))
    found.changes.extend(
        {**each, "target": name if each["attribute"] == "reset" else f"{each['target']}@{name}"}
        for name, own in found.own_changes.items()
        for each in own
    )
    waiting = {each["name"] for each in found.clusters if _waits(each, found.own_changes)}
    random.shuffle(found.messages)
    for k, message in enumerate(found.messages):
        message["id"] = f"{random.choice(['a', 'B', 'é', ''])}{k}"
        if random.random() < 1 / 40:
            message["cluster"] = random.choice(["", "nowhere", found.clusters[0]["name"] + " "])
        if random.random() < 1 / 40:
            message["type"] = "SetPriority"
        served = message["cluster"] in waiting and message.get("type") != "SetPriority"
        if not served and random.random() < 1 / 6:
            message["service_time"] = None
        if by_position:
            message["position"] = random.randint(0, len(found.messages) // 2)
    return found


def _waits(plain: Row, changes: dict[str, list[Row]]) -> bool:
    """Whether completions may decide in a cluster, now or after a change."""
    limited = any("capacity" in each for each in plain.get("destination", ()))
    later = any(each["attribute"] == "capacity" for each in changes[plain["name"]])
    return limited or later or "fewest-pending" in str(plain["policy"])


def _several(random: Random, messages: list[Row], changes: list[Row], n: int) -> Iterator[Row]:
    """Messages like these, at their times, at the changes', and just before and after."""
    if not messages:
        return
    kinds = [{k: v for k, v in each.items() if k not in ("id", "cluster")} for each in messages]
    moments = [each["time"] for each in (*messages, *changes)]
    for _ in range(random.randint(1, 2 * n)):
        near = random.choice([0, 0, 0, 0, -1, 1]) * TICK
        yield {**random.choice(kinds), "time": max(Fraction(0), random.choice(moments) + near)}


def _read(system: str, plain: Row) -> set[str]:
    """The attributes that this policy reads; others are noise to it."""
    options = plain.get("options", {})
    if system == "ibm-mq":
        return IBM
    if system == "smartsockets":
        return SMARTSOCKETS
    affine = {"group"} if options.get("affinity") == "group" else set()
    keyed = {options.get("key", "group")} if _chooses_by_key(plain) else set()
    return affine | keyed


def _chooses_by_key(plain: Row) -> bool:
    policy = plain["policy"]
    return policy == "rendezvous" or (
        isinstance(policy, dict) and policy.get("choose") == "rendezvous"
    )


def _with_noise(random: Random, message: Row, read: set[str]) -> Row:
    for name in NOISE.keys() - read:
        if random.random() < 1 / 6 and not (name == "queue" and message.get("pcf")):
            message[name] = random.choice(NOISE[name])
        elif random.random() < 1 / 6:
            message[name] = ""
    message.setdefault("service_time", 0)
    return message


def in_order(messages: list[Row]) -> list[Row]:
    """By position where there is one, else by time; then by id."""

    def place(message: Row) -> Any:
        first = message["position"] if "position" in message else message["time"]
        return first, message["id"].encode()

    return sorted(messages, key=place)


def expected(case: Mixed) -> dict[str, Expected]:
    """What becomes of each message, by its id."""
    found: dict[str, Expected] = {}
    own: dict[str, list[Row]] = {each["name"]: [] for each in case.clusters}
    elsewhere = Counter[tuple[Any, ...]]()
    streamed = _streamed(case.clusters)
    latest = Fraction(0)
    for k, message in enumerate(in_order(case.messages)):
        latest = max(latest, message["time"])
        name = message["cluster"]
        if message.get("type") == "SetPriority":
            found[message["id"]] = [(None, CONTROL, None)]
        elif name not in own:
            stream = (name, *(oracle.text(message.get(each)) for each in streamed))
            found[message["id"]] = [(None, oracle.NO_DESTINATION, elsewhere[stream])]
            elsewhere[stream] += 1
        else:
            # A change once made stays made; in order of time this is the time itself.
            own[name].append({**message, "time": latest, "id": f"{k:07}", "known": message["id"]})
    for plain in case.clusters:
        name = plain["name"]
        known = {each["id"]: each["known"] for each in own[name]}
        for each in oracle.route(plain, own[name], case.own_changes[name]):
            one = (each.destination, each.outcome, each.sequence)
            found.setdefault(known[each.id], []).append(one)
    return found


def _streamed(clusters: list[Row]) -> list[str]:
    policies = [each["policy"] for each in clusters]
    queue = ["queue"] if "ibm-mq" in policies else []
    subject = ["subject"] if "smartsockets" in policies else []
    first_ibm = policies.index("ibm-mq") if queue else len(policies)
    first_smart = policies.index("smartsockets") if subject else len(policies)
    return [*queue, *subject] if first_ibm < first_smart else [*subject, *queue]
