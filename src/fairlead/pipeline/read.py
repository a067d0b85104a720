"""Read: a table of messages from files, its columns mapped by Spark SQL expressions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from fairlead.balance.objects import hint, listed
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.columns import CSV, MALFORMED, PREFIX, RESERVED, quoted
from fairlead.pipeline.place import local

__all__ = ["read"]

FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
    ".log": "text",
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
OPTIONS: Mapping[str, Mapping[str, str]] = {
    # A folder's files that order their columns otherwise are refused, not misread.
    "csv": {**CSV, "enforceSchema": "false"},
    "json": {"primitivesAsString": "true"},
    "parquet": {},
    "text": {},
}
ROW_DIGITS = 10
"""Row numbers are padded, so that ids of one file sort in the file's order."""
IDENTITY = "id"
NO_ROW = "_corrupt_record"
"""Spark's column of the lines that are no JSON; the only one where no line is."""


def read(
    spark: SparkSession,
    path: str,
    *,
    input_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    number_rows: bool = False,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The messages in a file or a folder of files, as a DataFrame.

    `input_format`: what the path's ending does not say (`csv`, `json`, `parquet`, `text`, `orc`).
    `columns`: name → Spark SQL expression over the file's columns. `drop`: columns to leave out.
    `number_rows`: `id` is the file's name (below the folder) and the row's number in it, from 1.
    `options`: of Spark's reader. CSV has a column MALFORMED, too. Raises UserError naming the file
    and what is wrong with it.
    """
    table = _loaded(spark, path, input_format or _format_of(path), options or {})
    names = own_columns(table)
    mapped = dict(columns or {})
    if number_rows and IDENTITY in mapped:
        raise UserError("--number-rows makes the column id; --column id=… would be ignored")
    if number_rows and IDENTITY in names and IDENTITY not in drop:
        raise UserError(
            f"{path}: --number-rows makes the column id, found one in the table; "
            "leave --number-rows out, or --drop id to lose the table's own"
        )
    numbered = _numbered(spark, table, path) if number_rows else None
    table = table if numbered is None else numbered
    for name in drop:
        if name not in names:
            raise UserError(
                f"{path}: --drop: found {name!r}, allowed: {listed(names)}{hint(name, names)}"
            )
    # The table's own id is gone already where rows are numbered.
    dropped = [name for name in drop if not (number_rows and name == IDENTITY)]
    return _mapped(table, path, mapped, dropped)


def _loaded(
    spark: SparkSession, path: str, found_format: str, options: Mapping[str, str]
) -> DataFrame:
    """What the files hold, as they are; with MALFORMED where they are CSV."""
    said = dict(OPTIONS.get(found_format, {}))
    if _has_plain_folders(path):
        said["recursiveFileLookup"] = "true"
    said.update(options)

    def reader() -> DataFrameReader:
        return spark.read.format(found_format).options(**said)

    try:
        table = reader().load(path)
        names = table.columns
    except (PySparkException, Py4JJavaError) as error:
        raise UserError(f"{path}: not a table of format {found_format}: {_first(error)}") from None
    if not names:
        raise UserError(f"{path}: not a table: found no columns")
    if names == [NO_ROW]:
        raise UserError(f"{path}: not a table of format {found_format}: found no row in it")
    if found_format == "csv":
        _check_header(reader(), table, path)
        return _with_malformed(reader(), table, path)
    return table


def _check_header(reader: DataFrameReader, table: DataFrame, path: str) -> None:
    """Refuse columns of one name, to which Spark has added their places: id0 and id2."""
    bases = [name.removesuffix(str(k)) for k, name in enumerate(table.columns)]
    placed = Counter(
        base.lower() for base, name in zip(bases, table.columns, strict=True) if base != name
    )
    if not any(times > 1 for times in placed.values()):
        return
    # The names may as well be the file's own: only its first row can tell.
    first = reader.options(header="false").load(path).first()
    found = Counter(str(cell).lower() for cell in first or ())
    for base in bases:
        if placed[base.lower()] > 1 and found[base.lower()] > 1:
            raise MessageError(
                f"{path}: column {base!r}: found {found[base.lower()]} times in the header, "
                "allowed: once (upper and lower case are alike)"
            )


def _with_malformed(reader: DataFrameReader, table: DataFrame, path: str) -> DataFrame:
    """The table with MALFORMED; Spark tells of such rows only where the schema has a place."""
    schema = StructType([*table.schema.fields, StructField(MALFORMED, StringType())])
    # With pruning, cells would be counted among the columns that a query happens to need.
    options = {"columnNameOfCorruptRecord": MALFORMED, "columnPruning": "false"}
    found = reader.options(**options).schema(schema).load(path)
    # Always true, but Spark refuses a query that looks at nothing but the place.
    seen = F.length(F.coalesce(quoted(table.columns[0]).cast("string"), F.lit(""))) >= 0
    return found.withColumn(MALFORMED, F.when(seen, F.col(MALFORMED)))


def _mapped(
    table: DataFrame, path: str, columns: Mapping[str, str], drop: Sequence[str]
) -> DataFrame:
    kept = [quoted(name) for name in table.columns if name not in columns and name not in drop]
    try:
        mapped = [F.expr(expression).alias(name) for name, expression in columns.items()]
        found = table.select(*kept, *mapped)
        return found if own_columns(found) else table
    except (AnalysisException, ParseException) as error:
        spelled = ", ".join(f"{name}={expression}" for name, expression in columns.items())
        has = listed(own_columns(table))
        raise UserError(
            f"{path}: --column {spelled}: {_first(error)}; the table has: {has}"
        ) from None


def own_columns(table: DataFrame) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in table.columns if name != MALFORMED]


def _frame(found: object, where: str) -> DataFrame:
    if not isinstance(found, DataFrame):
        kind = type(found).__name__
        raise MessageError(f"{where}: found a {kind}, allowed: a DataFrame of Spark")
    return found


def checked(messages: DataFrame, where: str) -> DataFrame:
    """Refuse a table without id or time, or with columns that the decisions need."""
    names = own_columns(_frame(messages, where))
    for name in ("id", "time"):
        if name not in names:
            way = (
                "map one with --column id=…, or use --number-rows"
                if name == "id"
                else ("map one with --column time=…")
            )
            raise MessageError(
                f"{where}: no column {name!r}, found: {listed(names)}{hint(name, names)}; {way}"
            )
    folded = Counter(name.lower() for name in names)
    for name in names:
        if folded[name.lower()] > 1:
            raise MessageError(
                f"{where}: column {name!r}: found another that differs only in upper and lower "
                "case, allowed: one; --drop the other"
            )
        # Spark does not tell upper from lower case in names.
        if name.lower() in RESERVED or name.lower().startswith(PREFIX):
            raise MessageError(
                f"{where}: column {name!r} is what the decisions add; rename it with "
                f"--column new_{name}={name} --drop {name}"
            )
    return messages


def readable(path: str, input_format: str | None) -> None:
    """Refuse early what is clearly no table: no such file, an empty one, an unknown ending."""
    place = local(path)
    if place is not None and not any(c in path for c in "*?["):
        if not place.exists():
            raise UserError(f"{path}: no such file or folder")
        if place.is_file() and place.stat().st_size == 0:
            raise UserError(f"{path}: not a table: the file is empty")
    if input_format is None:
        _format_of(path)


def _format_of(path: str) -> str:
    """The format by the file's ending, or by that of the files in the folder."""
    place = local(path)
    names = [(place or Path(path)).name]
    if place is not None and place.is_dir():
        folders = [
            (folder, files) for folder, _, files in os.walk(place) if _visible(folder, place)
        ]
        names = [name for _, files in folders for name in files if not name.startswith(("_", "."))]
        if not names:
            raise UserError(f"{path}: found an empty folder, allowed: a table's file or files")
    found = {FORMATS.get(_ending(name), "") for name in names}
    if len(found) == 1 and "" not in found:
        return found.pop()
    raise UserError(
        f"{path}: found {listed(sorted({_ending(name) or 'no ending' for name in names}))}, "
        f"allowed: {', '.join(FORMATS)}; or say --input-format csv, json, parquet or text"
    )


def _visible(folder: str, root: Path) -> bool:
    """Whether Spark looks into a folder below the one that is read."""
    return not any(part.startswith(("_", ".")) for part in Path(folder).relative_to(root).parts)


def _has_plain_folders(path: str) -> bool:
    """Whether there are folders inside that are not partitions (name=value)."""
    root = local(path)
    if root is None or not root.is_dir():
        return False
    inside = [each.name for each in root.iterdir() if each.is_dir()]
    return any("=" not in name and not name.startswith(("_", ".")) for name in inside)


def _ending(name: str) -> str:
    stem = name.lower()
    for compression in COMPRESSIONS:
        stem = stem.removesuffix(compression)
    return Path(stem).suffix


def _numbered(spark: SparkSession, table: DataFrame, path: str) -> DataFrame:
    """The table with `id` from each row's file and its number there.

    Rows of one piece of a file come in the file's order, so a row's number is that of the piece's
    first row plus its distance from it; the pieces' sizes are counted once.
    """
    place = [
        F.col("_metadata.file_path").alias(PREFIX + "file"),
        F.col("_metadata.file_block_start").alias(PREFIX + "piece"),
        F.monotonically_increasing_id().alias(PREFIX + "row"),
    ]
    placed = table.select("*", *place)
    pieces = (
        placed.groupBy(PREFIX + "file", PREFIX + "piece")
        .agg(F.min(PREFIX + "row").alias("first"), F.count(F.lit(1)).alias("n"))
        .orderBy(PREFIX + "file", PREFIX + "piece")
        .collect()
    )
    names = _relative([row[0] for row in pieces], path)
    rows = []
    before: dict[str, int] = {}
    for name, row in zip(names, pieces, strict=True):
        start = before.get(name, 0)
        before[name] = start + row["n"]
        rows.append((row[0], row[1], name, start + 1 - row["first"]))
    if not rows:
        return table.select("*", F.lit("").alias(IDENTITY))
    offsets = spark.createDataFrame(
        rows, f"{PREFIX}file string, {PREFIX}piece long, {PREFIX}name string, {PREFIX}shift long"
    )
    number = F.lpad(
        (F.col(PREFIX + "row") + F.col(PREFIX + "shift")).cast("string"), ROW_DIGITS, "0"
    )
    joined = placed.join(F.broadcast(offsets), [PREFIX + "file", PREFIX + "piece"])
    own = [quoted(name) for name in table.columns if name != IDENTITY]
    return joined.select(F.concat(F.col(PREFIX + "name"), F.lit(":"), number).alias(IDENTITY), *own)


def _relative(files: Sequence[str], path: str) -> list[str]:
    """Each file's name below the folder that was read."""
    root = local(path)
    found = []
    for file in files:
        place = local(file) or Path(file)
        inside = root is not None and root.is_dir() and place.is_relative_to(root.resolve())
        found.append(str(place.relative_to(root.resolve())) if root and inside else place.name)
    return found


def _first(error: Exception) -> str:
    """The first line of a long error, without its class in brackets."""
    lines = str(error).strip().splitlines()
    # Of an error from Java the first line only says where Python called it.
    line = lines[1] if isinstance(error, Py4JJavaError) and len(lines) > 1 else lines[0]
    return line.split("] ", 1)[-1].split(" SQLSTATE")[0].rstrip(". ")
