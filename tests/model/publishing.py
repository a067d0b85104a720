"""What a store's clusters do with its queues: publish, acknowledge, time out, reroute.

After docs/reference/policies/smartsockets.md ("What becomes of a guaranteed message", "When a
receiver fails") and docs/how-to/cluster.md. Who is chosen says the plain balancer of `deciding`.
"""

from typing import Any

from tests.oracle.smartsockets import in_list, remembered

from .deciding import Deciding, Subscribers
from .driver import Refused
from .queues import SECOND, Other, Queue, Row

REFUSED = Refused("change")
SAID = ("subject", "mode", "delivery", "type", "server", "group", "cluster")
GUARANTEED = ("some", "all")
AT_ONCE = 100
LEASE = 60 * SECOND


class Nobody(Exception):  # noqa: N818 - an answer, no error of ours
    """There is no destination."""


class Publishing:
    """A cluster of a store, and the guaranteed messages that were published in it."""

    def __init__(self, store: Any, plain: Row) -> None:
        self.store = store
        self.plain = plain
        self.name: str = plain["name"]
        self.options: Row = plain.get("options", {})
        self.deciding = Deciding([plain])
        self.known: dict[str, tuple[Row, Any]] = {}
        """By id: what was published, and the answer."""
        self.guaranteed: list[Row] = []

    @property
    def own(self) -> Any:
        return self.deciding.clusters[self.name]

    # who is there

    def change(self, changes: list[Row]) -> Any:
        now = self.store.now
        return self.deciding.apply([{**each, "time": now} for each in changes])

    def subscribe(self, subject: str, name: str, balanced: bool, way: str) -> Any:
        row = self.subscriber(subject, name)
        aims = {"load_balanced": balanced, "disconnect_mode": way, "connected": True}
        if row is not None:
            changes = [
                {"target": f"subscriber:{name}@{subject}", "attribute": attribute, "value": value}
                for attribute, value in {**aims, "present": True}.items()
                if row[attribute] != value
            ]
            if changes:
                self.change(changes)
        elif self.options.get("subscribers") == "any":
            self.deciding.make_due(self.store.now)
            queue = f"{self.name}:{subject}:{name}"
            self.own.own.add({"name": name, "subject": subject, "queue": queue, **aims})
            self.own.version += 1
        else:
            return REFUSED
        return self.queue_of(self.subscriber(subject, name))

    def unsubscribe(self, subject: str, name: str) -> Any:
        row = self.subscriber(subject, name)
        if row is None:
            return REFUSED
        if any(each["name"] == name for each in self.plain["subscriber"]):
            target = f"subscriber:{name}@{subject}"
            return self.change([{"target": target, "attribute": "present", "value": False}])
        self.deciding.make_due(self.store.now)
        self.own.own.remove(row)
        self.own.version += 1
        return None

    def subscriber(self, subject: str, name: str) -> Row | None:
        for row in self.own.own.rows:
            if (row["name"], row["subject"]) == (name, subject):
                found: Row = row
                return found
        return None

    def queue_of(self, row: Row | None) -> str:
        assert row is not None
        queue: str = row.get("queue") or row["name"]
        return queue

    def queue_for(self, subject: str, name: str) -> str:
        """Where messages wait for one who may not be known any more."""
        row = self.subscriber(subject, name)
        return f"{self.name}:{subject}:{name}" if row is None else self.queue_of(row)

    # what is published

    def publish(self, said: Row) -> Any:
        """Choose, and send to each that was chosen. Raises Full, Other, Nobody."""
        about = {each: said[each] for each in SAID if each in said}
        if said.get("id"):
            content, answer = self.known.get(said["id"], (None, None))
            if content is not None:
                if content != self.content(said, about):
                    raise Other
                return answer
        self.deciding.at(self.store.now)
        found: Any = self.deciding.choose(about)
        names = [name for name, _ in found["copies"]]
        if not names:
            raise Nobody
        row = self.store.row(said)
        record = self.guarantee(about, row, found)
        for name in names:
            self.hand_over(row, name, about, record, found["chosen"])
        copies = sorted(names, key=lambda name: name.encode())
        answer = (found["outcome"], found["chosen"], found["sequence"], copies)
        if said.get("id"):
            self.known[said["id"]] = (self.content(said, about), answer)
        self.store.log("", "decided", len(names))
        return answer

    def content(self, said: Row, about: Row) -> Row:
        """What makes two messages of one id the same."""
        return {"body": said["body"], "stream": self.own.stream(about)}

    def guarantee(self, about: Row, row: Row, found: Row) -> Row | None:
        """Remember a guaranteed message. What is not wanted any more then expires."""
        if not isinstance(self.own, Subscribers) or about.get("delivery") not in GUARANTEED:
            return None
        timeout = self.options.get("delivery_timeout", 30) * SECOND
        due = self.store.now + row["delay"] + timeout if timeout else row["expires"]
        if due is not None and row["expires"] is not None:
            due = min(due, row["expires"])
        if due is not None and (about["delivery"] == "all" or len(found["copies"]) == 1):
            row["expires"] = due
        mode = self.own.own.mode_of(about)
        record = {
            "about": {**about, "mode": mode},
            "due": due,
            "copies": len(found["copies"]),
            "words": [],
            "sequence": found["sequence"],
            "number": len(self.guaranteed),
        }
        self.guaranteed.append(record)
        return record

    def hand_over(
        self, row: Row, name: str, about: Row, record: Row | None, chosen: str | None
    ) -> None:
        """Send to the queue of one who gets it."""
        alone = False
        if isinstance(self.own, Subscribers):
            subscriber = self.subscriber(self.own.own.subject_of(about), name)
            assert subscriber is not None
            balanced = self.own.own.mode_of(about) != "none" and subscriber["load_balanced"]
            alone = balanced and name == chosen
        copy = {"cluster": self.name, "name": name, "about": about, "version": self.own.version}
        copy |= {"record": record and record["number"], "alone": alone}
        self.queue_to(about, name).send([{**row, "copy": copy}])

    def queue_to(self, about: Row, name: str) -> Queue:
        """In which messages wait for one who gets them."""
        if isinstance(self.own, Subscribers):
            name = self.queue_of(self.subscriber(self.own.own.subject_of(about), name))
        found: Queue = self.store.queue(name)
        return found

    def done(self, copy: Row, outcome: str) -> None:
        """A message that was published is done: `acknowledged` or `nack`."""
        about, subjects = copy["about"], isinstance(self.own, Subscribers)
        if not subjects or self.subscriber(self.own.own.subject_of(about), copy["name"]):
            self.own.completed(copy["name"], about, copy["version"])
        self.word(copy, outcome)

    def word(self, copy: Row, outcome: str) -> None:
        """What comes too late makes no difference."""
        if copy["record"] is not None:
            record = self.guaranteed[copy["record"]]
            if record["due"] is None or self.store.now < record["due"]:
                record["words"].append(outcome)

    def deliveries(self) -> list[str]:
        """How it stands with each guaranteed message."""
        return [self.delivery(record) for record in self.guaranteed]

    def delivery(self, record: Row) -> str:
        good = record["words"].count("acknowledged")
        bad = len(record["words"]) - good
        some = record["about"]["delivery"] == "some"
        if bad >= (record["copies"] if some else 1):
            return "nack"
        if good >= (1 if some else record["copies"]):
            return "acknowledged"
        late = record["due"] is not None and self.store.now >= record["due"]
        return "timeout" if late else "open"

    # what waits for who has failed

    def reroute(self, subject: str, name: str) -> Any:
        """Whether nothing is left to be done."""
        self.deciding.at(self.store.now)
        row = self.subscriber(subject, name)
        way, queue = "failure", self.queue_for(subject, name)
        if row is not None:
            if remembered(row):
                return False if row["connected"] == "warm" else REFUSED
            way = "failure" if row["disconnect_mode"] == "warm" else row["disconnect_mode"]
        if queue not in self.store.queues:
            return True
        found: Queue = self.store.queues[queue]
        while holds := found.take(None, AT_ONCE, LEASE):
            for hold in holds:
                for message in list(hold.read):
                    found.queue.remove(message)
                    hold.charged -= message["cost"]  # the tenant was given it
                    self.go_on(message, way)
                    found.log("dropped")
                found.give_back(hold)
        found.look()
        return not (found.all_rows() or found.holds)

    def go_on(self, message: Row, way: str) -> None:
        """One that waits goes to another, or its publisher is told."""
        copy = message.pop("copy", None)
        if copy is None or copy["record"] is None:
            return None
        record = self.guaranteed[copy["record"]]
        if self.options.get("on_receiver_failure") == "nack":
            return self.word(copy, "nack")
        if way == "success":
            return self.word(copy, "acknowledged")
        if not copy["alone"]:
            return self.word(copy, "nack")
        chosen = self.again(record["about"])
        if chosen is None:
            good = self.options.get("zero_receivers", "success") == "success"
            return self.word(copy, "acknowledged" if good else "nack")
        row = {**message, "priority": None, "delay": 0}
        row["group"] = "" if message["lone"] else message["group"]
        if row["id"] in self.queue_to(record["about"], chosen).known:
            row["id"] = f"{row['id']} again {self.store.event()}"
        self.hand_over(row, chosen, record["about"], record, chosen)
        self.store.log("", "decided")
        return None

    def again(self, about: Row) -> str | None:
        """Who gets a message whose receiver has failed: one of the list that is left."""
        own = self.own.own
        subject, mode = own.subject_of(about), about["mode"]
        known = [row for row in own.rows if row["subject"] == subject and remembered(row)]
        cold = [row for row in known if row["connected"] != "warm"]
        balanced = {row["name"] for row in (cold or known) if in_list(row)}
        if not balanced:
            return None
        each = own.own_list(str(about.get("server") or ""), subject)
        chosen: str = each.choose(mode, balanced)
        each.pending[chosen] += 1
        return chosen
