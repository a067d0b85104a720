"""IBM MQ cluster workload management, after "The cluster workload management algorithm".

The steps below carry the numbers of that page.
"""

from copy import deepcopy
from fractions import Fraction
from typing import NamedTuple

from . import NO_DESTINATION, PUT_INHIBITED, ROUTED, UNKNOWN_QUEUE, Row, is_reset, text, truth

STATE_CLASSES = [
    {"inactive", "running"},
    {"binding", "initializing", "starting", "stopping"},
    {"retrying"},
    {"requesting", "paused", "stopped"},
]
WORKLOAD_ATTRIBUTES = ("rank", "priority", "weight", "network_priority")
BOOLEANS = ("present", "suspended", "put_enabled", "manual")
NUMBERS = (*WORKLOAD_ATTRIBUTES, "most_recently_used_channels")

# The local queue manager's own instance competes as if over a running channel like this.
LOCAL = {
    "name": "local",
    "state": "running",
    "rank": 0,
    "priority": 0,
    "weight": 50,
    "network_priority": 0,
    "manual": False,
}


class Candidate(NamedTuple):
    """One (queue instance or queue-manager alias or both, channel) pair."""

    manager: Row
    channel: Row
    queue: Row | None = None
    alias: Row | None = None


class PutError(Exception):
    """The message cannot be put; its text is the outcome."""


