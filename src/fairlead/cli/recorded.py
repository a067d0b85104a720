"""A cluster of a store in place of MESSAGES: what it has decided, for as long as a command runs."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fairlead.cli.arguments import command_line
from fairlead.cli.options import Read, refuse_with
from fairlead.cli.store.options import opened, url_of
from fairlead.cli.table import MessagesTable
from fairlead.config.moments import moment
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.rows import without_decisions
from fairlead.runs.staging import Making, clear_dead

if TYPE_CHECKING:
    from fairlead.store.journal.events import Event
    from fairlead.store.store import Store

FOLDER: Final = "fairlead-recorded"
"""In the folder of temporary files; what a killed process left there the next one clears away."""
FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
KINDS: Final = ("decided", "taken", "accepted")
"""Events of which the rows of decisions are made."""
LOCAL: Final = "local"
"""How Spark's name for this machine begins."""
URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
SECRET: Final = "password"  # noqa: S105 - a word


class AskedStore(NamedTuple):
    """What was said of a store that is to take the place of MESSAGES."""

    store: str | None
    of: str | None
    """The cluster."""
    since: str | None
    until: str | None

    def refuse_alone(self) -> None:
        """Refuse what has no effect without --of. Raises UserError."""
        options = {"--store": self.store, "--since": self.since, "--until": self.until}
        name = next((name for name, value in options.items() if value is not None), None)
        if name is not None:
            raise UserError(f"{name}: found without --of, allowed: with --of CLUSTER")


class CommandMessages(NamedTuple):
    """Where the messages of a command are, and what goes with them."""

    where: str
    clusters: Sequence[Path]
    changes: str | None = None
    """What happened to the cluster, where the messages are those of a store."""
    name: str | None = None
    """What the messages are called, where the path says nothing."""

    def table(
        self,
        column: Sequence[str] | None,
        drop: Sequence[str] | None,
        number_rows: bool,
        input_format: Read | None,
        read_option: Sequence[str] | None,
        *,
        topics: bool = False,
    ) -> MessagesTable:
        """The table of messages, as the options say; `topics`: whether it can be one of Kafka.

        Raises UserError.
        """
        plain = MessagesTable.asked(
            self.where, column, drop, number_rows, input_format, read_option, topics=topics
        )
        return plain._replace(changes=self.changes, name=self.name)


@contextmanager
def traffic(
    messages: str | None,
    clusters: Sequence[Path],
    asked: AskedStore,
    *,
    files: Mapping[str, object],
    master: str | None = LOCAL,
) -> Iterator[CommandMessages]:
    """MESSAGES as they were given, or what a cluster of a store has decided.

    The latter is written to files, which are gone at the end of the block. `clusters`: the files
    that were given; with a store that of its cluster, where none was. `files`: options that only
    MESSAGES have. `master`: where Spark works, as the options say; LOCAL: here, or not at all.
    Raises UserError, StoreError.
    """
    if asked.of is None:
        asked.refuse_alone()
        if messages is None:
            raise UserError("Missing argument 'MESSAGES', or --of CLUSTER of a --store.")
        if not clusters:
            raise UserError("Missing option '--cluster' / '-c'.")
        yield CommandMessages(messages, clusters)
        return
    with recorded(messages, asked, "MESSAGES", files=files, master=master) as recording:
        yield recording._replace(clusters=clusters) if clusters else recording


@contextmanager
def compared(
    before: str, after: str | None, asked: AskedStore, *, master: str | None
) -> Iterator[tuple[str, str, str]]:
    """Two runs that are compared, and what the first one is called.

    With a store one run is given, and what a cluster has decided is the first. Raises UserError,
    StoreError.
    """
    if asked.of is None:
        asked.refuse_alone()
        if after is None:
            raise UserError("Missing argument 'OUT_B', or --of CLUSTER of a --store.")
        yield before, after, before
    else:
        replaced = None if after is None else before
        with recorded(replaced, asked, "OUT_A", files={}, master=master) as recording:
            yield recording.where, before, str(recording.name)


@contextmanager
def recorded(
    messages: str | None,
    asked: AskedStore,
    argument: str,
    *,
    files: Mapping[str, object],
    master: str | None,
    by_time: bool = False,
) -> Iterator[CommandMessages]:
    """What a cluster of a store has decided, its changes and its file, as long as the block runs.

    `messages`: what the user named as the argument that the store replaces; None is allowed.
    `by_time`: write its messages alone, which their times order, and not `position`.
    """
    cluster = str(asked.of)
    _refuse(messages, argument, files, master)
    need("tables", "--of")
    from fairlead.cli.store.journal import start_of

    window = (*start_of(asked.since), _moment_of(asked.until))
    with _folder() as folder:
        stem = cluster if FILE_NAME.fullmatch(cluster) else FOLDER
        files_made = RecordedFiles(
            folder / f"{stem}.jsonl", folder / f"{stem}.changes.jsonl", folder / f"{stem}.toml"
        )
        with opened(asked.store) as store:
            name = f"cluster {cluster!r} of {_called(url_of(asked.store))}"
            written = _write(store, cluster, files_made, *window, by_time=by_time)
        if not written.decided:
            raise UserError(
                f"{name}: found no decision"
                f"{' of that time' if asked.since or asked.until else ''}, allowed: a cluster that "
                "has decided, as far as the journal goes back"
            )
        changes = str(files_made.changes) if written.changed else None
        yield CommandMessages(str(files_made.decisions), [files_made.cluster], changes, name)


