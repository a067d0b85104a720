"""Commit: how far a stream has come, in one small file that is replaced in one step.

    OUT/stream.json              the commit: everything that the next micro-batch begins with
    OUT/decisions/batch=N/       what micro-batch N decided
    OUT/rejected/batch=N/        its rows that are no messages
    OUT/batches/N.json           with what it was decided: plan, classes, blocks, states, files
    OUT/state/                   ids, groups and counts that are remembered
    OUT/handed.json              up to which micro-batch the user's own function has had them
    OUT/checkpoint/              Spark's own: which messages belong to which micro-batch
    OUT/summary.json             all micro-batches so far, and OUT/report.html the page about them
    OUT/.making/                 a micro-batch that is not committed yet

What `stream.json` does not count is not there: readers look at micro-batches up to its `batch`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.errors import OutputError, UserError
from fairlead.runs.constants import MALFORMED
from fairlead.runs.paths import on_this_machine
from fairlead.runs.staging import sync

COMMIT: Final = "stream.json"
HANDED: Final = "handed.json"
MAKING: Final = ".making"
LOCK: Final = ".lock"
CHECKPOINT: Final = "checkpoint"
METADATA: Final = "metadata"
"""Of Spark's checkpoint: the id of its query."""
FORMAT: Final = 1
NONE: Final = -1
PARTS: Final = ("decisions", "rejected", "state/ids", "state/groups", "state/counts")
"""What a micro-batch may have a folder of its own in."""
BATCHES: Final = "batches"
OURS: Final = frozenset({HANDED, CHECKPOINT, BATCHES, *(part.split("/")[0] for part in PARTS)})
"""What a stream writes wherever it is, until it is committed."""


class Remembered(msgspec.Struct, frozen=True):
    """Ids that are remembered, in one folder."""

    batch: int
    """The micro-batch that wrote it."""
    rows: int
    last: int
    """The clock when the last of them was seen."""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """How far a stream has come. Times in microseconds."""

    format: int = FORMAT
    checkpoint: str = ""
    """The id of Spark's checkpoint that the micro-batches are numbered by."""
    batch: int = NONE
    """The last micro-batch that is whole."""
    clusters: list[dict[str, Any]]
    """As their files say, each with `name` and `tables`."""
    options: dict[str, Any]
    """What must be the same for all micro-batches."""
    given: list[dict[str, Any]] = []
    """The changes as they were read."""
    changes: list[dict[str, Any]] = []
    """The same with the times from which they hold: one that comes late holds for what follows."""
    columns: list[list[str]] = []
    """Names and types of the messages' columns, as the first micro-batch had them."""
    decided: str = ""
    """Names and types of the decisions' columns, as Spark writes them down; "" before the first."""
    carried: dict[str, Any] = {}
    """Where clusters and streams of messages stand."""
    clock: int | None = None
    ids: list[Remembered] = []
    groups: bool = False
    """Whether bindings are remembered."""
    arrivals: int = 0
    """How many messages have been decided."""
    read: int = 0
    rejected: int = 0
    rejections: dict[str, int] = {}
    unknown_clusters: dict[str, int] = {}
    messages: dict[int, int] = {}
    """By version."""
    width: int = 0
    """Of the bins in which decisions are counted."""
    first: int | None = None
    last: int | None = None
    """The times of the first and the last message."""


