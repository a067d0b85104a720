"""Random scenarios: a cluster as its file says it, messages, and changes to the cluster.

`scenarios(policy)` draws (cluster, messages, changes), small enough to be read when they fail, and
crowded: few times, so that messages and changes meet in one instant; names that differ only in
case, look like numbers or paths, or leave ASCII; attributes that agree more often than not, so
that every step has something to decide.

Times are fractions of seconds in whole microseconds. Neither the messages nor the changes are in
the order of time. A change's target is unambiguous, as the file format asks for.
"""

import itertools
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
Scenario = tuple[Row, list[Row], list[Row]]

AWKWARD_NAMES = [
    "/a",
    "/A",
    "01",
    "1",
    "1.0",
    "A",
    "B",
    "a",
    "DEV1",
    "DEV10",
    "DEV2",
    "a b",
    "true",
    "zebra",
    "é",
    "e\u0301",
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
    | st.sampled_from([Fraction(1, 2), Fraction(5, 2), Fraction(1), Fraction(1_000_001, 1_000_000)])
    | st.integers(0, 6_000_000).map(lambda us: Fraction(us, 1_000_000))
)
# Also before the first message and after the last one.
change_times = whole_seconds | times | st.sampled_from([Fraction(7), Fraction(100)])
mostly = st.sampled_from([True] * 6 + [False])
rarely = st.sampled_from([False] * 6 + [True])
message_counts = st.integers(0, 30) | st.integers(12, 40)
change_counts = st.integers(0, 10)


def scenarios(policy: str) -> st.SearchStrategy[Scenario]:
    """Scenarios of one of the documented systems."""
    return {"msmq": msmq(), "ibm-mq": ibm_mq(), "nanomsg": nanomsg()}[policy]


def some_names(draw: st.DrawFn) -> list[str]:
    """Of one destination now and then, of several as a rule."""
    size = draw(st.sampled_from([1, 2, 2, 3, 3, 4, 5]))
    return draw(st.lists(names, min_size=size, max_size=size, unique=True))


def maybe(draw: st.DrawFn, row: Row, key: str, values: st.SearchStrategy[Any]) -> None:
    """Give the row this attribute, or leave it to its default."""
    if draw(st.booleans()):
        row[key] = draw(values)


