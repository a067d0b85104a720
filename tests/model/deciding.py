"""Who gets each message: a plain balancer, told one thing at a time.

Several clusters, their streams, changes at their times and what follows of them, completions, and
the journal. What a policy does with one message stands in `deciding_destinations`, and for the
documented systems that list no destinations in `tests/oracle`. Times are whole microseconds.
"""

from typing import Any

from tests.oracle import NO_DESTINATION, ROUTED, Row, text
from tests.oracle.ibm_mq import LocalQueueManager
from tests.oracle.smartsockets import Project, in_list

from .deciding_destinations import Destinations, RefusedChangeError
from .driver import Refused

BEFORE_ALL = -(1 << 62)
KNOWN = {
    *("id", "time", "position", "service_time", "size"),
    *("cluster", "queue", "queue_manager", "subject", "server", "producer", "already_sent"),
    *("type", "mode", "delivery", "bind", "via_cluster_channel", "pcf"),
    *("group", "tenant", "priority", "cost", "rollbacks"),
}
WORDS = {
    "via_cluster_channel": ("true", "false"),
    "pcf": ("true", "false"),
    "bind": ("on-open", "not-fixed", "on-group"),
    "mode": ("none", "round-robin", "weighted", "sorted"),
    "delivery": ("best-effort", "ordered", "some", "all"),
}
OF_MQ = {"queue", "queue_manager", "pcf", "already_sent", "via_cluster_channel", "bind", "producer"}


class Listed(Destinations):
    """A cluster of destinations."""

    streams: tuple[str, ...] = ()

    def decide(self, message: Row, sequence: int) -> Row:
        """The outcome, who was chosen, who gets it, and why."""
        found = self.choose(message, sequence)
        chosen = found["chosen"]
        name = chosen["name"] if chosen else None
        return {**found, "outcome": ROUTED if chosen else NO_DESTINATION, "chosen": name}

    def stream(self, _message: Row) -> tuple[str, ...]:
        return ()

    def address(self, name: str) -> str | None:
        return next(row["address"] for row in self.rows if row["name"] == name) or None


class QueueManagers:
    """A cluster of IBM MQ."""

    streams = ("queue",)
    reads = OF_MQ | {"group"}

    def __init__(self, plain: Row) -> None:
        self.own = LocalQueueManager(plain)
        self.version = 0

    def decide(self, message: Row, _sequence: int) -> Row:
        name, outcome = self.own.put(message)
        return {"outcome": outcome, "chosen": name, "names": [name] if name else []}

    def stream(self, message: Row) -> tuple[str, ...]:
        return (self.own.queue_of(message),)

    def address(self, _name: str) -> str | None:
        return None

    def completed(self, name: str, message: Row, version: int) -> None:
        """Nobody is ever busy here."""

    def meant(self, target: str, attribute: str, value: Any) -> tuple[Row | None, Any]:
        change = {"target": target, "attribute": attribute, "value": value}
        if attribute == "reset":
            return None, None
        try:
            row = self.own.find(target)
        except ValueError:
            raise RefusedChangeError from None
        if attribute not in row and attribute not in ("readers", "speed", "address"):
            raise RefusedChangeError
        return {"change": change}, value

    def next(self) -> int | None:
        return None

    def step(self, _now: int, changes: list[tuple[Row | None, str, Any]]) -> None:
        self.version += 1
        reset = {"attribute": "reset"}
        self.own.apply_step([reset if row is None else row["change"] for row, _, _ in changes])


class Subscribers:
    """A cluster of SmartSockets. Each server has its own lists of the subscribers."""

    streams = ("subject",)
    reads = {"subject", "server", "type", "mode", "delivery"}

    def __init__(self, plain: Row) -> None:
        self.own = Project(plain)
        self.version = 0
        self.fresh: dict[tuple[str, str], int] = {}
        """The version since which a subscriber holds nothing of what came before."""
        self.joined: dict[tuple[str, str], int] = {}
        """The version in which it joined again, and so was new."""

    def decide(self, message: Row, _sequence: int) -> Row:
        outcome, names, chosen = self.own.publish(message)
        return {"outcome": outcome, "chosen": chosen, "names": names}

    def stream(self, message: Row) -> tuple[str, ...]:
        return (self.own.subject_of(message),)

    def address(self, _name: str) -> str | None:
        return None

    def completed(self, name: str, message: Row, version: int) -> None:
        """It is acknowledged, and not pending any more, if it was guaranteed."""
        subject = self.own.subject_of(message)
        (row,) = (r for r in self.own.rows if (r["name"], r["subject"]) == (name, subject))
        if message.get("delivery") in ("some", "all") and version >= self.fresh.get(who(row), 0):
            pending = self.own.own_list(text(message.get("server")), subject).pending
            pending[name] = max(0, pending.get(name, 0) - 1)

    def meant(self, target: str, attribute: str, value: Any) -> tuple[Row | None, Any]:
        try:
            row = self.own.find(target)
        except ValueError:
            raise RefusedChangeError from None
        states = ("state",) if "subject" in row else ()
        if attribute not in (*(name for name in row if name not in ("name", "subject")), *states):
            raise RefusedChangeError
        return {"target": target}, value

    def next(self) -> int | None:
        return min((until for until, _ in self.own.warm_until), default=None)

    def step(self, now: int, changes: list[tuple[Row | None, str, Any]]) -> None:
        self.version += 1
        there = [in_list(row) for row in self.own.rows]
        fail = self.own.time_out(now)
        for target, attribute, value in changes:
            assert target is not None
            fail += self.own.change(target["target"], attribute, value, now)
        for row, before in zip(self.own.rows, there, strict=True):
            if in_list(row) and not before:
                self.joined[who(row)] = self.version
        self.fresh |= {who(row): self.version for row in fail} | self.joined


