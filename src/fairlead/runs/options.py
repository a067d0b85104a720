"""What a run on Spark is asked for, beside its messages and its clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.results.comparison import Window
from fairlead.runs.constants import ALL_ROWS, NO_ROWS, ROWS_A_BLOCK
from fairlead.runs.progress import Progress, quiet


def in_full(rows: str, command: str | None) -> bool:
    """Whether rows or a page ask a replay for more than the numbers that are compared."""
    return rows != NO_ROWS or command is not None


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a dispatch or a replay, from the command line to the stages."""

    where: str = "messages"
    """What errors call the table: its path."""
    version: str = ""
    """Which version of a table of a catalog was read."""
    file_format: str = "parquet"
    """Of the results."""
    trust_ids: bool = False
    """Do not look for duplicate ids (dispatch)."""
    as_in_files: bool = False
    """The table comes straight from files, so rows lie together as they do there (dispatch)."""
    horizon: int | None = None
    """After so many microseconds in which nothing was seen of an id or a group it is forgotten
    (dispatch); None: never."""
    rows: str = ALL_ROWS
    """Which rows of a replay's decisions stay: all, late, none."""
    windows: Sequence[Window] = ()
    """Times of which the waits of a replay are told by themselves."""
    command: str | None = None
    """What a report shows as the way to this run; None: nobody wants a report."""
    keep: bool = False
    """Let Spark keep the rows of a small table until `PreparedTable.release` (dispatch)."""
    rows_a_block: int = ROWS_A_BLOCK
    progress: Progress = quiet

    @property
    def named(self) -> str:
        """What results call the messages: where they are, and in which version."""
        return f"{self.where}, {self.version}" if self.version else self.where


DEFAULTS = Options()
