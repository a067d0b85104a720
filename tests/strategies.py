"""Random scenarios: a cluster as its file says it, messages, and changes to the cluster.

`scenarios(policy)` draws (cluster, messages, changes), small enough to be read when they fail, and
crowded: few times, so that messages and changes meet in one instant; names that differ only in
case, look like numbers or paths, or leave ASCII. Every scenario first draws which attributes are
in play at all: where everything varies, the first step decides and the others are never seen.

Times are fractions of seconds in whole microseconds. Neither the messages nor the changes are in
the order of time. A change's target is unambiguous, as the file format asks for.
"""

import itertools
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
Values = dict[str, st.SearchStrategy[Any]]
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
LETTERS = st.sampled_from("aAbB019._-/éñ名\uff21\U0001f600")
names = st.sampled_from(AWKWARD_NAMES) | st.text(LETTERS, min_size=1, max_size=3)
# As many as the messages of the largest scenario; 41 is a prime.
IDS = [*AWKWARD_NAMES, "m9", "m10", "M1", "m01", "m1", "10", "9", "09", "Z", "z", "Aa", "AB"]
IDS += ["a/b", "~", "_", "-", "-1", "ÿ", "ü", "\u00a0x", "\uffee"]
cluster_names = st.sampled_from(["Bangkok", "cluster 2", "Köln"])

whole_seconds = st.integers(0, 6).map(Fraction)
times = (
    whole_seconds
    | st.sampled_from([Fraction(1, 2), Fraction(5, 2), Fraction(7, 2)])
    | st.integers(0, 4).map(lambda us: Fraction(us, 1_000_000))
    | st.integers(0, 6_000_000).map(lambda us: Fraction(us, 1_000_000))
)
# Also before the first message and after the last one.
change_times = whole_seconds | times | st.sampled_from([Fraction(7), Fraction(100)])
mostly = st.sampled_from([True] * 6 + [False])
rarely = st.sampled_from([False] * 6 + [True])
yes_or_no = st.booleans()
message_counts = st.integers(0, 30) | st.integers(12, 40)
change_counts = st.integers(0, 4) | st.integers(3, 12)


def scenarios(policy: str) -> st.SearchStrategy[Scenario]:
    """Scenarios of one of the documented systems."""
    return {"msmq": msmq(), "ibm-mq": ibm_mq(), "nanomsg": nanomsg()}[policy]


def some_names(draw: st.DrawFn, size: int, forbidden: str = "") -> list[str]:
    """So many different names, as a rule such as are easily confused."""
    if draw(yes_or_no):
        start = draw(st.integers(0, len(AWKWARD_NAMES) - size))
        return draw(st.permutations(AWKWARD_NAMES[start : start + size]))
    own_names = names.filter(lambda name: name != forbidden)
    return draw(st.lists(own_names, min_size=size, max_size=size, unique=True))


def in_play(draw: st.DrawFn, attributes: list[str]) -> set[str]:
    """What this scenario is about: few things, or many."""
    chance = draw(st.sampled_from([[True, False, False, False], [True, False]]))
    return {attribute for attribute in attributes if draw(st.sampled_from(chance))}


def maybe(draw: st.DrawFn, row: Row, key: str, values: st.SearchStrategy[Any]) -> None:
    """Give the row this attribute, or leave it to its default."""
    if draw(yes_or_no):
        row[key] = draw(values)


def some_messages(draw: st.DrawFn, cluster: Row, kinds: list[Row]) -> list[Row]:
    """Messages of these few kinds, at few times."""
    if draw(rarely):
        # Only a cluster with a name can be meant, or not be meant.
        cluster["name"] = draw(cluster_names)
        given_names = st.sampled_from(["", cluster["name"], "?"])
        kinds = kinds + [{**kind, "cluster": draw(given_names)} for kind in kinds]
    moments = draw(st.lists(times, min_size=1, max_size=8))
    first, stride = draw(st.integers(0, len(IDS) - 1)), draw(st.integers(1, len(IDS) - 1))
    return [
        {
            "id": IDS[(first + n * stride) % len(IDS)],
            "time": draw(st.sampled_from(moments)),
            **draw(st.sampled_from(kinds)),
        }
        for n in range(draw(message_counts))
    ]


