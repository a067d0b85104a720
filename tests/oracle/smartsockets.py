"""SmartSockets load balancing, as section 3 of the semantics describes it."""

from copy import deepcopy
from typing import Any

from . import NO_DESTINATION, ROUTED, Row, text, truth

DEFAULTS: Row = {
    "present": True,
    "load_balanced": True,
    "connected": True,
    "disconnect_mode": "failure",
}
OPTIONS: Row = {"on_receiver_failure": "reroute", "reconnect_timeout": 30}


class List:
    """The balanced subscribers of one subject, as one server sees them."""

    def __init__(self) -> None:
        self.circle: list[str] = []
        self.joined: list[str] = []
        self.pending: dict[str, int] = {}
        self.turn: str | None = None
        self.scan: str | None = None

    def join(self, name: str) -> None:
        place = len(self.circle) if self.turn is None else self.circle.index(self.turn)
        self.circle.insert(place, name)
        self.joined.append(name)
        self.pending[name] = 0
        if self.scan is None:
            self.scan = name

    def ignore(self, name: str) -> None:
        """It is no member of the list."""

    def leave(self, name: str) -> None:
        follower = self.after(name)
        if self.turn == name:
            self.turn = follower
        if self.scan == name:
            self.scan = follower
        self.circle.remove(name)
        self.joined.remove(name)
        if not self.circle:
            self.turn = self.scan = None

    def after(self, name: str) -> str:
        return self.circle[(self.circle.index(name) + 1) % len(self.circle)]

    def beginning_at(self, cursor: str) -> list[str]:
        place = self.circle.index(cursor)
        return self.circle[place:] + self.circle[:place]

    def choose(self, mode: str, eligible: set[str]) -> str:
        if mode == "sorted":
            return min(eligible, key=lambda name: name.encode())
        if mode == "round-robin":
            if self.turn is None:
                self.turn = self.joined[-1]
            chosen = next(n for n in self.beginning_at(self.turn) if n in eligible)
            self.turn = self.after(chosen)
            return chosen
        assert self.scan is not None
        fewest = min(self.pending[name] for name in eligible)
        chosen = next(
            name
            for name in self.beginning_at(self.scan)
            if name in eligible and self.pending[name] == fewest
        )
        self.scan = self.after(chosen)
        return chosen


def remembered(row: Row) -> bool:
    return bool(row["present"] and row["connected"] is not False)


def in_list(row: Row) -> bool:
    return bool(remembered(row) and row["load_balanced"])


def by_name(rows: list[Row]) -> list[str]:
    return sorted((row["name"] for row in rows), key=lambda name: name.encode())


