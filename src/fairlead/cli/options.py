"""Arguments and options that several commands take; each is declared in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from fairlead.balance.objects import hint, shown
from fairlead.config.moments import LENGTH, UNITS
from fairlead.errors import UserError
from fairlead.runs.paths import is_elsewhere, local

MOST_DAYS: Final = 10_000_000


class ResultFormat(StrEnum):
    """Formats of results."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


class Read(StrEnum):
    """Formats of messages."""

    csv = "csv"
    json = "json"
    parquet = "parquet"
    text = "text"
    orc = "orc"


class RowsWritten(StrEnum):
    """Which rows of a replay's decisions are written."""

    all = "all"
    late = "late"
    none = "none"


class EngineName(StrEnum):
    """Who decides on a table."""

    spark = "spark"
    memory = "memory"


NEEDED: Final = {EngineName.spark: "spark", EngineName.memory: "tables"}
"""The extra of each engine."""


def refuse_with(option: str, given: Mapping[str, object]) -> None:
    """Refuse options that have no effect with another one. Raises UserError."""
    for name in (name for name, value in given.items() if value):
        raise UserError(f"{name}: found with {option}, allowed: without it")


def refuse_of_spark(given: Mapping[str, object]) -> None:
    """Refuse options that only Spark has. Raises UserError."""
    for name in (name for name, value in given.items() if value):
        raise UserError(f"{name}: found with --engine memory, allowed: with --engine spark")


E = TypeVar("E", bound=StrEnum)


def one_of(option: str, words: type[E]) -> Callable[[str], E]:
    """What reads an option that takes one of these words; it raises UserError."""

    def read(value: str) -> E:
        known = [word.value for word in words]
        if value not in known:
            close = hint(value, known)
            raise UserError(f"{option}: found {shown(value)}, allowed: {', '.join(known)}{close}")
        return words(value)

    return read


def whole(option: str, low: int, high: int) -> Callable[[str], int]:
    """What reads an option that takes an integer; it raises UserError."""

    def read(value: str) -> int:
        number: int | None = None
        with suppress(ValueError):
            number = int(value)
        if number is None or not low <= number <= high:
            text = shown(value if number is None else number)
            raise UserError(f"{option}: found {text}, allowed: an integer from {low} to {high}")
        return number

    return read


def seconds(option: str) -> Callable[[str], float]:
    """What reads a length of time, such as 90, 90s, 15min, 6h or 1d; it raises UserError."""

    def read(value: str) -> float:
        match = LENGTH.fullmatch(value.strip())
        length = float(match["number"]) * UNITS[match["unit"] or "s"] if match else 0.0
        if not 0 < length <= MOST_DAYS * UNITS["d"]:
            raise UserError(
                f"{option}: found {shown(value)}, allowed: a length of time above 0, such as 90s, "
                "15min, 6h or 1d"
            )
        return length

    return read


def days(option: str) -> Callable[[str], float]:
    """What reads a number of days; it raises UserError."""

    def read(value: str) -> float:
        number = -1.0
        with suppress(ValueError):
            number = float(value)
        if not 0 <= number <= MOST_DAYS:
            raise UserError(
                f"{option}: found {shown(value)}, allowed: a number of days from 0 to {MOST_DAYS}"
            )
        return number

    return read


def path(value: str) -> str:
    """A path as it was given. Raises UserError where there is none: it would be this folder."""
    if not value.strip():
        raise UserError(f"found {value!r} as a path, allowed: the name of a file or a folder")
    try:
        Path(value).exists()
    except OSError as error:
        raise UserError(f"{value}: cannot be looked at: {error.strerror}") from None
    return value


def place(value: str | Path) -> Path:
    """A path, or a default; where there is something, it can be read. Raises UserError."""
    target = Path(path(str(value)))
    try:
        if target.is_dir():
            os.scandir(target).close()
        elif target.is_file():
            target.open("rb").close()
    except OSError as error:
        raise UserError(f"{value}: cannot be read: {error.strerror}") from None
    return target


def run_place(value: str) -> str:
    """A run's place: a path that can be read if something is there, or a URI. Raises UserError."""
    return value if is_elsewhere(value) else str(place(local(path(value)) or value))


Messages = Annotated[
    str | None,
    typer.Argument(
        parser=path,
        metavar="MESSAGES",
        help="A file or a folder, a path or a URI; or table:NAME; or --of CLUSTER instead.",
    ),
]
OfCluster = Annotated[
    str | None,
    typer.Option(
        "--of",
        metavar="CLUSTER",
        help="Instead of a table: what this cluster of a --store has decided, with its changes.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="CURSOR|TIME",
        help="With --of: from a time on, such as `2026-11-16` or, so long ago, `7d`; or after the "
        "event with this cursor.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="With --of: what was decided before this time."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=EXPR",
        help="A column as a Spark SQL expression of the table's own; repeatable.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="NAME", help="Leave a column out; repeatable."),
]
NumberRows = Annotated[
    bool,
    typer.Option("--number-rows", help="Make `id` from the file's name and the row's number."),
]
InputFormat = Annotated[
    Read | None,
    typer.Option(
        parser=one_of("--input-format", Read),
        metavar="|".join(Read),
        help="If the file's ending does not tell.",
    ),
]
ReadOptions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="An option of Spark's reader; repeatable."),
]
ClusterFile = Annotated[
    Path | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="FILE",
        parser=place,
        help="The cluster file (TOML), or a folder of them. With --of by default the store's.",
    ),
]
Changes = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=place,
        help="What happened to the cluster: time,target,attribute,value. Default: what a journal "
        "says; `none` takes not even that.",
    ),
]
ChangesAnywhere = Annotated[
    str | None,
    typer.Option(
        "--changes",
        metavar="FILE",
        parser=run_place,
        help="What happened to the cluster: time,target,attribute,value; also at a URI. Default: "
        "what a journal says; `none` takes not even that.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        help="Where the results go; a new folder, a path or a URI; or table:NAME.",
    ),
]
OptionalOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        help="Where the results go; a new folder: a path or a URI.",
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="End with status 3 if it holds, such as 'rejected > 1%'; repeatable.",
    ),
]
Format = Annotated[
    ResultFormat,
    typer.Option(
        "--format",
        parser=one_of("--format", ResultFormat),
        metavar="|".join(ResultFormat),
        help="Format of the results.",
    ),
]
Horizon = Annotated[
    float | None,
    typer.Option(
        "--horizon",
        parser=seconds("--horizon"),
        metavar="TIME",
        help="Forget an id or a group that was not seen for so long: `6h`. Default: never; with "
        "--follow `1d`.",
    ),
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        parser=seconds("--every"),
        metavar="TIME",
        help="With --follow: between micro-batches. Default: `10s`.",
    ),
]
FilesABatch = Annotated[
    int | None,
    typer.Option(
        "--files-a-batch",
        parser=whole("--files-a-batch", 1, 1_000_000),
        metavar="NUMBER",
        help="With --follow: of a micro-batch, at most. Default: 1000.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not make `report.html`.")]
RowsOption = Annotated[
    RowsWritten,
    typer.Option(
        "--rows",
        metavar="WHICH",
        parser=one_of("--rows", RowsWritten),
        help="Rows to write: `all`; `late`, those that waited longer than p99; `none`.",
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        parser=one_of("--engine", EngineName),
        help="`spark`, or `memory` for a table that fits: the same results, without Java.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark: `local[4]`, `spark://host:7077`, `yarn`, `sc://host:15002` (Connect). "
        "Default: all cores of this machine.",
    ),
]
