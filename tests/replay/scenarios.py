"""Random traffic for replays: the scenarios that the engines share, with work to be done on top.

To a cluster, its messages and changes come readers and speeds, the order of work, groups, tenants,
costs, priorities, rows that only raise their group, attempts that fail, and destinations that do.
Each scenario first settles which of these are in play. A third are plain: nothing can overtake.
"""

from collections.abc import Iterable
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.golden_cases import POLICIES
from tests.strategies import Row, Scenario, in_play, often, random_scenario, rarely

OWN = "own"
RING = "composed ready-ring"
KINDS = (*POLICIES, OWN, RING)
"""What there are scenarios of."""
CROWDED = ("smartsockets", "nanomsg", RING)
"""Where messages time out, or wait until somebody is ready."""
QUICK = ("weighted", "fewest-pending", "nanomsg", "smartsockets")
"""Enough for every run of the tests: to compile the kernel for a rule takes ten seconds."""


def some(kinds: Iterable[str]) -> list[Any]:
    """The kinds, those that are not QUICK as slow."""
    return [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in kinds]


EXTRAS = ["groups", "tenants", "priorities", "raises", "rollbacks", "ageing", "readers", "failures"]
GROUPS = ["", "g1", "g2", "g3", "g4"]
MICRO = Fraction(1, 1_000_000)


def replay_scenario(kind: str, random: Random) -> Scenario:
    """A scenario of this kind; all its messages are for the one cluster."""
    troubled = kind in CROWDED and random.random() < 2 / 3
    crowded = _troubled if kind == "smartsockets" else _at_the_door
    cluster, messages, changes = crowded(random) if troubled else _base(kind, random)
    if kind == RING:
        cluster["policy"] = {
            "eliminate": ["down", "draining", *(["disabled"] if random.random() < 1 / 2 else [])],
            "choose": "ready-ring",
        }
    plain = not troubled and (rarely(random) or rarely(random) or rarely(random))
    shares = (3 / 4, 1) if troubled else (1 / 4, 1 / 2, 3 / 4)
    play = set() if plain else in_play(random, EXTRAS, *shares)
    if plain and messages and random.random() < 1 / 2:  # readers who are through together
        instants = [row["time"] for row in random.choices(messages, k=2)]
        messages = [{**row, "time": random.choice(instants)} for row in messages]
    for message in messages:
        message.pop("cluster", None)
    targets = _equip(random, cluster)
    _order(random, cluster, play)
    _work(random, messages, play, plain=plain)
    if "raises" in play:
        messages += _raises(random, messages)
    if "readers" in play:
        changes += _changed(random, messages, targets, [("readers", 0, 1, 2, 3), ("speed", 0.5, 3)])
    if play and random.random() < 1 / 2:
        messages, changes = _meeting(random, cluster, messages, changes, targets, play)
    if "failures" in play:
        # By what a message is bound is settled when it arrives; live, whenever it is chosen for.
        changes = [change for change in changes if change["attribute"] != "bind"]
        changes += _changed(random, messages, targets, [("state", "failed", "failed", "up")])
    random.shuffle(changes)
    return cluster, messages, changes


def _meeting(
    random: Random,
    cluster: Row,
    messages: list[Row],
    changes: list[Row],
    targets: list[str],
    play: set[str],
) -> tuple[list[Row], list[Row]]:
    """The same, but few instants, at which much happens at once.

    What can happen then is there: work begins and is completed, the time of what is not
    acknowledged is over, somebody goes and comes back, a group is raised that a reader has.
    """
    if not messages:
        return messages, changes
    patience = cluster.get("options", {}).get("delivery_timeout", 0)
    begun = random.sample(messages, min(len(messages), 3))
    instants = [row["time"] for row in begun] + [row["time"] + row["service_time"] for row in begun]
    instants += [row["time"] + patience for row in begun]
    middle = [row["time"] + row["service_time"] / 2 for row in begun]
    instants = [Fraction(round(each * 1_000_000), 1_000_000) for each in instants + middle]

    def moved(row: Row, share: float) -> Row:
        return {**row, "time": random.choice(instants)} if random.random() < share else row

    rows = [moved(row, 1 / 2) for row in messages]
    if {"groups", "priorities", "raises"} & play:
        named = [row for row in rows if row.get("group")]
        of_two = random.sample(named, min(len(named), 2))
        more = [row for _ in range(random.randint(1, 3)) for row in _raises(random, of_two)]
        rows += [moved({**row, "id": f"{row['id']}/{k}"}, 1 / 2) for k, row in enumerate(more)]
    if {"rollbacks", "tenants"} <= play:
        rows = [{**row, "rollbacks": 1} if rarely(random) else row for row in rows]
    found = [moved(row, 2 / 3) for row in changes]
    for row in random.sample(found, min(len(found), 2)):  # there and back, or twice, in one step
        found.append({**random.choice(found), "time": row["time"]})
    if "failures" in play:
        lost = [("state", "failed", "up")]
        found += [moved(row, 1) for row in _changed(random, rows, targets, lost)]
    return rows, found