def who(row: Row) -> tuple[str, str]:
    """A subscriber: by its name, and its subject."""
    return row["name"], row["subject"]


def cluster_of(plain: Row) -> Any:
    """The model of one cluster."""
    kinds: dict[str, Any] = {"ibm-mq": QueueManagers, "smartsockets": Subscribers}
    policy = plain["policy"]
    return kinds.get(policy if isinstance(policy, str) else "", Listed)(plain)


class Deciding:
    """A balancer of one cluster or several, with a journal."""

    name = "model"

    def __init__(self, clusters: list[Row]) -> None:
        self.clusters = {plain["name"]: cluster_of(plain) for plain in clusters}
        self.reads = set().union(*(each.reads for each in self.clusters.values()))
        self.streamed = list(
            dict.fromkeys(name for each in self.clusters.values() for name in each.streams)
        )
        self.sequences: dict[object, int] = {}
        self.decisions: list[Row] = []
        """All that were made, with the message, the version, and who has not completed it."""
        self.rows: list[Row] = []
        """Of the journal, since somebody last looked."""
        self.position = 0
        self.now = BEFORE_ALL

    # verbs

    def choose(self, message: Row) -> object:
        if not message.keys() <= KNOWN | self.reads or not self.allowed(message):
            return Refused("message")
        given = text_of(message.get("cluster"))
        only = next(iter(self.clusters)) if len(self.clusters) == 1 else ""
        name = given or only
        said = {key: text_of(value) for key, value in message.items()}
        if said.get("type") == "SetPriority":
            return self.tell(given, "", None, "control", None, {}, said, 0)
        cluster = self.clusters.get(name)
        if cluster is None:
            parts = tuple(said.get(each, "") for each in self.streamed)
            sequence = self.number(("elsewhere", given, *parts))
            stream = "/".join(part for part in (given, *parts) if part)
            return self.tell(given, stream, sequence, NO_DESTINATION, None, {}, said, 0)
        parts = cluster.stream(said)
        sequence = self.number((name, *parts))
        found = cluster.decide(said, sequence)
        stream = "/".join(part for part in (name, *parts) if part)
        return self.tell(
            name, stream, sequence, found["outcome"], found["chosen"], found, said, cluster.version
        )

    def allowed(self, message: Row) -> bool:
        said = {key: text_of(value) for key, value in message.items()}
        for name, words in WORDS.items():
            if name in self.reads and said.get(name, "") not in ("", *words):
                return False
        pcf = "pcf" in self.reads and said.get("pcf") == "true"
        return not (pcf and (said.get("queue") or said.get("queue_manager")))

    def number(self, stream: object) -> int:
        found = self.sequences.get(stream, 0)
        self.sequences[stream] = found + 1
        return found

    def tell(
        self,
        cluster: str,
        stream: str,
        sequence: int | None,
        outcome: str,
        chosen: str | None,
        found: Row,
        said: Row,
        version: int,
    ) -> Row:
        """Note a decision, and its rows in the journal; returns what the caller gets."""
        own = self.clusters.get(cluster)
        copies = [(name, own.address(name)) for name in found.get("names", []) if own]
        answer = {"outcome": outcome, "cluster": cluster, "sequence": sequence, "chosen": chosen}
        answer |= {"stream": stream or cluster, "copies": copies}
        self.decisions.append(
            {**answer, "said": said, "version": version, "open": [name for name, _ in copies]}
            | {"why": found.get("why")}
        )
        for name, address in copies or [(None, None)]:
            self.rows.append(
                {**answer, "position": self.position, "destination": name, "address": address}
                | {"id": said.get("id", ""), "version": version, "why": found.get("why")}
            )
        self.position += 1
        return {**answer, "why": found.get("why")}

    def explain(self, number: int) -> object:
        """Why, of a decision of earlier."""
        return self.decisions[number]["why"]

    def completed(self, number: int, by: str | None) -> object:
        decision = self.decisions[number]
        names = [name for name, _ in decision["copies"]]
        if not names or (by is None and len(names) > 1) or (by is not None and by not in names):
            return Refused("message")
        name = by or names[0]
        decision["open"].remove(name)
        self.clusters[decision["cluster"]].completed(name, decision["said"], decision["version"])
        event = {key: decision[key] for key in ("cluster", "stream", "sequence", "version")}
        self.rows.append(
            {**event, "position": self.position, "destination": name, "outcome": "completed"}
        )
        return None

    def apply(self, changes: list[Row]) -> object:
        """Changes of one time are one step; all are made, or none."""
        steps: dict[tuple[int, str], list[tuple[Row, Row | None, Any]]] = {}
        try:
            for change in sorted(changes, key=lambda each: int(each["time"])):
                for name, row, value in self.meant(change):
                    steps.setdefault((change["time"], name), []).append((change, row, value))
        except RefusedChangeError:
            return Refused("change")
        for (time, name), made in steps.items():
            self.make_due(time - 1)
            self.now = max(self.now, time)
            self.step(name, made)
        self.make_due(self.now)
        return None

    def meant(self, change: Row) -> list[tuple[str, Row | None, Any]]:
        """The clusters that a change speaks of, and what of them."""
        target, attribute, value = change["target"], change["attribute"], change.get("value")
        if attribute == "reset":
            names = list(self.clusters) if target == "*" else [target]
            if not set(names) <= set(self.clusters) or value not in (None, "", True, "true"):
                raise RefusedChangeError
            return [(n, *self.clusters[n].meant(target, attribute, value)) for n in names]
        spoken = [(name, target) for name in self.clusters if self.has(name, target)]
        if not spoken:
            bare, _, owner = target.rpartition("@")
            spoken = [(owner, bare)] if owner in self.clusters and self.has(owner, bare) else []
        if len(spoken) != 1:
            raise RefusedChangeError
        name, own = spoken[0]
        return [(name, *self.clusters[name].meant(own, attribute, value))]

    def has(self, name: str, target: str) -> bool:
        """Whether a cluster has somebody of this name; twice is also once."""
        own = self.clusters[name]
        rows = own.rows if isinstance(own, Listed) else own.own.objects()
        return any(
            target in (row["name"], *(f"{kind}:{row['name']}{of}" for kind, of in called(row)))
            for row in rows
        )

    def at(self, time: int) -> None:
        self.make_due(time)
        self.now = max(self.now, time)

    def restore(self) -> None:
        """Another balancer goes on from the snapshot of this one: nothing changes."""

    # what follows of itself

    def next(self) -> int | None:
        times = [each.next() for each in self.clusters.values()]
        return min((time for time in times if time is not None), default=None)

    def make_due(self, time: int) -> None:
        while (due := self.next()) is not None and due <= time:
            self.now = due
            for name, each in self.clusters.items():
                if each.next() == due:
                    self.step(name, [])

    def step(self, name: str, made: list[tuple[Row, Row | None, Any]]) -> None:
        cluster = self.clusters[name]
        cluster.step(self.now, [(row, change["attribute"], value) for change, row, value in made])
        event = {"cluster": name, "outcome": "changed", "time": self.now}
        event |= {"position": self.position, "version": cluster.version}
        for change, _, _ in made:
            attribute = change["attribute"]
            if isinstance(cluster, Subscribers) and (attribute, change["value"]) == ("state", "up"):
                attribute = "connected"  # it has its connection back
            self.rows.append({**event, "attribute": attribute})
        if not made:
            self.rows.append({**event, "attribute": None})

    # what can be looked at

    def look(self) -> dict[str, Any]:
        rows, self.rows = self.rows, []
        return {"next change": self.next(), "journal": rows}

    def close(self) -> None:
        """It keeps nothing open."""


def called(row: Row) -> list[tuple[str, str]]:
    """The kinds by which a change's target can call an object, and its owner."""
    kind = row.get("kind", "destination")
    owner = row.get("queue_manager") or row.get("subject") or ""
    kinds = ["remote", "queue_manager"] if kind == "remote" else [kind]
    return [(each, of) for each in kinds for of in {"", f"@{owner}" if owner else ""}]


def text_of(value: Any) -> str:
    """An attribute of a message, as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text(value)
