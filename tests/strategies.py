"""Random scenarios: a cluster as its file says it, messages, and changes to the cluster.

A scenario is (cluster, messages, changes), small enough to be read when it fails, and crowded: few
times, so that messages and changes meet in one instant; names that differ only in case, look like
numbers or paths, or leave ASCII. Every scenario first settles which attributes are in play at all:
where everything varies, the first step decides and the others are never seen.

`random_scenario(policy, random)` makes one from a seeded `random.Random`: for long runs.
`scenarios(policy)` is the same as a Hypothesis strategy. It draws the seed, and then which
messages, changes and attributes stay; so a failure shrinks to what matters in it.

Times are fractions of seconds in whole microseconds. Neither the messages nor the changes are in
the order of time. A change's target is unambiguous, as the file format asks for.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
Values = dict[str, Callable[[Random], Any]]
Scenario = tuple[Row, list[Row], list[Row]]

# Neighbours are easily confused.
AWKWARD_NAMES = [
    "/a",
    "/A",
    "A",
    "a",
    "a b",
    "B",
    "01",
    "1",
    "1.0",
    "DEV1",
    "DEV10",
    "DEV2",
    "true",
    "zebra",
    "e\u0301",
    "é",
    "ß",
    "名",
    "\uff21",
    "\U0001f600",
]
# Nothing that means something in a target (kind:name@owner, *) or a list of names (;).
LETTERS = "aAbB019._-/éñ名\uff21\U0001f600"
# As many as the messages of the largest scenario.
IDS = [*AWKWARD_NAMES, "m9", "m10", "M1", "m01", "m1", "10", "9", "09", "Z", "z", "Aa", "AB"]
IDS += ["a/b", "~", "_", "-", "-1", "ÿ", "ü", "\u00a0x", "\uffee"]
CLUSTER_NAMES = ["Bangkok", "cluster 2", "Köln"]


def random_scenario(policy: str, random: Random) -> Scenario:
    """One scenario of one of the documented systems."""
    from tests.strategies_everyday import READ_BY, composed, everyday

    if policy in READ_BY:
        return everyday(policy, random)
    makers = {
        "msmq": msmq,
        "ibm-mq": ibm_mq,
        "smartsockets": smartsockets,
        "nanomsg": nanomsg,
        "composed": composed,
    }
    return makers[policy](random)


@st.composite
def scenarios(draw: st.DrawFn, policy: str) -> Scenario:
    """Scenarios of one of the documented systems."""
    seed = draw(st.integers(0, 2**32 - 1))
    cluster, messages, changes = random_scenario(policy, Random(seed))  # noqa: S311

    def stays() -> bool:
        return draw(st.integers(0, 19)) > 0

    messages = [message for message in messages if stays()]
    changes = [change for change in changes if stays()]
    for row, attribute in list(optional_attributes(cluster)):
        if not stays():
            del row[attribute]
    return cluster, messages, changes


def optional_attributes(cluster: Row) -> Iterator[tuple[Row, str]]:
    """What may also be left to its default."""
    needed = {"name", "queue_manager", "subject"}
    if cluster["policy"] == "msmq":
        needed |= {"weight"}
    tables = ("destination", "remote", "channel", "queue", "alias", "subscriber", "message_type")
    for table in tables:
        for row in cluster.get(table, []):
            for attribute in row:
                if attribute not in needed:
                    yield row, attribute
    # Without `slow_start` what belongs to it is refused, and `key` names a column of the messages:
    # by another one, which a table might not have, nobody could choose.
    for table, own in (("options", {"slow_start", "key"}), ("queue_manager", {"name", "clusters"})):
        for attribute in cluster.get(table, {}):
            if attribute not in own:
                yield cluster[table], attribute


# --- what all have in common -------------------------------------------------------------------


def one_of(*values: Any) -> Callable[[Random], Any]:
    return lambda random: random.choice(values)


def rarely(random: Random) -> bool:
    return random.random() < 1 / 7


def often(random: Random) -> bool:
    return random.random() < 6 / 7


yes_or_no = one_of(True, False)


def some_names(random: Random, size: int) -> list[str]:
    """So many different names, as a rule such as are easily confused."""
    if random.random() < 1 / 2:
        start = random.randint(0, len(AWKWARD_NAMES) - size)
        return random.sample(AWKWARD_NAMES[start : start + size], size)
    found: list[str] = []
    while len(found) < size:
        name = random.choice(AWKWARD_NAMES)
        if random.random() < 1 / 2:
            name = "".join(random.choices(LETTERS, k=random.randint(1, 3)))
        if name not in found:
            found.append(name)
    return found


def in_play(random: Random, attributes: list[str], *shares: float) -> set[str]:
    """What this scenario is about: few things, or many. What is listed twice is so more often."""
    share = random.choice(shares)
    return {attribute for attribute in attributes if random.random() < share}


def maybe(random: Random, row: Row, attribute: str, values: Callable[[Random], Any]) -> None:
    """Give the row this attribute, or leave it to its default."""
    if random.random() < 1 / 2:
        row[attribute] = values(random)


def seconds(random: Random) -> Fraction:
    """A time; most are whole seconds, none is negative."""
    kind = random.random()
    if kind < 1 / 2:
        return Fraction(random.randint(0, 6))
    if kind < 3 / 4:
        return Fraction(random.randint(0, 13), 2)
    return Fraction(random.randint(0, 6_000_000), 1_000_000)


def tiny_seconds(random: Random) -> Fraction:
    """A time as under a microscope: everything happens within a few microseconds."""
    return Fraction(random.randint(0, 9), 1_000_000)


def some_messages(
    random: Random,
    cluster: Row,
    kinds: list[Row],
    times: Callable[[Random], Fraction] = seconds,
) -> list[Row]:
    """Messages of these few kinds, at few times."""
    if rarely(random):
        # Only a cluster with a name can be meant, or not be meant.
        cluster["name"] = random.choice(CLUSTER_NAMES)
        given_names = ["", cluster["name"], "?"]
        kinds = kinds + [{**kind, "cluster": random.choice(given_names)} for kind in kinds]
    moments = [times(random) for _ in range(random.randint(1, 10))]
    count = random.choice([random.randint(0, 12), random.randint(12, len(IDS))])
    return [
        {"id": name, "time": random.choice(moments), **random.choice(kinds)}
        for name in random.sample(IDS, count)
    ]


def some_changes(
    random: Random,
    cluster: Row,
    messages: list[Row],
    targets: list[tuple[str, Values]],
    *,
    resets: bool = True,
) -> list[Row]:
    """Changes of anything that can be changed, often there and back again; where counts are kept,
    also resets. Some come before the first message, and some after the last."""
    moments = [message["time"] for message in messages] or [Fraction(0)]
    moments += [Fraction(0), max(moments) + 1, (min(moments) + max(moments)) / 2, seconds(random)]
    moments = [Fraction(round(moment * 1_000_000), 1_000_000) for moment in moments]
    targets = [(target, values) for target, values in targets if values]
    changes = []
    for _ in range(random.randint(0, 7)):
        if resets and (rarely(random) or not targets):
            target, values = random.choice(["*", cluster.get("name", "*")]), {"reset": one_of(True)}
        elif targets:
            target, values = random.choice(targets)
        else:
            break
        attribute = random.choice(sorted(values))
        for _ in range(random.choice([1, 2, 2, 3])):
            change = {"time": random.choice(moments), "target": target, "attribute": attribute}
            changes.append({**change, "value": values[attribute](random)})
    random.shuffle(changes)
    return changes


# --- msmq ------------------------------------------------------------------------------------


def a_weight(random: Random) -> int:
    return random.choice([random.randint(0, 4), random.randint(0, 1000), 50, 100, 200])


def a_speed(random: Random) -> float:
    return random.choice([0.5, 1.0, 2.0, 3.0, 0.8, 1.6, random.randint(1, 5000) / 1000])


def destination_count(random: Random) -> int:
    return random.choice([1, 2, 2, 3, 3, 4, 5])


def msmq(random: Random) -> Scenario:
    play = in_play(random, ["draining", "enabled", "present", "state", "weight"], 1 / 4, 3 / 4)
    few_weights = one_of(*[a_weight(random) for _ in range(random.randint(1, 3))])
    cluster: Row = {"policy": "msmq"}
    options = [{"newcomer": "catch-up"}, {"newcomer": "level"}, {"newcomer": "level"}, {}]
    maybe(random, cluster, "options", one_of(*options))
    cluster["destination"] = []
    for name in some_names(random, destination_count(random)):
        machine: Row = {"name": name, "weight": few_weights(random)}
        for attribute in sorted(play & {"enabled", "present"}):
            maybe(random, machine, attribute, often)
        if "draining" in play:
            maybe(random, machine, "draining", rarely)
        if rarely(random):
            machine["address"] = "DIRECT=OS:" + name
            machine["readers"] = random.randint(1, 4)
            machine["speed"] = a_speed(random)
        cluster["destination"].append(machine)
    kinds: list[Row] = [{}]
    if random.random() < 1 / 3:
        cluster["options"] = {**cluster.get("options", {}), "affinity": "group"}
        kinds = [{"group": random.choice(["", "g1", "g2", "é"])} for _ in range(4)]
    messages = some_messages(random, cluster, kinds)

    values: Values = {
        "draining": yes_or_no,
        "enabled": yes_or_no,
        "present": yes_or_no,
        "state": one_of("failed", "up"),
        "weight": lambda random: random.choice([few_weights, a_weight])(random),
    }
    values = {attribute: values[attribute] for attribute in play}
    targets = [(machine["name"], values) for machine in cluster["destination"]]
    return cluster, messages, some_changes(random, cluster, messages, targets)


# --- nanomsg ---------------------------------------------------------------------------------


def a_service_time(random: Random) -> float:
    """Mostly such that work ends together with something else."""
    exact_times = [1, 2, 3, 0.5, 1.0, 1.5, 4.0, 100, 0]
    return random.choice([*exact_times, random.randint(0, 5_000_000) / 1_000_000])


def a_tiny_service_time(random: Random) -> float:
    return random.randint(0, 9) / 1_000_000


def nanomsg(random: Random) -> Scenario:
    play = in_play(
        random,
        ["capacity", "capacity", "draining", "present", "priority", "speed", "state"],
        *(1 / 4, 3 / 4),
    )
    values: Values = {
        "capacity": one_of(1, 1, 2, 3, 0),
        "draining": rarely,
        "present": often,
        "priority": one_of(8, 8, 8, 8, 7, 7, 9, 1, 16),
        "speed": a_speed,
        "state": one_of("up", "up", "up", "up", "down"),
    }
    cluster: Row = {"policy": "nanomsg", "destination": []}
    for name in some_names(random, destination_count(random)):
        peer: Row = {"name": name}
        for attribute in sorted(play):
            maybe(random, peer, attribute, values[attribute])
        if rarely(random):
            peer["readers"] = random.randint(1, 4)
        cluster["destination"].append(peer)

    tiny = random.random() < 1 / 3
    works = a_tiny_service_time if tiny else a_service_time
    kinds: list[Row] = [{"service_time": works(random)} for _ in range(random.randint(1, 4))]
    if "capacity" not in play:
        kinds.append({})
    if "capacity" not in play and random.random() < 1 / 2:
        cluster["options"] = {"affinity": "group"}
        kinds = [{"group": random.choice(["", "g1", "g2", "é"])} for _ in range(4)]
    messages = some_messages(random, cluster, kinds, tiny_seconds if tiny else seconds)

    values["present"] = values["draining"] = yes_or_no
    values["state"] = one_of("up", "up", "up", "down", "failed", "failed")
    values = {attribute: values[attribute] for attribute in play - {"priority"}}
    targets = [(peer["name"], values) for peer in cluster["destination"]]
    return cluster, messages, some_changes(random, cluster, messages, targets, resets=False)


# --- smartsockets ----------------------------------------------------------------------------

MODES = ("none", "round-robin", "weighted", "sorted")


def smartsockets(random: Random) -> Scenario:
    attributes = ["connected", "disconnect_mode", "load_balanced", "present", "state"]
    play = in_play(random, attributes, 1 / 4, 3 / 4, 1)
    warm = one_of("warm") if rarely(random) else one_of(True, True, True, "warm", False)
    values: Values = {"connected": warm, "load_balanced": often, "present": often}
    values["disconnect_mode"] = one_of("failure", "success", "warm", "warm")
    cluster: Row = {"policy": "smartsockets", "subscriber": []}
    if random.random() < 1 / 2:
        cluster["options"] = {
            "on_receiver_failure": random.choice(["reroute", "reroute", "nack"]),
            "zero_receivers": random.choice(["success", "failure"]),
            "reconnect_timeout": random.choice([0, 1, 2, 3]),
            "delivery_timeout": random.choice([0, 1, 1, 2, 3, 5]),
        }
    subjects = random.choice([["/s"], ["/s"], ["/s", "/t"]])
    for name in some_names(random, random.choice([1, 2, 3, 3, 4])):
        for subject in subjects:
            if subject == "/s" or random.random() < 1 / 2:
                row: Row = {"name": name, "subject": subject}
                for attribute in sorted(play - {"state"}):
                    maybe(random, row, attribute, values[attribute])
                cluster["subscriber"].append(row)
    random.shuffle(cluster["subscriber"])
    if random.random() < 1 / 2:
        cluster["message_type"] = [
            {"name": name, "mode": random.choice(MODES)} for name in ("INFO", "WORK")
        ]
    modes = random.sample(["", *MODES, "round-robin", "weighted"], random.randint(1, 3))
    deliveries = random.sample(["", "ordered", "some", "all", "all"], random.randint(1, 2))
    kinds = [
        {
            "subject": random.choice([*subjects, *subjects, "", "/none"]),
            "mode": random.choice(modes),
            "delivery": random.choice(deliveries),
            "type": random.choice(["", "INFO", "WORK", "?"]),
            "server": random.choice(["", "", "far"]),
        }
        for _ in range(random.randint(1, 5))
    ]
    messages = some_messages(random, cluster, kinds)

    values["connected"] = one_of(True, True, False, "warm", "warm")
    values["load_balanced"] = values["present"] = yes_or_no
    values["state"] = one_of("failed", "up")
    changing = {attribute: values[attribute] for attribute in play}
    targets: list[tuple[str, Values]] = [
        (f"subscriber:{row['name']}@{row['subject']}", changing) for row in cluster["subscriber"]
    ]
    types = cluster.get("message_type", [])
    of_type: Values = {"mode": one_of(*MODES), "present": yes_or_no}
    targets += [(f"message_type:{row['name']}", of_type) for row in types]
    return cluster, messages, some_changes(random, cluster, messages, targets, resets=False)


# --- ibm-mq ----------------------------------------------------------------------------------

CHANNEL_STATES = [
    "running",
    "inactive",
    "binding",
    "initializing",
    "starting",
    "stopping",
    "retrying",
    "requesting",
    "paused",
    "stopped",
]
SOME_CLUSTERS = [["C1"], ["C1", "C2"], ["C2"]]


def a_level(random: Random) -> int:
    return random.choice([0, 0, 0, 1, 9])


def a_channel_weight(random: Random) -> int:
    return random.choice([50, 25, 99, 1, random.randint(1, 99)])


a_binding = one_of("not-fixed", "on-open", "on-group")
IBM_ATTRIBUTES: Values = {
    "bind": a_binding,
    "clusters": lambda random: list(random.choice(SOME_CLUSTERS)),
    "manual": yes_or_no,
    "most_recently_used_channels": one_of(1, 2, 3, 999_999_999),
    "network_priority": a_level,
    "present": yes_or_no,
    "priority": a_level,
    "put_enabled": yes_or_no,
    "rank": a_level,
    "state": one_of("running", "running", "running", *CHANNEL_STATES),
    "suspended": yes_or_no,
    "weight": a_channel_weight,
}
MANAGER_USE_QUEUE = one_of("any", "local")
USE_QUEUE = one_of("queue-manager", "any", "any", "local")
OF_ALIAS = {"clusters", "present", "priority", "put_enabled", "rank"}
OF_CHANNEL = {"clusters", "manual", "network_priority", "present", "priority", "rank"}
OF_CHANNEL |= {"state", "weight"}
OF_LOCAL = {"most_recently_used_channels", "suspended"}
OF_QUEUE = OF_ALIAS | {"bind"}
OF_REMOTE = {"clusters", "present", "suspended"}
# What no change changes: the clusters (a list), and what a channel is.
UNCHANGED = {"clusters", "manual"}


def give(random: Random, row: Row, attributes: set[str]) -> None:
    """Some of these attributes; whoever is there and enabled is so more often than not."""
    for attribute in sorted(attributes):
        values = IBM_ATTRIBUTES[attribute]
        if attribute in ("present", "put_enabled"):
            values = often
        if attribute in ("manual", "suspended"):
            values = rarely
        maybe(random, row, attribute, values)


def ibm_channels(random: Random, managers: list[str], play: set[str]) -> list[Row]:
    owners = [name for name in managers for _ in range(random.choice([1, 1, 1, 1, 2, 2, 3, 0]))]
    channels = []
    for name, owner in zip(some_names(random, len(owners)), owners, strict=True):
        channel: Row = {"name": name, "queue_manager": owner}
        give(random, channel, OF_CHANNEL & play)
        if rarely(random):
            # Away, so that what changes of it must change nothing else.
            channel["present"] = False
        channels.append(channel)
    return channels


def ibm_instances(
    random: Random, own_names: list[str], managers: list[str], attributes: set[str]
) -> list[Row]:
    """Queues or aliases, each name on some queue managers, the first of which is the local one."""
    instances = []
    for name in own_names:
        owners = [owner for owner in managers[1:] if random.random() < 3 / 4]
        if random.random() < 1 / 3 or not owners:
            owners.append(managers[0])
        for owner in owners:
            instance: Row = {"name": name, "queue_manager": owner}
            give(random, instance, attributes)
            instances.append(instance)
    random.shuffle(instances)
    return instances


def ibm_mq(random: Random) -> Scenario:
    managers = some_names(random, random.choice([2, 3, 4, 4, 5]))
    queue_names = some_names(random, random.choice([1, 2, 3]))
    alias_names = some_names(random, random.choice([0, 1, 1, 2]))
    if alias_names and random.random() < 1 / 2:
        alias_names = list({random.choice(managers): None, alias_names[-1]: None})
    play = in_play(random, [*sorted(IBM_ATTRIBUTES), "present", "weight"], 1 / 5, 1 / 2)

    local: Row = {"name": managers[0], "clusters": ["C1"]}
    if "clusters" in play:
        local["clusters"] = list(random.choice(SOME_CLUSTERS))
    maybe(random, local, "use_queue", MANAGER_USE_QUEUE)
    give(random, local, OF_LOCAL & play)
    remotes: list[Row] = [{"name": name} for name in managers[1:]]
    for remote in remotes:
        give(random, remote, OF_REMOTE & play)
    queues = ibm_instances(random, queue_names, managers, OF_QUEUE & play)
    for queue in queues:
        if "bind" not in play:
            queue["bind"] = "not-fixed"
        if queue["queue_manager"] == managers[0]:
            maybe(random, queue, "use_queue", USE_QUEUE)
    cluster: Row = {"policy": "ibm-mq", "queue_manager": local, "remote": remotes}
    tables = {
        "channel": ibm_channels(random, managers[1:], play),
        "queue": queues,
        "alias": ibm_instances(random, alias_names, managers, OF_ALIAS & play),
    }
    cluster.update({kind: rows for kind, rows in tables.items() if rows})
    maybe(random, cluster, "options", one_of({"literal_step_11": True}, {}))

    kinds: list[Row] = [
        {"queue": queue_names[0]},
        *(
            ibm_put(random, managers, queue_names, alias_names, "bind" in play)
            for _ in range(random.randint(0, 5))
        ),
    ]
    # A put that names nothing must not be taken for a publication that is bound alike.
    for publication in [kind for kind in kinds if kind.get("pcf") and kind.get("bind")]:
        bound_by = ("bind", "producer", "group")
        kinds.append({name: publication[name] for name in bound_by if name in publication})
    messages = some_messages(random, cluster, kinds)
    targets = ibm_targets(cluster, play)
    return cluster, messages, some_changes(random, cluster, messages, targets)


def ibm_put(
    random: Random, managers: list[str], queues: list[str], aliases: list[str], bind: bool
) -> Row:
    """The attributes of one message."""
    kinds = ["queue"] * 6 + ["manager", "manager", "manager", "both", "both", "pcf", "pcf", ""]
    kind = random.choice(kinds)
    message: Row = {}
    if kind in ("queue", "both"):
        message["queue"] = random.choice([*queues * 6, "unknown queue"])
    if kind in ("manager", "both"):
        some_managers = [*managers * 2, *aliases * 5, "unknown queue manager"]
        message["queue_manager"] = random.choice(some_managers)
    if kind == "pcf":
        message["pcf"] = True
        sent_to = random.sample(managers, random.choice([0, 0, 1, 2]))
        if sent_to:
            message["already_sent"] = ";".join(sent_to)
    elif rarely(random):
        message["pcf"] = False
    if rarely(random):
        message["via_cluster_channel"] = yes_or_no(random)
    if bind:
        maybe(random, message, "producer", one_of("p1", "p2", ""))
        maybe(random, message, "group", one_of("g1", "p1", ""))
        # What names no queue has no queue's binding: only its own.
        if rarely(random) or (kind in ("pcf", "") and yes_or_no(random)):
            message["bind"] = random.choice([a_binding(random), ""])
    return message


def ibm_targets(cluster: Row, play: set[str]) -> list[tuple[str, Values]]:
    """Every object of the cluster that a change can name, and what can be changed of it."""
    local = cluster["queue_manager"]
    objects = [("queue_manager", local, OF_LOCAL)]
    objects += [("remote", row, OF_REMOTE) for row in cluster["remote"]]
    for kind, attributes in {"channel": OF_CHANNEL, "queue": OF_QUEUE, "alias": OF_ALIAS}.items():
        objects += [(kind, row, attributes) for row in cluster.get(kind, [])]
    all_names = [row["name"] for _, row, _ in objects]
    targets = []
    for kind, row, attributes in objects:
        values = {name: IBM_ATTRIBUTES[name] for name in (attributes & play) - UNCHANGED}
        if row is local:
            values["use_queue"] = MANAGER_USE_QUEUE
        if kind == "queue" and row["queue_manager"] == local["name"]:
            values["use_queue"] = USE_QUEUE
        # A queue manager whose name something else has, too, is left alone.
        if all_names.count(row["name"]) == 1:
            targets.append((row["name"], values))
        if "queue_manager" in row:
            targets.append((f"{kind}:{row['name']}@{row['queue_manager']}", values))
    return targets