@st.composite
def scenarios(draw: st.DrawFn, kind: str) -> Scenario:
    """A seed, and then which messages and changes stay: so a failure shrinks to what matters."""
    seed = draw(st.integers(0, 2**32 - 1))
    cluster, messages, changes = replay_scenario(kind, Random(seed))  # noqa: S311
    messages = [each for each in messages if draw(st.integers(0, 19)) > 0]
    return cluster, messages, [each for each in changes if draw(st.integers(0, 19)) > 0]


def _base(kind: str, random: Random) -> Scenario:
    if kind == RING:
        cluster, messages, changes = random_scenario("nanomsg", random)
        cluster.pop("options", None)
        return cluster, messages, changes
    if kind == OWN:
        cluster, messages, changes = random_scenario("round-robin", random)
        cluster["policy"] = {
            "eliminate": ["disabled", "down", "draining", "other-region"],
            "choose": "cheapest",
        }
        cluster.pop("options", None)
        for row in cluster["destination"]:
            row |= {"price": random.randint(1, 3), "region": random.choice(["", "", "east"])}
        for message in messages:
            message["region"] = random.choice(["", "east", "west"])
        return cluster, messages, changes
    return random_scenario(kind, random)


def _at_the_door(random: Random) -> Scenario:
    """Few peers, who can take little and come and go: most messages wait until one is ready."""
    names = random.sample("ABC", random.choice([1, 1, 2, 3]))
    peers: list[Row] = [{"name": name, "capacity": random.choice([1, 1, 2])} for name in names]
    for row in peers:
        if random.random() < 1 / 3:
            row["present"] = False
    instants = [Fraction(random.randint(0, 10), 2) for _ in range(random.randint(2, 6))]
    messages: list[Row] = [
        {"id": f"{k:02}", "time": random.choice(instants)} for k in range(random.randint(4, 24))
    ]
    ways = [("present", True), ("present", True), ("present", False), ("state", "up")]
    ways += [("state", "down"), ("capacity", 2), ("capacity", 1)]
    changes: list[Row] = [
        {"time": random.choice(instants) + random.randint(0, 2), "target": random.choice(names)}
        | dict(zip(("attribute", "value"), random.choice(ways), strict=True))
        for _ in range(random.randint(1, 5))
    ]
    return {"policy": "nanomsg", "destination": peers}, messages, changes


def _troubled(random: Random) -> Scenario:
    """Few subscribers, most of it guaranteed, short timeouts, and some who fail."""
    names = random.sample("ABCD", random.choice([1, 2, 2, 3]))
    subscribers: list[Row] = [{"name": name, "subject": "/s"} for name in names]
    for row in subscribers:
        row["disconnect_mode"] = random.choice(["failure", "success", "warm", "warm"])
        row["load_balanced"] = often(random)
    options = {
        "on_receiver_failure": "nack" if rarely(random) else "reroute",
        "zero_receivers": random.choice(["success", "failure"]),
        "delivery_timeout": random.choice([0, 1, 2, 2, 3, 4]),
        "reconnect_timeout": random.choice([1, 2, 3]),
    }
    modes = random.choice([["sorted"], ["round-robin", "sorted"], ["weighted", "none", "sorted"]])
    kinds = [
        {
            "mode": random.choice(modes),
            "delivery": random.choice(["some", "all", "all"]),
            "server": random.choice(["", "", "far"]),
        }
        for _ in range(random.randint(1, 3))
    ]
    if random.random() < 1 / 2:
        kinds += [{"mode": "sorted"}, {"type": "WORK", "delivery": "all"}]
    messages = [
        {"id": f"{k:02}", "time": Fraction(random.randint(0, 12), 2), **random.choice(kinds)}
        for k in range(random.randint(3, 24))
    ]
    changes = [
        {
            "time": Fraction(random.randint(1, 16), 2),
            "target": f"subscriber:{random.choice(names)}@/s",
            "attribute": "state",
            "value": value,
        }
        for value in random.choices(["failed", "failed", "up"], k=random.randint(0, 4))
    ]
    types = [{"name": "WORK", "mode": random.choice(["sorted", "none"])}]
    if random.random() < 1 / 2:
        mode = {"target": "WORK", "attribute": "mode", "value": "round-robin"}
        changes.append({"time": Fraction(random.randint(1, 6)), **mode})
    cluster = {"policy": "smartsockets", "options": options, "message_type": types}
    return {**cluster, "subscriber": subscribers}, messages, changes