class LocalQueueManager:
    """What the local queue manager knows of its clusters, and what it remembers of its choices."""

    def __init__(self, cluster: Row) -> None:
        cluster = deepcopy(cluster)
        options = cluster.get("options", {})
        if set(options) - {"literal_step_11"}:
            raise ValueError(f"options the oracle does not know: {options}")
        self.literal_step_11 = bool(options.get("literal_step_11", False))

        own = cluster["queue_manager"]
        self.local: Row = {
            "use_queue": "local",
            "most_recently_used_channels": 999_999_999,
            "suspended": False,
            "present": True,
            **own,
        }
        self.remotes: list[Row] = [
            {"clusters": own["clusters"], "suspended": False, "present": True, **row}
            for row in cluster.get("remote", [])
        ]
        defaults: Row = {"rank": 0, "priority": 0, "present": True}
        self.channels: list[Row] = [
            {
                "clusters": self.manager(row["queue_manager"])["clusters"],
                **defaults,
                "state": "running",
                "weight": 50,
                "network_priority": 0,
                "manual": False,
                **row,
            }
            for row in cluster.get("channel", [])
        ]
        self.queues: list[Row] = [
            {
                "clusters": self.manager(row["queue_manager"])["clusters"],
                **defaults,
                "put_enabled": True,
                "use_queue": "queue-manager",
                "bind": "on-open",
                **row,
            }
            for row in cluster.get("queue", [])
        ]
        self.aliases: list[Row] = [
            {
                "clusters": self.manager(row["queue_manager"])["clusters"],
                **defaults,
                "put_enabled": True,
                **row,
            }
            for row in cluster.get("alias", [])
        ]
        # Destination sequence factor and number of every channel, and of `local`.
        names = [channel["name"] for channel in self.channels] + ["local"]
        self.factor = {name: Fraction(0) for name in names}
        self.number = dict.fromkeys(names, 0)
        self.next_number = 1
        # What an opener or a group is bound to.
        self.bindings: dict[tuple[str, str, str, str], str] = {}

    def manager(self, name: str) -> Row:
        return next(row for row in [self.local, *self.remotes] if row["name"] == name)

    # --- one message -----------------------------------------------------------------------

    def queue_of(self, message: Row) -> str:
        """The queue a message is put to; a cluster with one queue needs not be told."""
        queue = text(message.get("queue"))
        if not queue and not text(message.get("queue_manager")) and not is_pcf(message):
            names = {row["name"] for row in self.queues}
            if len(names) == 1:
                return str(names.pop())
        return queue

    def put(self, message: Row) -> tuple[str | None, str]:
        """Destination and outcome of one message."""
        binding = self.binding_of(message)
        if binding is not None and binding in self.bindings:
            return self.bindings[binding], ROUTED
        try:
            destination = self.choose(message)
        except PutError as error:
            return None, str(error)
        if binding is not None:
            self.bindings[binding] = destination
        return destination, ROUTED

    def binding_of(self, message: Row) -> tuple[str, str, str, str] | None:
        """What the message's destination is bound to: its opener, its group or nothing."""
        queue = self.queue_of(message)
        queue_manager = text(message.get("queue_manager"))
        if not (queue or queue_manager or is_pcf(message)):
            return None  # it opens nothing
        bind = text(message.get("bind"))
        if not bind:
            instances = [row for row in self.queues if row["name"] == queue]
            bind = instances[0]["bind"] if instances else "not-fixed"
        if bind == "on-open":
            return (bind, queue, queue_manager, text(message.get("producer")))
        if bind == "on-group" and text(message.get("group")):
            return (bind, queue, queue_manager, text(message.get("group")))
        return None

    def choose(self, message: Row) -> str:
        left = self.candidates(message)

        # Step 3.
        via_cluster_channel = truth(message.get("via_cluster_channel"))
        for candidate in left:
            if candidate.channel is LOCAL and self.is_at_once(candidate, via_cluster_channel):
                return "local"

        # Step 4.
        if is_pcf(message):
            already_sent = text(message.get("already_sent")).split(";")
            left = [c for c in left if c.manager["name"] not in already_sent]
        if not left:
            raise PutError(NO_DESTINATION)

        left = by_rank(left)
        left = not_suspended(left)
        left = in_best_state(left)
        left = manual_for_pcf(left, message)
        left = by_network_priority(left)
        left = self.by_priority(left, choosing_queue=bool(self.queue_of(message)))
        return self.least_used(left)

    def candidates(self, message: Row) -> list[Candidate]:
        """Steps 1 and 2."""
        queue = self.queue_of(message)
        queue_manager = text(message.get("queue_manager"))
        if is_pcf(message):
            return self.pcf_candidates()
        if queue and queue_manager:
            return self.only_queue_manager(self.queue_candidates(queue), queue_manager)
        if queue:
            return self.queue_candidates(queue)
        if queue_manager:
            return self.queue_manager_candidates(queue_manager)
        raise PutError(UNKNOWN_QUEUE)

    def queue_candidates(self, name: str) -> list[Candidate]:
        """Step 1."""
        instances = [
            row for row in self.queues if row["name"] == name and self.is_effectively_present(row)
        ]
        if not instances:
            raise PutError(UNKNOWN_QUEUE)
        enabled = [row for row in instances if row["put_enabled"]]
        if not enabled:
            raise PutError(PUT_INHIBITED)
        candidates = []
        for instance in enabled:
            manager = self.manager(instance["queue_manager"])
            if manager is self.local:
                candidates.append(Candidate(manager, LOCAL, queue=instance))
            elif shared(instance, self.local):
                candidates += [
                    Candidate(manager, channel, queue=instance)
                    for channel in self.channels_to(manager)
                    if shared(channel, instance)
                ]
        return candidates

    def only_queue_manager(self, left: list[Candidate], name: str) -> list[Candidate]:
        """Step 2, for a queue on a queue manager: by the manager's own name or an alias of it."""
        kept = []
        for candidate in left:
            if candidate.channel is not LOCAL and not shared(candidate.channel, self.local):
                continue
            if candidate.manager["name"] == name:
                kept.append(candidate)
            kept += [
                candidate._replace(alias=alias)
                for alias in self.usable_aliases(name)
                if alias["queue_manager"] == candidate.manager["name"]
            ]
        return kept

    def queue_manager_candidates(self, name: str) -> list[Candidate]:
        """Step 2, for a queue manager alone."""
        candidates = []
        if self.local["name"] == name:
            candidates.append(Candidate(self.local, LOCAL))
        for manager in self.remotes:
            if manager["name"] == name and manager["present"]:
                candidates += [
                    Candidate(manager, channel)
                    for channel in self.channels_to(manager)
                    if shared(channel, self.local)
                ]
        for alias in self.usable_aliases(name):
            manager = self.manager(alias["queue_manager"])
            if manager is self.local:
                candidates.append(Candidate(manager, LOCAL, alias=alias))
            else:
                candidates += [
                    Candidate(manager, channel, alias=alias)
                    for channel in self.channels_to(manager)
                    if shared(channel, self.local)
                ]
        return candidates

    def pcf_candidates(self) -> list[Candidate]:
        """All channels to other queue managers in a shared cluster."""
        return [
            Candidate(manager, channel)
            for manager in self.remotes
            if manager["present"] and shared(manager, self.local)
            for channel in self.channels_to(manager)
            if shared(channel, self.local)
        ]

    def is_at_once(self, candidate: Candidate, via_cluster_channel: bool) -> bool:
        """Step 3, for the local candidate."""
        if via_cluster_channel:
            return True
        if candidate.queue is None:
            return candidate.alias is None
        use_queue: str = candidate.queue["use_queue"]
        if use_queue == "queue-manager":
            use_queue = self.local["use_queue"]
        return use_queue == "local"

    def by_priority(self, left: list[Candidate], choosing_queue: bool) -> list[Candidate]:
        """Steps 11a and 11b; both, unless they are read literally."""
        if not self.literal_step_11 or not choosing_queue:
            left = highest(left, [c.channel["priority"] for c in left])
            left = highest(left, [None if c.alias is None else c.alias["priority"] for c in left])
        if not self.literal_step_11 or choosing_queue:
            left = highest(left, [None if c.queue is None else c.queue["priority"] for c in left])
        return left

    def least_used(self, left: list[Candidate]) -> str:
        """Steps 11c and 12. Here only the channels matter; one that is there twice counts once."""
        channels: list[Row] = []
        for candidate in left:
            if candidate.channel not in channels:
                channels.append(candidate.channel)

        # Step 11c.
        channels = sorted(channels, key=lambda c: (-self.number[c["name"]], in_name_order(c)))
        channels = channels[: self.local["most_recently_used_channels"]]

        # Step 12.
        chosen = min(
            channels,
            key=lambda c: (self.factor[c["name"]], self.number[c["name"]], in_name_order(c)),
        )
        name: str = chosen["name"]
        self.factor[name] += Fraction(1000, chosen["weight"])
        self.number[name] = self.next_number
        self.next_number += 1
        return name

    def channels_to(self, manager: Row) -> list[Row]:
        return [
            channel
            for channel in self.channels
            if channel["present"] and channel["queue_manager"] == manager["name"]
        ]

    def usable_aliases(self, name: str) -> list[Row]:
        """Step 2: those that are put-enabled and in a cluster of the local queue manager."""
        return [
            alias
            for alias in self.aliases
            if alias["name"] == name
            and self.is_effectively_present(alias)
            and alias["put_enabled"]
            and shared(alias, self.local)
        ]

    def is_effectively_present(self, row: Row) -> bool:
        """A channel, queue or alias is there only while its queue manager is, too."""
        return bool(row["present"] and self.manager(row["queue_manager"])["present"])

    # --- changes ---------------------------------------------------------------------------

    def apply_step(self, step: list[Row]) -> None:
        """All changes of one time."""
        before = deepcopy(self.channels)
        here_before = self.channels_and_queues_here()
        for change in step:
            if not is_reset(change):
                self.apply(change)
        altered = any(
            old[attribute] != new[attribute]
            for old, new in zip(before, self.channels, strict=True)
            if self.is_effectively_present(new) and not new["manual"]
            for attribute in WORKLOAD_ATTRIBUTES
        )
        here_after = self.channels_and_queues_here()
        joined = any(now and not then for then, now in zip(here_before, here_after, strict=True))
        if altered or joined or any(is_reset(change) for change in step):
            for name in self.factor:
                self.factor[name] = Fraction(0)

    def apply(self, change: Row) -> None:
        """One change, what it sets and no more."""
        attribute, value = change["attribute"], change["value"]
        if attribute in ("readers", "speed", "address"):
            return  # says nothing about who is next
        if attribute in BOOLEANS:
            value = truth(value)
        elif attribute in NUMBERS:
            value = int(value)
        row = self.find(change["target"])
        if attribute not in row:
            raise ValueError(f"no such attribute: {change}")
        row[attribute] = value

    def channels_and_queues_here(self) -> list[bool]:
        return [self.is_effectively_present(row) for row in [*self.channels, *self.queues]]

    def kinds(self) -> list[tuple[tuple[str, ...], list[Row]]]:
        """All objects, by what a change's target can call them."""
        return [
            (("queue_manager",), [self.local]),
            (("remote", "queue_manager"), self.remotes),
            (("channel",), self.channels),
            (("queue",), self.queues),
            (("alias",), self.aliases),
        ]

    def objects(self) -> list[Row]:
        """Everything that a change can name."""
        return [{**row, "kind": words[0]} for words, rows in self.kinds() for row in rows]

    def find(self, target: str) -> Row:
        """The one object that a change's target names."""
        found = []
        for words, rows in self.kinds():
            for row in rows:
                names = [row["name"]]
                for word in words:
                    names.append(f"{word}:{row['name']}")
                    if "queue_manager" in row:
                        names.append(f"{word}:{row['name']}@{row['queue_manager']}")
                if target in names:
                    found.append(row)
        if len(found) != 1:
            raise ValueError(f"{len(found)} objects are called {target!r}")
        return found[0]


