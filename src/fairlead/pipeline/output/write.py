"""Write: write the results so that a folder with the final name is always whole."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameWriter
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DecimalType, FractionalType, MapType, StructType

from fairlead.errors import OutputError
from fairlead.pipeline.columns import CSV, quoted
from fairlead.pipeline.output.disk_full import no_room, of_results
from fairlead.pipeline.output.staging import Making, clear_dead
from fairlead.pipeline.paths import SPECIAL, local

FORMATS: Final = ("parquet", "csv", "json")
TIMES: Final = {
    # Spark would cut times to milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "parquet": {},
    "csv": {**CSV, **TIMES},
    "json": {"ignoreNullFields": "false", **TIMES},
}
SUMMARY: Final = "summary.json"
COMPARISON: Final = "comparison.json"
"""What a run found; a folder has one of them where one of ours wrote it."""
NUMBERS: Final = re.compile(r"\[\n[-+\d.,e\s]+\]")
"""A list of numbers in JSON; inside a text a line break would be escaped."""
LONGEST_NAME: Final = 255 - len(".12345678.lock") - 1
"""Bytes; file systems take 255, and what is made has a longer name at first."""
PLAIN: Final = ((1e7, 1e18, "decimal(38,10)"), (1e-6, 1e-3, "decimal(38,24)"))
"""From and below which numbers Spark writes powers of ten, and decimals that hold all digits."""


class Delivery:
    """A folder in the making beside its final place; `finish` puts it there in one step.

    Used as a context: on an error, or when nobody finishes it, the folder in the making is
    removed. What a killed process leaves has a name that begins with a dot, and goes with the next
    delivery to the same place.
    """

    delivered: ClassVar[list[Path]] = []
    """The folders that this process has put into their places."""

    def __init__(
        self, out: str, *, overwrite: bool, read: str = "", also_read: Sequence[Path] = ()
    ) -> None:
        """Refuse a place that is taken, or not on a file system of this machine.

        `read`: where the messages are; `also_read`: other files and folders that the run reads.
        What is read must not be replaced by the results, nor results become messages.
        """
        place = local(out)
        if place is None:
            raise OutputError(
                f"{out}: found a place elsewhere, allowed: a folder that this machine "
                "and all executors see under the same path"
            )
        self.out, self.overwrite = out, overwrite
        self.final = place.resolve()
        odd = SPECIAL.search(str(self.final))
        if odd:
            raise OutputError(
                f"{out}: found {odd[0]!r} in the path {self.final}, "
                "allowed: any without {}[]*?\\:, which Spark reads otherwise"
            )
        if len(os.fsencode(self.final.name)) > LONGEST_NAME:
            raise OutputError(
                f"{out}: found a name of {len(os.fsencode(self.final.name))} bytes, "
                f"allowed: at most {LONGEST_NAME}"
            )
        if not self.final.parent.is_dir():
            raise OutputError(f"{out}: the folder {self.final.parent} does not exist")
        clear_dead(self.final)
        self._refuse_taken()
        self._refuse_what_is_read(local(read) if read else None, also_read)
        self._hidden = Making(self.final)

    def _refuse_what_is_read(self, messages: Path | None, others: Sequence[Path]) -> None:
        for each in [*others, *([messages] if messages else [])]:
            place = each.resolve()
            if self.final in (place, *place.parents) and self.overwrite:
                raise OutputError(
                    f"{self.out}: found {each} in it, which is read, allowed: another folder"
                )
        if messages is not None and messages.is_dir() and messages.resolve() in self.final.parents:
            raise OutputError(
                f"{self.out}: found a folder inside {messages}, where the messages are, "
                "allowed: one outside"
            )

    def _refuse_taken(self) -> None:
        if not self.final.exists():
            return
        if not self.overwrite:
            raise OutputError(f"{self.out}: exists; name another folder, or use --overwrite")
        if not self.final.is_dir():
            raise OutputError(f"{self.out}: exists and is not a folder")
        if any(self.final.iterdir()) and not _ours(self.final):
            raise OutputError(
                f"{self.out}: --overwrite replaces only a folder that an earlier run wrote "
                f"(this one has no {SUMMARY} and no {COMPARISON})"
            )

    def __enter__(self) -> Self:
        try:
            with writing(self.final):
                self._hidden.begin()
        except BaseException:
            self._hidden.clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.final.exists() and not self.making.exists():
            self.delivered.append(self.final)
        with writing(self.final):
            self._hidden.clear()

    @property
    def making(self) -> Path:
        """The folder in the making, where the parts are until `finish`."""
        return self._hidden.folder

    def path(self, name: str) -> str:
        """Where a part of the delivery is written."""
        return str(self.making / name)

    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        """Write a table in files of this format, in the order of its partitions.

        `by`: a column of integers, for each value of which there is a folder.
        """
        found = writer(table, file_format)
        if by is not None:
            found = found.partitionBy(by)
        with writing(self.final):
            found.save(self.path(name))

    def move(self, name: str, to: str) -> None:
        """Put a part elsewhere in the delivery; an empty one where nothing was written."""
        target = self.making / to
        with writing(self.final):
            target.parent.mkdir(parents=True, exist_ok=True)
            if (self.making / name).exists():
                (self.making / name).rename(target)
            else:
                target.mkdir()

    def remove(self, name: str) -> None:
        """Take a part away again, if it is there."""
        shutil.rmtree(self.making / name, ignore_errors=True)

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a small file of JSON."""
        spread = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        self.write_text(name, NUMBERS.sub(_on_one_line, spread))

    def write_text(self, name: str, text: str) -> None:
        """Write a small file as it is."""
        with writing(self.final):
            (self.making / name).write_text(text, encoding="utf-8")

    def finish(self) -> None:
        """Put the folder into its place; what stood there before goes first.

        A process killed between the two leaves the old folder beside it, whole, under a name that
        begins with a dot; the next delivery puts it back. Raises OutputError, also where another
        run has delivered there meanwhile and is not to be overwritten.
        """
        with writing(self.final):
            for file in self.making.rglob("*"):
                if file.is_file():
                    _sync(file)
        self._refuse_taken()
        with writing(self.final):
            self._hidden.deliver()
            _sync(self.final.parent)


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say where it was, if something cannot be written. Raises OutputError."""
    try:
        yield
    except ConnectionError:
        raise  # Spark's Java process is gone, which no file says
    except OSError as error:
        raise OutputError(f"{place}: cannot write there: {error.strerror}") from error
    except (Py4JJavaError, PySparkException) as error:
        reason = no_room(error)
        if reason is None or not of_results(error):
            raise
        raise OutputError(f"{place}: cannot write there: {reason}") from error


def writer(table: DataFrame, file_format: str) -> DataFrameWriter:
    """What writes a table in files of this format, in the order of its partitions."""
    flat = table.select(*(_flat(table, field.name) for field in table.schema.fields))
    shown = table if file_format != "csv" else flat
    return shown.write.format(file_format).options(**OPTIONS[file_format])


def _ours(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (SUMMARY, COMPARISON))


def _on_one_line(numbers: re.Match[str]) -> str:
    return " ".join(numbers[0].split()).replace("[ ", "[").replace(" ]", "]")


def _flat(table: DataFrame, name: str) -> Column:
    """A column that fits into a text file: nested ones as JSON."""
    column = quoted(name)
    kind = table.schema[name].dataType
    if isinstance(kind, ArrayType | MapType | StructType):
        return F.to_json(column).alias(name)
    if isinstance(kind, FractionalType) and not isinstance(kind, DecimalType):
        return _plain(column).alias(name)
    return column


def _plain(number: Column) -> Column:
    """A floating-point number as text without a power of ten, where that is not too long.

    It has the digits that Spark writes, which name this number and no other.
    """
    written = number.cast("string")
    found = written
    for least, below, exact in PLAIN:
        digits = F.regexp_replace(written.cast(exact).cast("string"), r"(\.\d+?)0+$", "$1")
        found = F.when((F.abs(number) >= least) & (F.abs(number) < below), digits).otherwise(found)
    return found


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
