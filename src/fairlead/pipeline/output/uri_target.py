"""Results in a folder elsewhere: at any URI that the session's Spark reads and writes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from py4j.protocol import Py4JError

from fairlead.errors import OutputError
from fairlead.pipeline.output.commit_by_last_file import CommitByLastFile
from fairlead.pipeline.output.swap_by_rename import SwapByRename
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.pipeline.output.write import writer
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.disk_full import writing
from fairlead.runs.paths import SPECIAL, URL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PASSED_OVER: Final = ("_", ".")
"""How names begin that Spark passes over where it reads."""


def checked_uri(out: str) -> str:
    """The URI of a folder for results, without a / at its end. Raises OutputError."""
    path = urlsplit(out.rstrip("/")).path
    odd = SPECIAL.search(path)
    if odd:
        raise OutputError(
            f"{out}: found {odd[0]!r} in the path {path}, "
            "allowed: any without {}[]*?\\:, which Spark reads otherwise"
        )
    name = path.rpartition("/")[2]
    if not name or name.startswith(PASSED_OVER):
        raise OutputError(
            f"{out}: found {name!r} as the folder's name, allowed: a name that begins neither "
            "with . nor with _"
        )
    return out.rstrip("/")


class UriDelivery(TablesDelivery):
    """Results at a URI.

    Where a folder there is renamed in one step, it is made beside its place; elsewhere in its
    place, and its last small file makes results of it.
    """

    def __init__(self, out: str, *, overwrite: bool, read: str = "") -> None:
        """Refuse what the URI alone tells. `read`: where the messages are. Raises OutputError."""
        self.out, self.overwrite, self.read = checked_uri(out), overwrite, read
        self._files: dict[str, bytes] = {}
        self._making: SwapByRename | CommitByLastFile | None = None

    def begin(self, spark: SparkSession) -> None:
        """Refuse a place that is taken or not reached, and claim it."""
        with writing(self.out):
            final = HadoopPath(spark, self.out)
            self._refuse_what_is_read(spark, final)
            kind = SwapByRename if final.renamed_at_once() else CommitByLastFile
            self._making = kind(final, self.out, overwrite=self.overwrite)
            self._making.begin()

    def _refuse_what_is_read(self, spark: SparkSession, final: HadoopPath) -> None:
        if not URL.match(self.read):
            return
        read, target = HadoopPath(spark, self.read).whole(), final.whole()
        if f"{read}/".startswith(f"{target}/") and self.overwrite:
            raise OutputError(
                f"{self.out}: found {self.read} in it, which is read, allowed: another folder"
            )
        if target.startswith(f"{read}/"):
            raise OutputError(
                f"{self.out}: found a folder inside {self.read}, where the messages are, "
                "allowed: one outside"
            )

    @property
    def making(self) -> SwapByRename | CommitByLastFile:
        """What is made."""
        if self._making is None:
            raise OutputError(f"{self.out}: found no session, allowed: after `begin`")
        return self._making

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._making is None:
            return
        # A session that has ended cannot clear away; the next run to this place does.
        with suppress(Py4JError, ConnectionError, OSError, OutputError):
            self._making.clear()

    def path(self, name: str) -> str:
        return str(self.making.folder / name)

    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        output = writer(table, file_format)
        if by is not None:
            output = output.partitionBy(by)
        with writing(self.out):
            self.making.make_room()
            output.save(self.path(name))

    def move(self, name: str, to: str) -> None:
        source, target = self.making.folder / name, self.making.folder / to
        with writing(self.out):
            if not source.exists():
                target.make_folder()
                return
            if target.parent is not None:
                target.parent.make_folder()
            source.rename(target)

    def remove(self, name: str) -> None:
        with writing(self.out):
            (self.making.folder / name).delete()

    def write_text(self, name: str, text: str) -> None:
        """Keep a small file; it is written when all the large ones are there."""
        self._files[name] = text.encode()

    def finish(self) -> None:
        with writing(self.out):
            self.making.deliver(self._files)
        self.delivered.append(self.out)