def by_rank(left: list[Candidate]) -> list[Candidate]:
    """Step 4a: channels by rank, then the aliases among what is left by theirs; step 4b."""
    left = highest(left, [c.channel["rank"] for c in left])
    left = highest(left, [None if c.alias is None else c.alias["rank"] for c in left])
    return highest(left, [None if c.queue is None else c.queue["rank"] for c in left])


def not_suspended(left: list[Candidate]) -> list[Candidate]:
    """Step 5."""
    resumed = [c for c in left if not c.manager["suspended"]]
    return resumed or left


def in_best_state(left: list[Candidate]) -> list[Candidate]:
    """Steps 6 to 9."""
    for states in STATE_CLASSES:
        in_these = [c for c in left if c.channel["state"] in states]
        if in_these:
            return in_these
    raise ValueError(f"no such state: {[c.channel['state'] for c in left]}")


def manual_for_pcf(left: list[Candidate], message: Row) -> list[Candidate]:
    """Step 10."""
    manual = [c for c in left if c.channel["manual"]]
    return manual if is_pcf(message) and len(left) > 1 and manual else left


def by_network_priority(left: list[Candidate]) -> list[Candidate]:
    """Step 11: the best of each queue manager."""
    kept = []
    for candidate in left:
        manager = candidate.manager["name"]
        rivals = [c.channel["network_priority"] for c in left if c.manager["name"] == manager]
        if candidate.channel["network_priority"] == max(rivals):
            kept.append(candidate)
    return kept


def highest(left: list[Candidate], values: list[int | None]) -> list[Candidate]:
    """Those with the highest value; those to whom the value does not apply stay."""
    best = max((value for value in values if value is not None), default=None)
    return [c for c, value in zip(left, values, strict=True) if value is None or value == best]


def shared(one: Row, other: Row) -> bool:
    """Whether the two have a cluster in common."""
    return bool(set(one["clusters"]) & set(other["clusters"]))


def in_name_order(channel: Row) -> tuple[bool, bytes]:
    """By name; the local instance comes last."""
    return (channel is LOCAL, channel["name"].encode("utf-8"))


def is_pcf(message: Row) -> bool:
    return truth(message.get("pcf"))
