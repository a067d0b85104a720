"""Deliver: write the results so that a folder with the final name is always whole."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from fairlead.errors import OutputError
from fairlead.pipeline.columns import CSV, quoted
from fairlead.pipeline.place import local

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


class Delivery:
    """A folder in the making beside its final place; `finish` puts it there in one step.

    Used as a context: on an error, or when nobody finishes it, the folder in the making is
    removed. A killed process leaves only a folder whose name begins with a dot.
    """

    def __init__(self, out: str, *, overwrite: bool) -> None:
        """Refuse a place that is taken, or not on a file system of this machine."""
        place = local(out)
        if place is None:
            raise OutputError(
                f"{out}: found a place elsewhere, allowed: a folder that this machine "
                "and all executors see under the same path"
            )
        self.final = place.absolute()
        if self.final.exists() and not overwrite:
            raise OutputError(f"{out}: exists; name another folder, or use --overwrite")
        if self.final.exists() and not self.final.is_dir():
            raise OutputError(f"{out}: exists and is not a folder")
        if self.final.is_dir() and any(self.final.iterdir()) and not _ours(self.final):
            raise OutputError(
                f"{out}: --overwrite replaces only a folder that an earlier run wrote "
                f"(this one has no {SUMMARY} and no {COMPARISON})"
            )
        if not self.final.parent.is_dir():
            raise OutputError(f"{out}: the folder {self.final.parent} does not exist")
        self.making = self.final.parent / f".{self.final.name}.{secrets.token_hex(4)}"

    def __enter__(self) -> Self:
        try:
            self.making.mkdir()
        except OSError as error:
            raise OutputError(f"{self.final}: cannot write there: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.making, ignore_errors=True)

    def path(self, name: str) -> str:
        """Where a part of the delivery is written."""
        return str(self.making / name)

    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        """Write a table in files of this format, in the order of its partitions.

        `by`: a column of integers, for each value of which there is a folder.
        """
        flat = table.select(*(_flat(table, field.name) for field in table.schema.fields))
        shown = table if file_format != "csv" else flat
        writer = shown.write.format(file_format).options(**OPTIONS[file_format])
        if by is not None:
            writer = writer.partitionBy(by)
        writer.save(self.path(name))

    def move(self, name: str, to: str) -> None:
        """Put a part elsewhere in the delivery; an empty one where nothing was written."""
        target = self.making / to
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
        (self.making / name).write_text(text, encoding="utf-8")

    def finish(self) -> None:
        """Put the folder into its place; what stood there before goes first.

        A process killed between the two leaves the old folder beside it, whole, under a name that
        begins with a dot.
        """
        for file in self.making.rglob("*"):
            if file.is_file():
                _sync(file)
        if self.final.exists():
            old = self.final.parent / f".{self.final.name}.{secrets.token_hex(4)}"
            self.final.rename(old)
            self.making.rename(self.final)
            shutil.rmtree(old, ignore_errors=True)
        else:
            self.making.rename(self.final)
        _sync(self.final.parent)


def _ours(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (SUMMARY, COMPARISON))


def _on_one_line(numbers: re.Match[str]) -> str:
    return " ".join(numbers[0].split()).replace("[ ", "[").replace(" ]", "]")


def _flat(table: DataFrame, name: str) -> Column:
    """A column that fits into a text file: nested ones as JSON."""
    column = quoted(name)
    if isinstance(table.schema[name].dataType, ArrayType | MapType | StructType):
        return F.to_json(column).alias(name)
    return column


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