def some_changes(
    draw: st.DrawFn, cluster: Row, messages: list[Row], targets: list[tuple[str, Values]]
) -> list[Row]:
    """Changes of anything that can be changed; where counts are kept, also resets."""
    moments = change_times
    if messages:
        moments = st.sampled_from(sorted({message["time"] for message in messages})) | change_times
    targets = [(target, values) for target, values in targets if values]
    reset = {"reset": st.just(True)}
    changes = []
    for _ in range(draw(change_counts)):
        if cluster["policy"] != "nanomsg" and (draw(rarely) or not targets):
            target, values = draw(st.sampled_from(["*", cluster.get("name", "*")])), reset
        elif targets:
            target, values = draw(st.sampled_from(targets))
        else:
            break
        attribute = draw(st.sampled_from(sorted(values)))
        changes.append(
            {
                "time": draw(moments),
                "target": target,
                "attribute": attribute,
                "value": draw(values[attribute]),
            }
        )
    return changes


# --- msmq ------------------------------------------------------------------------------------

newcomers = st.sampled_from([{"newcomer": "catch-up"}, {"newcomer": "level"}, {}])
weights = st.integers(0, 4) | st.sampled_from([50, 100, 200]) | st.integers(0, 1000)
speeds = st.sampled_from([0.5, 1.0, 2.0, 3.0, 0.8, 1.6]) | st.integers(1, 5000).map(
    lambda n: n / 1000
)
destination_counts = st.sampled_from([1, 2, 2, 3, 3, 4, 5])


@st.composite
def msmq(draw: st.DrawFn) -> Scenario:
    play = in_play(draw, ["enabled", "present", "state", "weight"])
    some_weights = st.sampled_from(draw(st.lists(weights, min_size=1, max_size=3)))
    cluster: Row = {"policy": "msmq"}
    maybe(draw, cluster, "options", newcomers)
    cluster["destination"] = []
    for name in some_names(draw, draw(destination_counts)):
        machine: Row = {"name": name, "weight": draw(some_weights)}
        for attribute in ("enabled", "present"):
            if attribute in play:
                maybe(draw, machine, attribute, mostly)
        if draw(rarely):
            machine["address"] = "DIRECT=OS:" + name
            machine["readers"] = draw(st.integers(1, 4))
            machine["speed"] = draw(speeds)
        cluster["destination"].append(machine)

    messages = some_messages(draw, cluster, [{}])
    values = {
        "enabled": yes_or_no,
        "present": yes_or_no,
        "state": st.sampled_from(["failed", "up"]),
        "weight": some_weights | weights,
    }
    values = {attribute: values[attribute] for attribute in values if attribute in play}
    targets = [(machine["name"], values) for machine in cluster["destination"]]
    return cluster, messages, some_changes(draw, cluster, messages, targets)


# --- nanomsg ---------------------------------------------------------------------------------

# Mostly such that work ends together with something else, or a microsecond beside it.
service_times = (
    st.sampled_from([0, 0.5, 1, 1.0, 1.5, 2, 3, 4.0])
    | st.sampled_from([1, 2, 3, 4.0])
    | st.integers(0, 5_000_000).map(lambda us: us / 1_000_000)
    | st.integers(0, 9).map(lambda us: us / 1_000_000)
)