class StreamFolder:
    """The folder of a stream's results."""

    def __init__(self, out: Path) -> None:
        """`out`: OUT; it may not be there yet."""
        self.out = out

    def path(self, *parts: str) -> Path:
        """Something in the folder."""
        return self.out.joinpath(*parts)

    def making(self, part: str) -> str:
        """Where the micro-batch in the making has a part."""
        return on_this_machine(self.path(MAKING, part))

    def of(self, part: str, batch: int) -> Path:
        """Where a micro-batch has a part."""
        return self.path(part, f"batch={batch}")

    def at(self, part: str, batch: int) -> str:
        """The same, as Spark takes it."""
        return on_this_machine(self.of(part, batch))

    def has(self, part: str, batch: int) -> bool:
        """Whether a micro-batch has a part."""
        return self.of(part, batch).is_dir()

    def carry_over(self, part: str, batch: int) -> None:
        """Let the micro-batch in the making have a part as an earlier one has it."""
        shutil.copytree(self.of(part, batch), self.path(MAKING, part))

    @property
    def checkpoint(self) -> str:
        """Spark's checkpoint, as Spark takes it."""
        return on_this_machine(self.path(CHECKPOINT))

    def checkpoint_id(self) -> str:
        """The id of Spark's checkpoint; "" where there is none. Raises OutputError."""
        place = self.path(CHECKPOINT, METADATA)
        return query_id(place.read_bytes(), str(place)) if place.is_file() else ""

    def manifest(self, batch: int) -> dict[str, Any]:
        """With what a micro-batch was decided. Raises UserError."""
        place = self.path(BATCHES, f"{batch}.json")
        try:
            content: dict[str, Any] = json.loads(place.read_bytes())
        except (OSError, ValueError):
            raise UserError(
                f"{place}: found what this version did not write, or not whole, allowed: as a "
                "stream of dispatch writes it"
            ) from None
        return content

    def commit(self) -> Commit | None:
        """How far the stream has come; None where it has not begun. Raises OutputError."""
        place = self.path(COMMIT)
        try:
            record = msgspec.json.decode(place.read_bytes(), type=Commit)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError:
            record = None
        if record is None or record.format != FORMAT:
            raise unknown_version(str(place))
        return record

    def strangers(self) -> bool:
        """Whether the folder has something that no stream wrote."""
        ours = OURS | {COMMIT, MAKING, LOCK}
        return self.out.is_dir() and any(file.name not in ours for file in self.out.iterdir())

    def committed(self, part: str, commit: Commit) -> dict[int, Path]:
        """Where the micro-batches that are whole have a part, by their numbers."""
        every = {batch: self.of(part, batch) for batch in range(commit.batch + 1)}
        return {batch: place for batch, place in every.items() if place.is_dir()}

    def handed(self) -> int:
        """The last micro-batch that the user's own function has had. Raises OutputError."""
        place = self.path(HANDED)
        return handed_in(place.read_bytes(), str(place)) if place.exists() else NONE

    def hand(self, batch: int) -> None:
        """Write down that the user's own function has had a micro-batch."""
        self.write_json(HANDED, {"batch": batch})

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a small file in one step."""
        self.write_text(name, as_json(content))

    def write_text(self, name: str, content: str) -> None:
        """The same."""
        _write(self.path(name), content.encode())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes here. Raises OutputError where somebody does, or nobody can."""
        try:
            self.out.mkdir(exist_ok=True)
            handle = os.open(self.path(LOCK), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise OutputError(f"{self.out}: cannot write there: {error.strerror}") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OutputError(
                    f"{self.out}: found another process that writes to this stream, allowed: one"
                ) from None
            yield
        finally:
            os.close(handle)

    def check_alone(self) -> None:
        """Nothing: the lock of a process that lives is its own."""

    def begin(self) -> None:
        """Make room for a micro-batch; what a killed one left goes."""
        shutil.rmtree(self.path(MAKING), ignore_errors=True)
        self.path(MAKING).mkdir()

    def finish(self, commit: Commit, manifest: Mapping[str, Any]) -> None:
        """Put a whole micro-batch into its place, and say so in one step."""
        made = self.path(MAKING)
        for file in made.rglob("*"):
            if file.is_file():
                sync(file)
        _write(self.path(BATCHES, f"{commit.batch}.json"), json.dumps(manifest).encode())
        for part in PARTS:
            if (made / part).exists():
                place = self.of(part, commit.batch)
                # Of a micro-batch that was killed here before, and is made again.
                shutil.rmtree(place, ignore_errors=True)
                place.parent.mkdir(parents=True, exist_ok=True)
                (made / part).rename(place)
                sync(place.parent)
        _write(self.path(COMMIT), msgspec.json.encode(commit))
        shutil.rmtree(made, ignore_errors=True)

    def forget(self, commit: Commit) -> None:
        """Remove what no later micro-batch looks at."""
        batches = {f"batch={entry.batch}" for entry in commit.ids}
        latest = {f"batch={commit.batch}"}
        for part, names in (
            ("state/ids", batches),
            ("state/groups", latest),
            ("state/counts", latest),
        ):
            place = self.path(part)
            for folder in place.iterdir() if place.is_dir() else ():
                if folder.name not in names:
                    shutil.rmtree(folder, ignore_errors=True)


def query_id(metadata: bytes, place: str) -> str:
    """The id that is in METADATA. Raises OutputError."""
    try:
        return str(json.loads(metadata)["id"])
    except (ValueError, KeyError, TypeError):
        raise OutputError(
            f"{place}: found what Spark did not write, or not whole, allowed: the checkpoint "
            "with which the stream began"
        ) from None


def handed_in(content: bytes, place: str) -> int:
    """The number that is in HANDED. Raises OutputError."""
    try:
        return int(json.loads(content)["batch"])
    except (ValueError, KeyError, TypeError):
        raise unknown_version(place) from None


def unknown_version(place: str) -> OutputError:
    """That a file of a stream is none of this version's."""
    return OutputError(
        f"{place}: found what this version did not write, allowed: as a stream of dispatch writes "
        "it"
    )


def as_json(content: Mapping[str, Any]) -> str:
    """A small file's text."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(exist_ok=True)
    beside = place.with_name(f".{place.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(place)
    sync(place.parent)


def typed_columns(schema: Sequence[Any]) -> list[list[str]]:
    """Names and types, as they are compared between micro-batches.

    Whether a line is no row says nothing of the others.
    """
    return [
        [field.name, field.dataType.simpleString()] for field in schema if field.name != MALFORMED
    ]
