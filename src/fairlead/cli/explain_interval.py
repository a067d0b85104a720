"""What happened at a device between two times, as its journal has it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from fairlead.balance.change import FAILED, PRESENT, STATE, UP
from fairlead.balance.objects import on_one_line
from fairlead.cli.show import console
from fairlead.config.clusters import load_clusters
from fairlead.config.moments import is_time, moment
from fairlead.errors import UserError
from fairlead.sockets.folder import CHANGES, CLUSTER, MESSAGES
from fairlead.sockets.ring import CAPACITY

Row = dict[str, Any]
BUSY: Final = "busy"
DAY: Final = timedelta(days=1).total_seconds()


class DestinationPeriod:
    """How it stands with one destination."""

    def __init__(self, table: Row) -> None:
        """It is not there."""
        self.said = {key: value for key, value in table.items() if key not in (PRESENT, STATE)}
        self.up = False
        self.present = False
        self.since = 0.0
        """When it came or went; 0: never."""
        self.others: dict[str, tuple[object, float]] = {}
        """What else was changed, and when."""

    @property
    def capacity(self) -> int:
        """Requests that it may have at once; 0: any number."""
        value, _ = self.others.get(CAPACITY, (self.said.get(CAPACITY, 0), 0.0))
        return value if isinstance(value, int) else 0

    def change(self, attribute: str, value: object, at: float) -> str:
        """Take over a change; in words, what it means. "": that it was busy, or is no more."""
        if attribute == STATE:
            up = value == UP[0]
            if up == self.up:
                return ""
            self.up, self.since = up, at
            return "has joined" if up else "has gone, or hangs"
        if attribute == PRESENT:
            was, self.present = self.present, value is True
            return BUSY if was and not self.present and self.up else ""
        if self.said.get(attribute) == value and attribute not in self.others:
            return ""
        self.others[attribute] = value, at
        return f"{attribute} = {json.dumps(value)}"

    def in_words(self, name: str) -> str:
        """What somebody who asks why it gets nothing has to know."""
        priority = f", priority {self.said['priority']}" if "priority" in self.said else ""
        state = "up" if self.up else "gone"
        since = f" since {clock(self.since)}" if self.since else ", never there"
        more = [f"{key} = {json.dumps(value)}" for key, (value, _) in self.others.items()]
        return f"{name} {state}{since}{priority}" + "".join(f", {part}" for part in more)


class ChoicePeriod(NamedTuple):
    """What was decided between two changes that matter."""

    begin: float
    given: Counter[str]
    again: int
    slowest: float
    busy: Counter[str]
    """How often the transport to one was full, or a device there."""
    full: dict[str, float]
    """In which part of the time one had as many requests as its capacity."""


def explain_between(folder: Path, begin: str, end: str) -> None:
    """Print it. Raises UserError."""
    out = console()
    for line in story(folder, begin, end):
        out.print(on_one_line(line), markup=False, highlight=False, soft_wrap=True)


class Record:
    """One journal: what a device wrote from its start until its end."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError for none, or one that cannot be read."""
        self.folder = folder
        (self.cluster,) = load_clusters(folder / CLUSTER)
        self.changes = sorted(_rows(folder / CHANGES), key=lambda row: row["time"])
        self.messages = sorted(_rows(folder / MESSAGES), key=lambda row: row["time"])
        rows = [*self.changes, *self.messages]
        self.begin: float = min((row["time"] for row in rows), default=0.0)
        self.end: float = max((_end_of(row) for row in rows), default=0.0)

    def story(self, first: float, last: float) -> Iterator[str]:
        """What it says of these times."""
        peers = {
            table["name"]: DestinationPeriod(table)
            for table in self.cluster.to_dict()["destination"]
        }
        for row in self.changes:
            if row["time"] < first:
                _changed(peers, row)
        inside = [row for row in self.changes if first <= row["time"] < last]
        requests = [row for row in self.messages if first <= row["time"] < last]
        begin, end = max(first, self.begin), min(last, self.end)
        yield f"{clock(begin)} to {clock(end)}, {self.cluster.name}: {len(requests)} requests"
        if first < self.begin:
            yield f"  the journal {self.folder} begins here"
        yield from (f"  {peer.in_words(name)}" for name, peer in peers.items())
        yield from _changes_and_requests(peers, inside, requests, begin, end)
        if self.end < last:
            yield f"{clock(self.end)} the journal {self.folder} ends here"