@st.composite
def nanomsg(draw: st.DrawFn) -> Scenario:
    play = in_play(draw, ["capacity", "present", "priority", "speed", "state"])
    values: Values = {
        "capacity": st.sampled_from([1, 1, 2, 3, 0]),
        "present": mostly,
        "priority": st.sampled_from([8] * 6 + [7, 7, 7, 9, 1, 16]),
        "speed": speeds,
        "state": st.sampled_from(["up", "up", "up", "up", "down"]),
    }
    cluster: Row = {"policy": "nanomsg", "destination": []}
    for name in some_names(draw, draw(destination_counts)):
        peer: Row = {"name": name}
        for attribute in sorted(play):
            maybe(draw, peer, attribute, values[attribute])
        if draw(rarely):
            peer["readers"] = draw(st.integers(1, 4))
        cluster["destination"].append(peer)

    kinds: list[Row] = [
        {"service_time": value} for value in draw(st.lists(service_times, min_size=1, max_size=4))
    ]
    if "capacity" not in play:
        kinds.append({})
    messages = some_messages(draw, cluster, kinds)

    values["present"] = yes_or_no
    values["state"] = st.sampled_from(["up", "up", "down", "failed"])
    values = {attribute: values[attribute] for attribute in play - {"priority"}}
    targets = [(peer["name"], values) for peer in cluster["destination"]]
    return cluster, messages, some_changes(draw, cluster, messages, targets)


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
levels = st.sampled_from([0, 0, 0, 1, 9])
channel_weights = st.sampled_from([50, 25, 99, 1]) | st.integers(1, 99)
binds = st.sampled_from(["not-fixed", "on-open", "on-group"])
some_clusters = st.sampled_from([["C1"], ["C1", "C2"], ["C2"]])
IBM_ATTRIBUTES: Values = {
    "bind": binds,
    "clusters": some_clusters,
    "manual": yes_or_no,
    "most_recently_used_channels": st.sampled_from([1, 2, 3, 999_999_999]),
    "network_priority": levels,
    "present": yes_or_no,
    "priority": levels,
    "put_enabled": yes_or_no,
    "rank": levels,
    "state": st.sampled_from(["running"] * 4 + CHANNEL_STATES),
    "suspended": yes_or_no,
    "weight": channel_weights,
}
USE_QUEUES = {
    "queue_manager": st.sampled_from(["any", "local"]),
    "queue": st.sampled_from(["queue-manager", "any", "any", "local"]),
}
OF_CHANNEL = {
    "clusters",
    "manual",
    "network_priority",
    "present",
    "priority",
    "rank",
    "state",
    "weight",
}
OF_ALIAS = {"clusters", "present", "priority", "put_enabled", "rank"}
OF_QUEUE = OF_ALIAS | {"bind"}
OF_REMOTE = {"clusters", "present", "suspended"}
OF_LOCAL = {"most_recently_used_channels", "suspended"}
# What a change does not change: the clusters (a list), and what a channel is.
UNCHANGED = {"clusters", "manual"}


def give(draw: st.DrawFn, row: Row, attributes: set[str]) -> None:
    """Some of these attributes; whoever is there and enabled is so more often than not."""
    for attribute in sorted(attributes):
        values = IBM_ATTRIBUTES[attribute]
        if attribute in ("present", "put_enabled"):
            values = mostly
        if attribute in ("manual", "suspended"):
            values = rarely
        maybe(draw, row, attribute, values)


def ibm_channels(draw: st.DrawFn, managers: list[str], play: set[str]) -> list[Row]:
    channel_counts = st.sampled_from([1, 1, 1, 2, 3, 0])
    owners = [name for name in managers for _ in range(draw(channel_counts))]
    channels = []
    for name, owner in zip(some_names(draw, len(owners), "local"), owners, strict=True):
        channel: Row = {"name": name, "queue_manager": owner}
        give(draw, channel, OF_CHANNEL & play)
        channels.append(channel)
    return channels


def ibm_instances(
    draw: st.DrawFn, own_names: list[str], managers: list[str], attributes: set[str]
) -> list[Row]:
    """Queues or aliases, each name on some queue managers, the first of which is the local one."""
    instances = []
    for name in own_names:
        owners = [owner for owner in managers[1:] if draw(st.sampled_from([True, True, False]))]
        if draw(rarely) or draw(rarely) or not owners:
            owners.append(managers[0])
        for owner in owners:
            instance: Row = {"name": name, "queue_manager": owner}
            give(draw, instance, attributes)
            instances.append(instance)
    return draw(st.permutations(instances))


