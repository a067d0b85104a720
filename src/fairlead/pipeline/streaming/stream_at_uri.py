"""The folder of a stream in an object store, where nothing is renamed and no file is locked.

    OUT/_writing.json                      while a process writes there: which one
    OUT/commits/N.json                     micro-batch N is whole; written where it is not there
    OUT/decisions/batch=N-1f2e3d4c/        what micro-batch N decided, by the process of that name
    OUT/rejected/…, state/…, batches/…     as on this machine, with such names
    OUT/checkpoint/  handed.json  summary.json  report.html

Of two processes that make one micro-batch each has folders of its own, and one can write the
commit, which names its writers. So a process that was thought dead, and is not, changes nothing
that counts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fairlead.errors import OutputError
from fairlead.pipeline.output import claim as claims
from fairlead.pipeline.spark.hadoop import HadoopPath, reading_there
from fairlead.runs.disk_full import writing
from fairlead.runs.paths import CLAIM
from fairlead.runs.stream_folder import (
    BATCHES,
    CHECKPOINT,
    FORMAT,
    HANDED,
    METADATA,
    NONE,
    OURS,
    PARTS,
    Commit,
    as_json,
    handed_in,
    query_id,
    unknown_version,
)

COMMITS: Final = "commits"
NUMBERED: Final = re.compile(r"(\d+)\.json")
OF_WRITER: Final = re.compile(r"batch=(\d+)-[0-9a-f]+")


class Writer(msgspec.Struct, frozen=True):
    """A process that has committed micro-batches."""

    first: int
    """The first of them; they go on to the first of the next writer."""
    token: str


class CommitAtUri(msgspec.Struct, frozen=True):
    """What a file of COMMITS has."""

    writers: list[Writer]
    commit: Commit


class StreamAtUri:
    """The folder of a stream's results at a URI. Its methods raise OutputError."""

    def __init__(self, spark: SparkSession, out: str) -> None:
        """`out`: OUT; it may not be there yet. Raises EnvironmentProblem under Spark Connect."""
        self.out = out.rstrip("/")
        with reading_there(self.out):
            self._folder = HadoopPath(spark, self.out)
        self._claim: claims.RunClaim | None = None
        self._writers: list[Writer] = []
        self._next = 0
        """The micro-batch that is in the making, or the next one that will be."""
        self._cleared = False

    @property
    def checkpoint(self) -> str:
        """Spark's checkpoint."""
        return str(self._folder / CHECKPOINT)

    def checkpoint_id(self) -> str:
        """The id of Spark's checkpoint; "" where there is none."""
        place = self._folder / CHECKPOINT / METADATA
        content = self._content(place)
        return "" if content is None else query_id(content, str(place))

    def commit(self) -> Commit | None:
        """How far the stream has come; None where it has not begun."""
        numbers = [
            int(match[1]) for match in map(NUMBERED.fullmatch, self._names(COMMITS)) if match
        ]
        if not numbers:
            return None
        place = self._folder / COMMITS / f"{max(numbers)}.json"
        try:
            record = msgspec.json.decode(self._content(place) or b"", type=CommitAtUri)
        except msgspec.MsgspecError:
            record = None
        if record is None or record.commit.format != FORMAT:
            raise unknown_version(str(place))
        self._writers, self._next = record.writers, record.commit.batch + 1
        return record.commit

    def committed(self, part: str, commit: Commit) -> dict[int, str]:
        """Where the micro-batches that are whole have a part, by their numbers."""
        names = {*self._names(part)}
        return {
            batch: self.at(part, batch)
            for batch in range(commit.batch + 1)
            if self._name(batch) in names
        }

    def manifest(self, batch: int) -> HadoopPath:
        """The file that says with what a micro-batch was decided."""
        return self._folder / BATCHES / f"{self._name(batch).removeprefix('batch=')}.json"

    def strangers(self) -> bool:
        """Whether the folder has something that no stream wrote."""
        return bool({*self._names()} - OURS - {CLAIM, COMMITS})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes here; raises OutputError where somebody does, or nobody can."""
        place = self._folder / CLAIM
        with writing(self.out):
            if not place.is_created_in_one_step():
                raise OutputError(
                    f"{self.out}: found a file system on which no stream commits, allowed: one of "
                    "this machine, or S3 that looks whether a file is there as it writes it "
                    "(fs.s3a.create.conditional.enabled)"
                )
            if place.exists():
                claims.clear_dead(place, self.out)
            self._claim = claims.take(place, self.out)
        try:
            yield
        finally:
            # A session that has ended cannot clear away; the next process does.
            with suppress(Py4JError, ConnectionError, OSError, OutputError):
                claims.check(self._claim, place, self.out)
                place.delete()
            self._claim = None

    def check_alone(self) -> None:
        """Make sure that nobody has taken the place meanwhile."""
        with reading_there(self.out):
            claims.check(self._owner(), self._folder / CLAIM, self.out)

    def at(self, part: str, batch: int) -> str:
        """Where a micro-batch has a part."""
        return f"{self._folder}/{part}/{self._name(batch)}"

    def has(self, part: str, batch: int) -> bool:
        """Whether a micro-batch has a part."""
        with reading_there(self.out):
            return (self._folder / part / self._name(batch)).exists()

    def begin(self) -> None:
        """Nothing: the micro-batch gets folders of its own."""

    def making(self, part: str) -> str:
        """Where the micro-batch in the making has a part."""
        return f"{self._folder}/{part}/{self._name(self._next)}"

    def carry_over(self, part: str, batch: int) -> None:
        """Let the micro-batch in the making have a part as an earlier one has it."""
        names = self._folder / part
        (names / self._name(batch)).copy_beside(names / self._name(self._next))

    def finish(self, commit: Commit, manifest: Mapping[str, Any]) -> None:
        """Say that a micro-batch is whole, unless somebody else has said it."""
        claim = self._owner()
        self.manifest(commit.batch).replace(json.dumps(manifest).encode())
        record = CommitAtUri(self._writers, commit)
        if not self._writers or self._writers[-1].token != claim.token:
            record = CommitAtUri([*self._writers, Writer(commit.batch, claim.token)], commit)
        content, place = (
            msgspec.json.encode(record),
            self._folder / COMMITS / f"{commit.batch}.json",
        )
        self.check_alone()
        try:
            place.create(content)
        except FileExistsError:
            # The answer to the first try may have been lost on its way.
            if place.read() != content:
                raise OutputError(
                    f"{self.out}: found micro-batch {commit.batch}, which another process has "
                    "committed meanwhile"
                ) from None
        self._writers, self._next = record.writers, commit.batch + 1

    def forget(self, commit: Commit) -> None:
        """Remove what no later micro-batch looks at, and what killed processes left."""
        with writing(self.out):
            ids = {self._name(entry.batch) for entry in commit.ids}
            latest = {self._name(commit.batch)}
            for part, names in (
                ("state/ids", ids),
                ("state/groups", latest),
                ("state/counts", latest),
            ):
                self._delete(part, {*self._names(part)} - names)
            if self._cleared:
                return
            self._cleared = True
            for part in PARTS:
                if part.startswith("state/"):
                    continue
                self._delete(part, filter(self._is_left, self._names(part)))

    def handed(self) -> int:
        """The last micro-batch that the user's own function has had."""
        place = self._folder / HANDED
        content = self._content(place)
        return NONE if content is None else handed_in(content, str(place))

    def hand(self, batch: int) -> None:
        """Write down that the user's own function has had a micro-batch."""
        self.write_json(HANDED, {"batch": batch})

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a small file in one step."""
        self.write_text(name, as_json(content))

    def write_text(self, name: str, content: str) -> None:
        """The same."""
        with writing(self.out):
            (self._folder / name).replace(content.encode())

    def _owner(self) -> claims.RunClaim:
        if self._claim is None:
            raise OutputError(f"{self.out}: found no claim, allowed: after `alone`")
        return self._claim

    def _name(self, batch: int) -> str:
        """The folder of a micro-batch: of a committed one, or of that in the making."""
        if batch >= self._next:
            return f"batch={batch}-{self._owner().token}"
        place = bisect_right([writer.first for writer in self._writers], batch) - 1
        return f"batch={batch}-{self._writers[place].token}"

    def _is_left(self, name: str) -> bool:
        """Whether it is of a micro-batch that somebody else has committed."""
        match = OF_WRITER.fullmatch(name)
        return (
            match is not None and int(match[1]) < self._next and name != self._name(int(match[1]))
        )

    def _delete(self, part: str, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / part / name).delete()

    def _names(self, part: str = "") -> list[str]:
        """The names in a folder; none where there is no folder."""
        with reading_there(self.out):
            place = self._folder / part if part else self._folder
            try:
                return place.names()
            except FileNotFoundError:
                return []

    def _content(self, place: HadoopPath) -> bytes | None:
        with reading_there(self.out):
            try:
                return place.read()
            except FileNotFoundError:
                return None