def _refuse(
    messages: str | None, argument: str, files: Mapping[str, object], master: str | None
) -> None:
    """Refuse what cannot go with --of. Raises UserError."""
    if messages is not None:
        raise UserError(f"{argument}: found {messages!r} with --of, allowed: one of them")
    refuse_with("--of", files)
    remote = master or os.environ.get("SPARK_REMOTE", LOCAL)
    if not remote.startswith(LOCAL):
        raise UserError(
            f"--of: found with Spark at {remote}, allowed: Spark on this machine; elsewhere "
            'spark.read.format("fairlead") reads a store'
        )


def _called(url: str) -> str:
    """A store as people know it: a file as it was named, a server without user and password."""
    from fairlead.store.backends.urls import backend_of

    return backend_of(url).shown(url)


def _moment_of(until: str | None) -> float | None:
    return None if until is None else moment("--until", until, time.time())


class RecordedFiles(NamedTuple):
    """Where what a cluster has decided is written."""

    decisions: Path
    changes: Path
    cluster: Path


class RecordedRows(NamedTuple):
    """What there was to write: how many rows of each kind."""

    decided: int
    changed: int


def _write(
    store: Store,
    cluster: str,
    files: RecordedFiles,
    since: str | None,
    start: float | None,
    end: float | None,
    *,
    by_time: bool,
) -> RecordedRows:
    """Write decisions, changes and the cluster's file, as `fairlead journal` prints them.

    All of them are as of one moment: up to the event that is the latest now.
    """
    from fairlead.balance.cluster import Cluster
    from fairlead.cli.store.printing import json_lines
    from fairlead.config.written import as_toml
    from fairlead.store.journal.export import changes, decisions, with_added

    listed = Cluster.from_dict(store.pool(cluster).file, default_name=cluster)
    until = store.latest()
    happened = [*store.journal(until=until, cluster=cluster, kind="changed")]
    events: Iterable[Event] = store.journal(since, until=until, start=start, kind=KINDS)
    if end is not None:
        events = (event for event in events if event.kind != "decided" or event.time < end)
    rows = decisions(events, cluster)
    decided = _write_lines(files.decisions, json_lines(_by_time(rows) if by_time else rows))
    changed = _write_lines(files.changes, json_lines(changes(happened, cluster)))
    files.cluster.write_text(as_toml(with_added(happened, listed)), encoding="utf-8")
    return RecordedRows(decided, changed)


def _by_time(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages that decisions were about, each once, without a place of their own.

    Whatever cluster file they are for has one cluster, whose name is not said.
    """
    position = -1
    for row in rows:
        if row["position"] != position:
            names = {*without_decisions([*row])} - {"position", "cluster"}
            yield {name: value for name, value in row.items() if name in names}
        position = row["position"]


def _write_lines(file: Path, lines: Iterable[str]) -> int:
    count = 0
    with file.open("w", encoding="utf-8") as target:
        for line in lines:
            print(line, file=target)
            count += 1
    return count


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for files that nobody else may read; gone at the end of the block."""
    place = Path(tempfile.gettempdir(), FOLDER)
    clear_dead(place)
    making = Making(place)
    try:
        making.begin()
        making.folder.chmod(0o700)
        yield making.folder
    finally:
        making.clear()


def line_of(arguments: Sequence[str]) -> str:
    """The line that a page shows as the way to a run: without the password of any URL."""
    return command_line(["fairlead", *map(_without_secret, arguments)])


def _without_secret(argument: str) -> str:
    """The same URL without a password; other arguments as they are."""
    option, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", "")
    url = value if equals else argument
    if not URL.match(url):
        return argument
    try:
        parts = urlsplit(url)
    except ValueError:  # no program took it for a URL, either
        return argument
    login, at, host = parts.netloc.rpartition("@")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    shown = [pair for pair in pairs if SECRET not in pair[0]]
    if len(shown) == len(pairs) and ":" not in login:
        return argument
    query = urlencode(shown, safe="/", quote_via=quote)
    netloc = f"{login.partition(':')[0]}{at}{host}"
    return f"{option}{equals}{parts._replace(netloc=netloc, query=query).geturl()}"