def with_ids_and_times(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    first, stride = draw(st.integers(0, len(IDS) - 1)), draw(st.integers(1, len(IDS) - 1))
    return [
        {"id": IDS[(first + n * stride) % len(IDS)], "time": draw(times), **row}
        for n, row in enumerate(rows)
    ]


def for_some_cluster(draw: st.DrawFn, cluster: Row, messages: list[Row]) -> None:
    """Some messages name their cluster, right or wrong; only a cluster with a name can be meant."""
    if draw(rarely):
        cluster["name"] = draw(cluster_names)
        for message in messages:
            maybe(
                draw,
                message,
                "cluster",
                st.sampled_from(["", cluster["name"], cluster["name"], "?"]),
            )


def resets(draw: st.DrawFn, cluster: Row) -> Row:
    targets = ["*", cluster["name"]] if "name" in cluster else ["*"]
    return {
        "time": draw(change_times),
        "target": draw(st.sampled_from(targets)),
        "attribute": "reset",
        "value": True,
    }


def change(draw: st.DrawFn, target: str, values: dict[str, st.SearchStrategy[Any]]) -> Row:
    attribute = draw(st.sampled_from(sorted(values)))
    return {
        "time": draw(change_times),
        "target": target,
        "attribute": attribute,
        "value": draw(values[attribute]),
    }


# --- msmq ------------------------------------------------------------------------------------

weights = st.integers(0, 4) | st.sampled_from([50, 100, 200]) | st.integers(0, 1000)
speeds = st.sampled_from([0.5, 1.0, 2.0, 3.0]) | st.integers(1, 5000).map(lambda n: n / 1000)


@st.composite
def msmq(draw: st.DrawFn) -> Scenario:
    cluster: Row = {"policy": "msmq"}
    maybe(
        draw,
        cluster,
        "options",
        st.sampled_from([{"newcomer": "catch-up"}, {"newcomer": "level"}, {}]),
    )
    machines: list[Row] = []
    for name in some_names(draw):
        machine: Row = {"name": name, "weight": draw(weights)}
        maybe(draw, machine, "enabled", mostly)
        maybe(draw, machine, "present", mostly)
        if draw(rarely):
            machine["address"] = "DIRECT=OS:" + name
            machine["readers"] = draw(st.integers(1, 4))
            machine["speed"] = draw(speeds)
        machines.append(machine)
    cluster["destination"] = machines

    messages = with_ids_and_times(draw, [{} for _ in range(draw(message_counts))])
    for_some_cluster(draw, cluster, messages)

    changes = []
    for _ in range(draw(change_counts)):
        if draw(rarely):
            changes.append(resets(draw, cluster))
        else:
            target = draw(st.sampled_from(machines))["name"]
            changes.append(
                change(
                    draw,
                    target,
                    {
                        "enabled": st.booleans(),
                        "present": st.booleans(),
                        "weight": weights,
                        "state": st.sampled_from(["failed", "up"]),
                    },
                )
            )
    return cluster, messages, changes


# --- nanomsg ---------------------------------------------------------------------------------

# Mostly times that end together with something else.
service_times = (
    st.sampled_from([0, 0.5, 1, 1.0, 1.5, 2, 3, 4.0])
    | st.integers(0, 5_000_000).map(lambda us: us / 1_000_000)
    | st.integers(0, 9).map(lambda us: us / 1_000_000)
)


@st.composite
def nanomsg(draw: st.DrawFn) -> Scenario:
    limited = draw(mostly)
    capacities = st.integers(0, 3)
    initial_states = st.sampled_from(["up", "up", "up", "up", "down"])
    priorities = st.sampled_from([8] * 6 + [7, 7, 7, 9, 1, 16])
    peers: list[Row] = []
    for name in some_names(draw):
        peer: Row = {"name": name}
        maybe(draw, peer, "priority", priorities)
        maybe(draw, peer, "state", initial_states)
        maybe(draw, peer, "present", mostly)
        maybe(draw, peer, "speed", speeds)
        if limited:
            maybe(draw, peer, "capacity", capacities)
        if draw(rarely):
            peer["readers"] = draw(st.integers(1, 4))
        peers.append(peer)
    cluster: Row = {"policy": "nanomsg", "destination": peers}

    rows: list[Row] = []
    for _ in range(draw(message_counts)):
        row: Row = {}
        if limited:
            row["service_time"] = draw(service_times)
        else:
            maybe(draw, row, "service_time", service_times)
        rows.append(row)
    messages = with_ids_and_times(draw, rows)
    for_some_cluster(draw, cluster, messages)

    values = {
        "present": st.booleans(),
        "state": st.sampled_from(["up", "up", "up", "down", "failed"]),
        "speed": speeds,
    }
    if limited:
        values["capacity"] = capacities
    changes = []
    for _ in range(draw(change_counts)):
        target = draw(st.sampled_from(peers))["name"]
        changes.append(change(draw, target, values))
    return cluster, messages, changes


# --- ibm-mq ----------------------------------------------------------------------------------

CHANNEL_STATES = [
    "inactive",
    "running",
    "binding",
    "initializing",
    "starting",
    "stopping",
    "retrying",
    "requesting",
    "paused",
    "stopped",
]
small = st.sampled_from([0] * 8 + [1, 9])
states = st.sampled_from(["running"] * 12 + CHANNEL_STATES)
channel_weights = st.sampled_from([50, 50, 25, 99, 1]) | st.integers(1, 99)
binds = st.sampled_from(["not-fixed"] * 5 + ["on-open", "on-group"])
use_queues = st.sampled_from(["queue-manager", "any", "any", "local"])
subclusters = st.sampled_from([["C1"], ["C1"], ["C1", "C2"], ["C2"]])
recently_used = st.sampled_from([1, 2, 3, 999_999_999])


def ibm_local(draw: st.DrawFn, name: str, two_clusters: bool) -> Row:
    local: Row = {"name": name, "clusters": draw(subclusters) if two_clusters else ["C1"]}
    maybe(draw, local, "use_queue", st.sampled_from(["any", "any", "local"]))
    maybe(draw, local, "suspended", rarely)
    if draw(rarely):
        local["most_recently_used_channels"] = draw(recently_used)
    return local


def ibm_remotes(draw: st.DrawFn, remote_names: list[str]) -> list[Row]:
    remotes = []
    for name in remote_names:
        remote: Row = {"name": name}
        maybe(draw, remote, "suspended", rarely)
        maybe(draw, remote, "present", mostly)
        remotes.append(remote)
    return remotes


def ibm_channels(draw: st.DrawFn, remote_names: list[str]) -> list[Row]:
    channel_counts = st.sampled_from([1, 1, 1, 2, 3, 0])
    owners = [name for name in remote_names for _ in range(draw(channel_counts))]
    own_names = names.filter(lambda name: name != "local")
    unique = draw(st.lists(own_names, min_size=len(owners), max_size=len(owners), unique=True))
    channels = []
    for name, owner in zip(unique, owners, strict=True):
        channel: Row = {"name": name, "queue_manager": owner}
        maybe(draw, channel, "state", states)
        maybe(draw, channel, "rank", small)
        maybe(draw, channel, "priority", small)
        maybe(draw, channel, "network_priority", small)
        maybe(draw, channel, "weight", channel_weights)
        maybe(draw, channel, "manual", rarely)
        maybe(draw, channel, "present", mostly)
        channels.append(channel)
    return channels


def ibm_instances(
    draw: st.DrawFn, own_names: list[str], managers: list[str], local: str | None
) -> list[Row]:
    """Queues (these have a local queue manager) or aliases, each name on some queue managers."""
    instances = []
    for name in own_names:
        owners = [owner for owner in managers[1:] if draw(mostly)]
        if draw(st.booleans()) or not owners:
            owners.append(managers[0])
        for owner in owners:
            instance: Row = {"name": name, "queue_manager": owner}
            maybe(draw, instance, "put_enabled", mostly)
            maybe(draw, instance, "rank", small)
            maybe(draw, instance, "priority", small)
            maybe(draw, instance, "present", mostly)
            if local is not None:
                instance["bind"] = draw(binds)
                if draw(rarely):
                    del instance["bind"]
            if owner == local:
                maybe(draw, instance, "use_queue", use_queues)
            instances.append(instance)
    return draw(st.permutations(instances))


@st.composite
def ibm_mq(draw: st.DrawFn) -> Scenario:
    managers = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    two_clusters = draw(st.booleans())
    queue_names = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    alias_names = draw(st.lists(st.sampled_from(managers) | names, max_size=2, unique=True))
    tables = {
        "remote": ibm_remotes(draw, managers[1:]),
        "channel": ibm_channels(draw, managers[1:]),
        "queue": ibm_instances(draw, queue_names, managers, local=managers[0]),
        "alias": ibm_instances(draw, alias_names, managers, local=None),
    }
    if two_clusters:
        for row in itertools.chain.from_iterable(tables.values()):
            if draw(rarely):
                row["clusters"] = draw(subclusters)
    cluster: Row = {
        "policy": "ibm-mq",
        "queue_manager": ibm_local(draw, managers[0], two_clusters),
        **{kind: rows for kind, rows in tables.items() if rows},
    }
    maybe(draw, cluster, "options", st.sampled_from([{"literal_step_11": True}, {}]))

    count = draw(message_counts)
    rows = [draw(ibm_puts(managers, queue_names, alias_names)) for _ in range(count)]
    messages = with_ids_and_times(draw, rows)
    for_some_cluster(draw, cluster, messages)

    targets = ibm_targets(cluster)
    changes = []
    for _ in range(draw(change_counts)):
        if draw(rarely) and draw(rarely):
            changes.append(resets(draw, cluster))
        elif targets:
            target, values = draw(st.sampled_from(targets))
            changes.append(change(draw, target, values))
    return cluster, messages, changes


@st.composite
def ibm_puts(draw: st.DrawFn, managers: list[str], queues: list[str], aliases: list[str]) -> Row:
    """The attributes of one message."""
    some_queue = st.sampled_from([*queues * 6, "unknown queue"])
    some_manager = st.sampled_from([*managers * 2, *aliases * 4, "unknown queue manager"])
    kind = draw(
        st.sampled_from(
            ["queue"] * 9 + ["manager", "manager", "manager", "both", "both", "pcf", "pcf", ""]
        )
    )
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
        message["via_cluster_channel"] = draw(st.booleans())
    maybe(draw, message, "producer", st.sampled_from(["p1", "p2", ""]))
    maybe(draw, message, "group", st.sampled_from(["g1", "p1", ""]))
    if draw(rarely):
        message["bind"] = draw(binds | st.just(""))
    return message


Values = dict[str, st.SearchStrategy[Any]]


def ibm_targets(cluster: Row) -> list[tuple[str, Values]]:
    """Every object of the cluster that a change can name, and what can be changed of it."""
    yes_or_no = st.booleans()
    local: Values = {
        "suspended": yes_or_no,
        "use_queue": st.sampled_from(["local", "any"]),
        "most_recently_used_channels": recently_used,
    }
    remote: Values = {"suspended": yes_or_no, "present": yes_or_no}
    alias: Values = {"rank": small, "priority": small, "present": yes_or_no}
    channel = {**alias, "state": states, "weight": channel_weights, "network_priority": small}
    alias["put_enabled"] = yes_or_no
    queue = {**alias, "bind": binds}
    local_queue = {**queue, "use_queue": use_queues}

    own = cluster["queue_manager"]
    objects = [("queue_manager", own, local)]
    objects += [("remote", row, remote) for row in cluster["remote"]]
    objects += [("channel", row, channel) for row in cluster.get("channel", [])]
    objects += [
        ("queue", row, local_queue if row["queue_manager"] == own["name"] else queue)
        for row in cluster.get("queue", [])
    ]
    objects += [("alias", row, alias) for row in cluster.get("alias", [])]

    all_names = [row["name"] for _, row, _ in objects]
    targets = []
    for kind, row, values in objects:
        # A queue manager whose name something else has, too, is left alone.
        if all_names.count(row["name"]) == 1:
            targets.append((row["name"], values))
        if "queue_manager" in row:
            targets.append((f"{kind}:{row['name']}@{row['queue_manager']}", values))
    return targets