def story(folder: Path, begin: str, end: str) -> list[str]:
    """A line for each change, and one for the requests between two. Raises UserError.

    A device that was started several times with a folder has a journal for each start in it.
    """
    numbered = sorted(
        (path for path in folder.glob("*") if path.name.isdecimal() and (path / CLUSTER).exists()),
        key=lambda each: int(each.name),
    )
    records = [record for record in map(Record, (folder, *numbered)) if record.end]
    if not records:
        raise UserError(f"{folder}: found no row, allowed: a journal with some")
    latest = max(record.end for record in records)
    first, last = moment("--between", begin, latest), moment("--between", end, latest)
    if last < first and is_time(end) and first - last > DAY / 2:
        last += DAY  # over midnight
    if last <= first:
        raise UserError(f"--between: found {begin} {end}, allowed: the earlier time first")
    overlaps = [record for record in records if record.begin < last and record.end >= first]
    if not overlaps:
        spans = [f"{clock(record.begin)} to {clock(record.end)}" for record in records]
        raise UserError(
            f"{folder}: --between: found {clock(first)} to {clock(last)}, allowed: a time of which "
            f"it has rows: {', '.join(spans)}"
        )
    return [line for record in overlaps for line in record.story(first, last)]


def _end_of(row: Row) -> float:
    """When a change was made, or a request had its reply."""
    at: float = row["time"] + row.get("service_time", 0.0)
    return at


def _changes_and_requests(
    peers: dict[str, DestinationPeriod],
    changes: list[Row],
    asked: list[Row],
    at: float,
    until: float,
) -> Iterator[str]:
    busy: Counter[str] = Counter()
    place = 0
    for row in changes:
        name, words = _changed(peers, row)
        if words == BUSY:
            busy[name] += 1
        elif words:
            end = place
            while end < len(asked) and asked[end]["time"] < row["time"]:
                end += 1
            yield from _requests(_period(peers, at, row["time"], asked[place:end], busy))
            place, at, busy = end, row["time"], Counter()
            yield f"{clock(at)} {name} {words}"
    yield from _requests(_period(peers, at, until, asked[place:], busy))


def _period(
    peers: dict[str, DestinationPeriod],
    begin: float,
    end: float,
    rows: list[Row],
    busy: Counter[str],
) -> ChoicePeriod:
    counts = Counter(row["destination"] for row in rows)
    again = sum(1 for row in rows if row["attempt"] > 1)
    slowest = max((row["service_time"] for row in rows), default=0.0)
    full = {
        name: share
        for name in counts
        if (share := _full(rows, name, peers[name].capacity, end) / max(end - begin, 1e-6)) >= 0.01
    }
    return ChoicePeriod(begin, counts, again, slowest, busy, full)


def _full(rows: list[Row], name: str, capacity: int, end: float) -> float:
    """Seconds in which a destination had as many of these requests as it may have."""
    if not capacity:
        return 0.0
    steps = []
    for row in rows:
        if row["destination"] == name:
            steps += [(row["time"], 1), (row["time"] + row["service_time"], -1)]
    has, since, seconds = 0, 0.0, 0.0
    for at, more in sorted(steps):
        if has >= capacity:
            seconds += max(0.0, min(at, end) - since)
        has, since = has + more, at
    return seconds


def _requests(period: ChoicePeriod) -> Iterator[str]:
    if period.given:
        shares = ", ".join(f"{name} {count}" for name, count in period.given.most_common())
        again = f", {period.again} of them once more" if period.again else ""
        often = [f"{name} {count} times" for name, count in period.busy.most_common()]
        busy = f"; busy: {', '.join(often)}" if often else ""
        all_used = [f"{name} {share:.0%} of the time" for name, share in period.full.items()]
        busy += f"; at capacity: {', '.join(all_used)}" if all_used else ""
        slowest = f"; the slowest took {period.slowest:.3f} s"
        yield f"{clock(period.begin)}   requests: {shares}{again}{slowest}{busy}"


def _changed(peers: dict[str, DestinationPeriod], row: Row) -> tuple[str, str]:
    name = row["target"].partition(":")[2]
    peer = peers.get(name)
    if peer is None:
        return name, ""
    if row["attribute"] == STATE and row["value"] == FAILED:
        return name, peer.change(STATE, FAILED, row["time"])
    return name, peer.change(row["attribute"], row["value"], row["time"])


def _rows(file: Path) -> Iterator[Row]:
    """The whole lines of a table; the last may be one that a killed process began."""
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise UserError(f"{file}: row {number}: found no JSON, allowed: a journal") from None


def clock(at: float) -> str:
    """A moment, as the log of a device has it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