def _equip(random: Random, cluster: Row) -> list[str]:
    """Readers and speeds; returns the targets of changes to those who have them."""
    if "subscriber" in cluster:
        workers = cluster["subscriber"]
        targets = [f"subscriber:{row['name']}@{row['subject']}" for row in workers]
    elif "queue_manager" in cluster:
        workers = [cluster["queue_manager"], *cluster["remote"]]
        targets = [f"queue_manager:{row['name']}" for row in workers]
    else:
        workers = cluster["destination"]
        targets = [row["name"] for row in workers]
    for row in workers:
        row.pop("readers", None)
        if random.random() < 1 / 2:
            row["readers"] = random.choice([1, 2, 2, 3, 0])
        if random.random() < 1 / 3:
            row["speed"] = random.choice([0.5, 2, 3, 0.333])
    return targets


def _order(random: Random, cluster: Row, play: set[str]) -> None:
    order: Row = {}
    if play and often(random):
        order["discipline"] = "priority"
        if "ageing" in play:
            order["ageing"] = random.choice([0.5, 1, 5, 0.000002])
        if rarely(random):
            order["default_priority"] = random.choice([0, 3, 255])
    if "tenants" in play and random.random() < 1 / 2:
        order["weights"] = {"t0": random.choice([1, 2, 3])}
    if order:
        cluster["order"] = order


def _work(random: Random, messages: list[Row], play: set[str], *, plain: bool) -> None:
    tiny = any(message["time"].denominator > 2 for message in messages)
    unit = MICRO if tiny else Fraction(1, 2)
    lengths = [random.randint(int(plain), 6) * unit for _ in range(random.randint(1, 3))]
    groups = random.sample(GROUPS, random.randint(1, len(GROUPS)))
    begins = random.choice([Fraction(0), *(message["time"] for message in messages)])
    for message in messages:
        message["service_time"] = random.choice(lengths)
        if "groups" in play and "group" not in message:
            message["group"] = random.choice(groups)
        group = message.get("group", "")
        if "tenants" in play:
            others = random.randint(0, 1) if message["time"] >= begins else 0
            message["tenant"] = f"t{sum(map(ord, group)) % 2 if group else others}"
            message["cost"] = random.randint(1, 5)
        if "priorities" in play and random.random() < 1 / 3:
            message["priority"] = random.choice([0, 1, 2, 3, 255])
        if "rollbacks" in play and rarely(random):
            message["rollbacks"] = random.randint(1, 2)


def _raises(random: Random, messages: list[Row]) -> list[Row]:
    """Rows that are no work; their ids put some before and some behind the work of one time."""
    if not messages:
        return []
    found = []
    for k in range(random.randint(1, 6)):
        like = random.choice(messages)
        row: Row = {
            "id": random.choice(["!", "~~"]) + str(k),
            "time": like["time"] + random.choice([0, 0, 1, 2]),
            "type": "SetPriority",
            "group": like.get("group", ""),
            "service_time": Fraction(0),
        }
        if random.random() < 2 / 3:
            row["priority"] = random.randint(0, 4)
        if "tenant" in like:
            row["tenant"] = like["tenant"]
        found.append(row)
    return found


def _changed(
    random: Random, messages: list[Row], targets: list[str], kinds: list[tuple[Any, ...]]
) -> list[Row]:
    moments = [message["time"] for message in messages] or [Fraction(0)]
    changes = []
    for _ in range(random.randint(1, 4)):
        attribute, *values = random.choice(kinds)
        moment = random.choice(moments) + random.choice([0, 0, MICRO, Fraction(1, 2), 2, 3])
        row = {"time": moment, "target": random.choice(targets), "attribute": attribute}
        changes.append({**row, "value": random.choice(values)})
    return changes