class Project:
    """All servers and subjects."""

    def __init__(self, cluster: Row) -> None:
        self.options = {**OPTIONS, **cluster.get("options", {})}
        self.warm_until: list[tuple[int, Row]] = []
        self.rows: list[Row] = [{**DEFAULTS, **row} for row in cluster["subscriber"]]
        self.types: list[Row] = [
            {"present": True, "mode": "none", **row} for row in cluster.get("message_type", [])
        ]
        self.subjects = {row["subject"] for row in self.rows}
        self.lists: dict[tuple[str | None, str], List] = {
            (None, subject): List() for subject in self.subjects
        }
        """By server and subject; None: a server that nobody has published at yet."""
        for row in self.rows:
            if in_list(row):
                self.everywhere(row, "join")

    def own_list(self, server: str, subject: str) -> List:
        """A server's list of a subject."""
        if (server, subject) not in self.lists:
            self.lists[server, subject] = deepcopy(self.lists[None, subject])
        return self.lists[server, subject]

    def add(self, row: Row) -> None:
        """One joins whom the file does not list."""
        self.rows.append({**DEFAULTS, **row})
        self.subjects.add(row["subject"])
        self.lists.setdefault((None, row["subject"]), List())
        self.everywhere(row, "join" if in_list(self.rows[-1]) else "ignore")

    def remove(self, row: Row) -> None:
        """One leaves for good."""
        self.give(row, "present", False)
        self.warm_until = [each for each in self.warm_until if each[1] is not row]
        self.rows = [each for each in self.rows if each is not row]

    def everywhere(self, row: Row, what: str) -> None:
        for (_, subject), each in self.lists.items():
            if subject == row["subject"]:
                getattr(each, what)(row["name"])

    def objects(self) -> list[Row]:
        """Everything that a change can name."""
        types = [{"name": row["name"], "kind": "message_type"} for row in self.types]
        return types + [{**row, "kind": "subscriber"} for row in self.rows]

    def find(self, target: str) -> Row:
        """The one object that a change's target names."""
        meant = [
            row for row in self.types if target in (row["name"], f"message_type:{row['name']}")
        ]
        for row in self.rows:
            full = f"subscriber:{row['name']}@{row['subject']}"
            if target in (row["name"], f"subscriber:{row['name']}", full):
                meant.append(row)
        if len(meant) != 1:
            raise ValueError(f"{len(meant)} objects are called {target!r}")
        return meant[0]

    def change(self, target: str, attribute: str, value: Any, now: int) -> list[Row]:
        """Make a change; returns the subscriber, if what it holds is lost by this."""
        row = self.find(target)
        fails = attribute == "state" and value == "failed"
        if attribute == "state":
            attribute, value = "connected", value == "up" or self.after_failure(row, now)
        if attribute in ("present", "load_balanced") or value in (True, False, "true", "false"):
            value = truth(value)
        self.give(row, attribute, value)
        if row.get("connected", "") == "warm":
            return []
        remembered = any(each[1] is row for each in self.warm_until)
        self.warm_until = [each for each in self.warm_until if each[1] is not row]
        return [row] if fails or (remembered and not row["connected"]) else []

    def after_failure(self, row: Row, now: int) -> Any:
        """Warm for a while, if that is its disconnect mode and it was there; else gone."""
        seconds = self.options["reconnect_timeout"]
        reroute = self.options["on_receiver_failure"] == "reroute"
        if not (row["disconnect_mode"] == "warm" and seconds and reroute and remembered(row)):
            return False
        if not any(each[1] is row for each in self.warm_until):
            self.warm_until.append((now + seconds * 1_000_000, row))
        return "warm"

    def time_out(self, now: int) -> list[Row]:
        """Who has not come back by now is gone; returns those."""
        late = [row for until, row in self.warm_until if until <= now]
        self.warm_until = [each for each in self.warm_until if each[0] > now]
        for row in late:
            self.give(row, "connected", False)
        return late

    def give(self, row: Row, attribute: str, value: Any) -> None:
        before = row in self.rows and in_list(row)
        row[attribute] = value
        after = row in self.rows and in_list(row)
        if before != after:
            self.everywhere(row, "join" if after else "leave")

    def subject_of(self, message: Row) -> str:
        given = text(message.get("subject"))
        return next(iter(self.subjects)) if not given and len(self.subjects) == 1 else given

    def mode_of(self, message: Row) -> str:
        given = text(message.get("mode"))
        of_type = [
            row["mode"]
            for row in self.types
            if row["present"] and row["name"] == text(message.get("type"))
        ]
        return given or (of_type[0] if of_type else "none")

    def publish(self, message: Row) -> tuple[str, list[str], str | None]:
        """The outcome, who gets it, and who of them was chosen (or is the first)."""
        mode = self.mode_of(message)
        guaranteed = message.get("delivery") in ("some", "all")
        if mode == "weighted" and not guaranteed:
            return "refused", [], None
        subject = self.subject_of(message)
        known = [row for row in self.rows if row["subject"] == subject and remembered(row)]
        if not known:
            return NO_DESTINATION, [], None
        all_warm = all(row["connected"] == "warm" for row in known)
        reached = known if all_warm else [row for row in known if row["connected"] != "warm"]
        balanced = {row["name"] for row in reached if row["load_balanced"]}
        own = self.own_list(text(message.get("server")), subject)
        lost = all_warm and not guaranteed
        if mode == "none":
            if guaranteed:
                for name in balanced:
                    own.pending[name] += 1
            names = [] if lost else by_name(reached)
            return ("lost", [], None) if lost else (ROUTED, names, names[0])
        chosen = [own.choose(mode, balanced)] if balanced else []
        if lost:
            return "lost", [], None
        if guaranteed:
            for name in chosen:
                own.pending[name] += 1
        overriders = [row for row in reached if not row["load_balanced"]]
        names = sorted([*chosen, *by_name(overriders)], key=lambda name: name.encode())
        return ROUTED, names, (chosen or names)[0]
