"""What happened at a device between two times, as its journal has it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from fairlead.balance.change import FAILED, PRESENT, STATE, UP
from fairlead.balance.objects import on_one_line
from fairlead.cli.show import console
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.sockets.folder import CHANGES, CLUSTER, MESSAGES

Row = dict[str, Any]
ALLOWED: Final = "allowed: HH:MM, HH:MM:SS or YYYY-MM-DDTHH:MM:SS, in UTC"
BUSY: Final = "busy"


class Peer:
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
        return f"{name} {state}{since}{priority}" + "".join(f", {each}" for each in more)


class Stretch(NamedTuple):
    """What was decided between two changes that matter."""

    begin: float
    given: Counter[str]
    again: int
    slowest: float
    busy: Counter[str]


def explain_between(folder: Path, begin: str, end: str) -> None:
    """Print it. Raises UserError."""
    out = console()
    for line in story(folder, begin, end):
        out.print(on_one_line(line), markup=False, highlight=False, soft_wrap=True)


def story(folder: Path, begin: str, end: str) -> list[str]:
    """A line for each change, and one for the requests between two. Raises UserError."""
    (cluster,) = load_clusters(folder / CLUSTER)
    changes, messages = ([*_rows(folder / name)] for name in (CHANGES, MESSAGES))
    changes.sort(key=lambda row: row["time"])
    messages.sort(key=lambda row: row["time"])
    times = [rows[-1]["time"] for rows in (changes, messages) if rows]
    if not times:
        raise UserError(f"{folder}: found no row, allowed: a journal with some")
    first = moment("--between", begin, max(times))
    last = moment("--between", end, max(times))
    if last < first and _is_time(end):
        last += timedelta(days=1).total_seconds()
    if last <= first:
        raise UserError(f"--between: found {begin} {end}, allowed: the earlier time first")
    peers = {table["name"]: Peer(table) for table in cluster.to_dict()["destination"]}
    for row in changes:
        if row["time"] < first:
            _changed(peers, row)
    inside = [row for row in changes if first <= row["time"] < last]
    asked = [row for row in messages if first <= row["time"] < last]
    lines = [f"{clock(first)} to {clock(last)}, {cluster.name}: {len(asked)} requests"]
    lines += [f"  {peer.in_words(name)}" for name, peer in peers.items()]
    return [*lines, *_told(peers, inside, asked, first)]


def _told(peers: dict[str, Peer], changes: list[Row], asked: list[Row], at: float) -> Iterator[str]:
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
            yield from _requests(Stretch(at, *_counted(asked[place:end]), busy))
            place, at, busy = end, row["time"], Counter()
            yield f"{clock(at)} {name} {words}"
    yield from _requests(Stretch(at, *_counted(asked[place:]), busy))


def _counted(rows: list[Row]) -> tuple[Counter[str], int, float]:
    given = Counter(row["destination"] for row in rows)
    again = sum(1 for row in rows if row["attempt"] > 1)
    return given, again, max((row["service_time"] for row in rows), default=0.0)


def _requests(found: Stretch) -> Iterator[str]:
    if found.given:
        shares = ", ".join(f"{name} {count}" for name, count in found.given.most_common())
        again = f", {found.again} of them once more" if found.again else ""
        full = [f"{name} {count} times" for name, count in found.busy.most_common()]
        busy = f"; busy: {', '.join(full)}" if full else ""
        slowest = f"; the slowest took {found.slowest:.3f} s"
        yield f"{clock(found.begin)}   requests: {shares}{again}{slowest}{busy}"


def _changed(peers: dict[str, Peer], row: Row) -> tuple[str, str]:
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


def moment(option: str, found: str, latest: float) -> float:
    """A time as it was given; one without a day is the last such before the journal ends."""
    try:
        if _is_time(found):
            day = datetime.fromtimestamp(latest, UTC)
            at = datetime.combine(day.date(), time.fromisoformat(found), UTC)
            return (at if at.timestamp() <= latest else at - timedelta(days=1)).timestamp()
        given = datetime.fromisoformat(found)
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UserError(f"{option}: found {found!r}, {ALLOWED}") from None


def _is_time(found: str) -> bool:
    return "-" not in found and ":" in found


def clock(at: float) -> str:
    """A moment, as the log of a device has it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