@st.composite
def ibm_mq(draw: st.DrawFn) -> Scenario:
    managers = some_names(draw, draw(st.sampled_from([2, 3, 3, 4, 5])))
    queue_names = some_names(draw, draw(st.sampled_from([1, 2, 3])))
    alias_names = draw(st.lists(st.sampled_from(managers) | names, max_size=2, unique=True))
    play = in_play(draw, sorted(IBM_ATTRIBUTES))

    local: Row = {"name": managers[0], "clusters": ["C1"]}
    if "clusters" in play:
        local["clusters"] = draw(some_clusters)
    maybe(draw, local, "use_queue", USE_QUEUES["queue_manager"])
    give(draw, local, OF_LOCAL & play)
    remotes: list[Row] = [{"name": name} for name in managers[1:]]
    for remote in remotes:
        give(draw, remote, OF_REMOTE & play)
    queues = ibm_instances(draw, queue_names, managers, OF_QUEUE & play)
    for queue in queues:
        if "bind" not in play:
            queue["bind"] = "not-fixed"
        if queue["queue_manager"] == managers[0]:
            maybe(draw, queue, "use_queue", USE_QUEUES["queue"])
    cluster: Row = {"policy": "ibm-mq", "queue_manager": local, "remote": remotes}
    tables = {
        "channel": ibm_channels(draw, managers[1:], play),
        "queue": queues,
        "alias": ibm_instances(draw, alias_names, managers, OF_ALIAS & play),
    }
    cluster.update({kind: rows for kind, rows in tables.items() if rows})
    maybe(draw, cluster, "options", st.sampled_from([{"literal_step_11": True}, {}]))

    puts = ibm_puts(managers, queue_names, alias_names, bind="bind" in play)
    messages = some_messages(draw, cluster, draw(st.lists(puts, min_size=1, max_size=5)))
    return cluster, messages, some_changes(draw, cluster, messages, ibm_targets(cluster, play))


@st.composite
def ibm_puts(
    draw: st.DrawFn, managers: list[str], queues: list[str], aliases: list[str], bind: bool
) -> Row:
    """The attributes of one message."""
    some_queue = st.sampled_from([*queues * 6, "unknown queue"])
    some_manager = st.sampled_from([*managers * 2, *aliases * 5, "unknown queue manager"])
    kinds = ["queue"] * 9 + ["manager", "manager", "manager", "both", "both", "pcf", "pcf", ""]
    kind = draw(st.sampled_from(kinds))
    message: Row = {}
    if kind in ("queue", "both"):
        message["queue"] = draw(some_queue)
    if kind in ("manager", "both"):
        message["queue_manager"] = draw(some_manager)
    if kind == "pcf":
        message["pcf"] = True
        sent_to = draw(st.lists(st.sampled_from(managers), max_size=3, unique=True))
        if sent_to:
            message["already_sent"] = ";".join(sent_to)
    elif draw(rarely):
        message["pcf"] = False
    if draw(rarely):
        message["via_cluster_channel"] = draw(yes_or_no)
    if bind:
        maybe(draw, message, "producer", st.sampled_from(["p1", "p2", ""]))
        maybe(draw, message, "group", st.sampled_from(["g1", "p1", ""]))
        if draw(rarely):
            message["bind"] = draw(binds | st.just(""))
    return message


def ibm_targets(cluster: Row, play: set[str]) -> list[tuple[str, Values]]:
    """Every object of the cluster that a change can name, and what can be changed of it."""
    local = cluster["queue_manager"]
    objects = [("queue_manager", local, OF_LOCAL)]
    objects += [("remote", row, OF_REMOTE) for row in cluster["remote"]]
    kinds = {"channel": OF_CHANNEL, "queue": OF_QUEUE, "alias": OF_ALIAS}
    objects += itertools.chain.from_iterable(
        [(kind, row, attributes) for row in cluster.get(kind, [])]
        for kind, attributes in kinds.items()
    )
    all_names = [row["name"] for _, row, _ in objects]
    targets = []
    for kind, row, attributes in objects:
        values = {name: IBM_ATTRIBUTES[name] for name in (attributes & play) - UNCHANGED}
        if kind in USE_QUEUES and local["name"] in (row["name"], row.get("queue_manager")):
            values["use_queue"] = USE_QUEUES[kind]
        # A queue manager whose name something else has, too, is left alone.
        if all_names.count(row["name"]) == 1:
            targets.append((row["name"], values))
        if "queue_manager" in row:
            targets.append((f"{kind}:{row['name']}@{row['queue_manager']}", values))
    return targets
