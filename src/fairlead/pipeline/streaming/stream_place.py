"""Where a stream has its results: what a micro-batch asks of the place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from fairlead.errors import OutputError
from fairlead.pipeline.output.uri_target import checked_uri
from fairlead.pipeline.streaming.stream_at_uri import StreamAtUri
from fairlead.runs.paths import local
from fairlead.runs.stream_folder import Commit, StreamFolder


class StreamPlace(Protocol):
    """A folder of this machine, or one at a URI."""

    @property
    def out(self) -> Path | str:
        """OUT, as it is named in errors."""

    @property
    def checkpoint(self) -> str:
        """Spark's checkpoint, as Spark takes it."""

    def checkpoint_id(self) -> str:
        """The id of Spark's checkpoint; "" where there is none."""

    def commit(self) -> Commit | None:
        """How far the stream has come; None where it has not begun."""

    def strangers(self) -> bool:
        """Whether the folder has something that no stream wrote."""

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else writes here meanwhile."""

    def check_alone(self) -> None:
        """Make sure that nobody has taken the place meanwhile."""

    def at(self, part: str, batch: int) -> str:
        """Where a micro-batch has a part, as Spark takes it."""

    def has(self, part: str, batch: int) -> bool:
        """Whether a micro-batch has a part."""

    def begin(self) -> None:
        """Make room for a micro-batch."""

    def making(self, part: str) -> str:
        """Where the micro-batch in the making has a part, as Spark takes it."""

    def carry_over(self, part: str, batch: int) -> None:
        """Let the micro-batch in the making have a part as an earlier one has it."""

    def finish(self, commit: Commit, manifest: Mapping[str, Any]) -> None:
        """Say in one step that a micro-batch is whole."""

    def forget(self, commit: Commit) -> None:
        """Remove what no later micro-batch looks at."""

    def handed(self) -> int:
        """The last micro-batch that the user's own function has had."""

    def hand(self, batch: int) -> None:
        """Write down that the user's own function has had a micro-batch."""

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a small file in one step."""

    def write_text(self, name: str, content: str) -> None:
        """The same."""


def place_of(spark: SparkSession, out: str) -> StreamPlace:
    """Where the results of a stream go. Raises OutputError."""
    place = local(out)
    return StreamAtUri(spark, checked_uri(out)) if place is None else folder_at(out, place)


def folder_at(out: str, place: Path) -> StreamFolder:
    """A folder of this machine. Raises OutputError."""
    place = place.resolve()
    if not place.parent.is_dir():
        raise OutputError(f"{out}: the folder {place.parent} does not exist")
    return StreamFolder(place)
