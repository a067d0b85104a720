"""Arguments and options that several commands take; each is told in one place."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Written(StrEnum):
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


Messages = Annotated[str, typer.Argument(metavar="MESSAGES", help="A file or a folder.")]
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
InputFormat = Annotated[Read | None, typer.Option(help="If the file's ending does not tell.")]
ReadOptions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="An option of Spark's reader; repeatable."),
]
Changes = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What happened to the cluster: time,target,attribute,value."),
]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="DIR", help="Where the results go; a new folder.")
]
Format = Annotated[Written, typer.Option("--format", help="Format of the results.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not make `report.html`.")]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark: `local[4]`, `spark://host:7077`, `yarn`, `sc://host:15002` (Connect). "
        "Default: all cores of this machine.",
    ),
]
