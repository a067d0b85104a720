"""Read: a table of messages from files, its columns mapped by Spark SQL expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from fairlead.balance.objects import kind_of as type_of
from fairlead.balance.times import MICROS
from fairlead.compiled.row_checks import LONGEST_SHOWN
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.columns import quoted, small_table
from fairlead.pipeline.intake.catalog import table_of
from fairlead.pipeline.intake.mapped import mapped, own_columns
from fairlead.pipeline.intake.unfinished import refuse_unfinished
from fairlead.pipeline.spark.refusals import not_reached, why
from fairlead.runs.arrow_types import (
    as_spark_has,
    nanoseconds,
    refuse_unknown,
    schema_of,
)
from fairlead.runs.constants import (
    CSV,
    MALFORMED,
    NO_CHARACTER,
    PREFIX,
    ROW_DIGITS,
)
from fairlead.runs.csv_lines import line_too_long
from fairlead.runs.files import (
    LONGEST_CELL,
    ONE_LINE,
    OTHER_ENCODING,
    TOO_LONG,
    UTF8,
    Kind,
    has_plain_folders,
    kind_of,
    text_after,
)
from fairlead.runs.names import IDENTITY, check_names, names_of
from fairlead.runs.paths import TABLE, for_spark, local, refuse_of_files
from fairlead.runs.read_options import KNOWN, OF_FILES, of_no_table

__all__ = ["read"]

OPTIONS: Mapping[str, Mapping[str, str]] = {
    # A folder's files that order their columns otherwise are refused, not misread.
    "csv": {**CSV, "enforceSchema": "false", "maxCharsPerColumn": str(LONGEST_CELL)},
    "json": {
        "primitivesAsString": "true",
        "columnNameOfCorruptRecord": MALFORMED,
        "allowSingleQuotes": "false",  # that is no JSON, and no other reader takes it for some
    },
    # A column that only some files have is not to be lost.
    "parquet": {"mergeSchema": "true"},
    "orc": {"mergeSchema": "true"},
    "text": {},
}
DAY = 86_400 * MICROS
EXACT = "decimal(18,6)"
UNREADABLE = "FAILED_READ_FILE"
"""What Spark calls a file that it cannot read to its end."""
CELL_TOO_LONG = f"Index {LONGEST_CELL} out of bounds"
"""What Spark's reader of CSV says of a cell that its buffer cannot hold."""
UNCLOSED = "Malformed CSV record"
"""What it says of one that it meets as it looks for the columns."""
SMALL = 1 << 28
"""Bytes of a file in which the line of such a cell is looked for."""
NO_SINGLE_QUOTES = {"allowSingleQuotes": "false"}
MORE_JSON = {name for name in KNOWN["json"] if name.startswith("allow")} | {"multiLine", "lineSep"}
"""Options with which a line may be more than an object of JSON."""
CREATED = ("pandas.DataFrame", "pyarrow.Table", "list")
"""What Spark makes a DataFrame of."""


def read(
    spark: SparkSession,
    path: str,
    *,
    input_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    number_rows: bool = False,
    options: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> DataFrame:
    """The messages in a file or a folder of files, or in a table of a catalog, as a DataFrame.

    `input_format`: what the path's ending does not say (`csv`, `json`, `parquet`, `text`, `orc`).
    `columns`: name → Spark SQL expression over the file's columns. `drop`: columns to leave out.
    `number_rows`: `id` is the file's name (below the folder) and the row's number in it, from 1.
    `options`: of Spark's reader; of a table those that name its version. `only`: of the folder's
    files, these. There is a column MALFORMED, too, where lines can be no rows. Raises UserError
    naming the file and what is wrong with it.
    """
    if path.startswith(TABLE):
        of_files = {"number_rows": number_rows, "input_format": input_format}
        refuse_of_files(path, {**of_files, "options": of_no_table(options or {}), "only": only})
        source = table_of(spark, path, options)
        expressions = dict(columns or {})
        names_of(own_columns(source), path, columns=expressions, drop=drop, number_rows=False)
        return mapped(source, path, expressions, drop)
    places = [path] if only is None else only
    kind, *others = (kind_of(place, input_format, options or {}) for place in places)
    for place, other in zip(places[1:], others, strict=True):
        if other != kind:
            raise UserError(
                f"{place}: found {other.format}, allowed: {kind.format}, as in {places[0]}"
            )
    schema = schema_of(path, kind)
    odd = refuse_unknown(path, schema, drop)
    table = _loaded(spark, path, [for_spark(place) for place in places], kind, schema, odd)
    names = own_columns(table)
    made = dict(columns or {})
    names_of(names, path, columns=made, drop=drop, number_rows=number_rows)
    numbered = _numbered(spark, table, path) if number_rows else None
    table = table if numbered is None else numbered
    # The table's own id is gone already where rows are numbered.
    dropped = [name for name in drop if not (number_rows and name == IDENTITY)]
    return mapped(table, path, made, dropped)


def _loaded(
    spark: SparkSession,
    path: str,
    places: list[str],
    kind: Kind,
    schema: pa.Schema | None,
    odd: Sequence[str],
) -> DataFrame:
    """What the files hold, as they are; with MALFORMED where lines can be no rows.

    `places`: what Spark reads of `path`: itself, or some of its files. `schema`: of Parquet, where
    it is known. `odd`: columns that Spark cannot read, and that are to be dropped.
    """
    refuse_unfinished(spark, path)
    fine = nanoseconds(schema)
    if fine:  # Spark has no such times, and reads them as numbers if it may
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    settings = _options(path, kind)
    if places != [for_spark(path)] and "recursiveFileLookup" not in settings:
        settings["basePath"] = for_spark(path)

    def reader() -> DataFrameReader:
        return spark.read.format(kind.format).options(**settings)

    try:
        table = _without(reader(), schema, odd).load(places)
        if odd:  # older versions of Spark Connect take no empty list
            table = table.withColumns({name: F.lit(None).cast("string") for name in odd})
        names = table.columns
    except (PySparkException, Py4JJavaError) as error:
        raise _no_table(error, path, kind) from None
    if not names:
        raise UserError(f"{path}: not a table: found no columns")
    if names == [MALFORMED]:
        raise UserError(
            f"{path}: not a table of format {kind.format}: found no row in it; {ONE_LINE}"
        )
    if kind.format == "csv":
        _check_header(reader(), table, path, places)
        other = kind.encoding == UTF8 and _holds_other_bytes(spark, places, settings)
        return _with_malformed(reader(), table, places, other_bytes=other)
    if kind.format == "text":
        return _lines(table, kind)
    _refuse_text_after(spark, path, places, kind)
    return _json(table) if MALFORMED in names else _to_microseconds(table, fine)


def _no_table(error: Exception, path: str, kind: Kind) -> UserError:
    """Why Spark finds no table in files."""
    reason = why(error)
    if kind.format == "csv" and reason.startswith((CELL_TOO_LONG, UNCLOSED)):
        return _too_long(path)
    fault = not_reached(error) or f"not a table of format {kind.format}: {reason}"
    return UserError(f"{_unread(error) or path}: {fault}")


def _without(
    reader: DataFrameReader, schema: pa.Schema | None, odd: Sequence[str]
) -> DataFrameReader:
    """Reads all but the columns that Spark cannot read; it looks for none of these then."""
    if schema is None or not odd:
        return reader
    fields = [field for field in schema if field.name not in odd]
    known = [pa.field(field.name, _stored(field.type)) for field in fields]
    return reader.schema(from_arrow_schema(pa.schema(known), prefer_timestamp_ntz=True))


def _stored(kind: pa.DataType) -> pa.DataType:
    """As Spark reads it from a file: nanoseconds as numbers."""
    fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return pa.int64() if fine else as_spark_has(kind)


def _to_microseconds(table: DataFrame, fine: Mapping[str, bool]) -> DataFrame:
    """The table, nanoseconds made times of Spark's; with a zone, or without."""
    made = {}
    for name, zoned in fine.items():
        micros = F.call_function("div", quoted(name), F.lit(1000))
        days, rest = F.floor(micros / DAY).cast("int"), F.pmod(micros, F.lit(DAY))
        since = F.make_dt_interval(days=days, secs=(rest.cast(EXACT) / MICROS).cast(EXACT))
        shown = F.lit("1970-01-01").cast("timestamp_ntz") + since
        made[name] = F.timestamp_micros(micros) if zoned else shown
    return table.withColumns(made) if made else table


def _options(path: str, kind: Kind) -> dict[str, str]:
    settings = {**OPTIONS.get(kind.format, {}), **kind.options}
    if has_plain_folders(path):
        settings.setdefault("recursiveFileLookup", "true")
    if kind.encoding != UTF8 and not {"multiLine", "lineSep"} & settings.keys():
        if kind.format == "json":
            settings["lineSep"] = "\n"
        elif kind.encoding.startswith(("UTF-16", "UTF-32")):
            # Spark looks for the ends of lines among bytes, of which there are two or four then.
            settings["multiLine"] = "true"
    return settings


def _check_header(reader: DataFrameReader, table: DataFrame, path: str, places: list[str]) -> None:
    """Refuse columns of one name, to which Spark has added their places: id0 and id2."""
    bases = [name.removesuffix(str(k)) for k, name in enumerate(table.columns)]
    placed = Counter(
        base.lower() for base, name in zip(bases, table.columns, strict=True) if base != name
    )
    if not any(times > 1 for times in placed.values()):
        return
    # The names may as well be the file's own: only its first row can tell.
    first = reader.options(header="false").load(places).first()
    counts = Counter(str(cell).lower() for cell in first or ())
    for base in bases:
        if placed[base.lower()] > 1 and counts[base.lower()] > 1:
            raise MessageError(
                f"{path}: column {base!r}: found {counts[base.lower()]} times in the header, "
                "allowed: once (upper and lower case are alike)"
            )


def _with_malformed(
    reader: DataFrameReader, table: DataFrame, places: list[str], *, other_bytes: bool
) -> DataFrame:
    """The table with MALFORMED; Spark reports such rows only where the schema has a place."""
    schema = StructType([*table.schema.fields, StructField(MALFORMED, StringType())])
    # With pruning, cells would be counted among the columns that a query happens to need.
    options = {"columnNameOfCorruptRecord": MALFORMED, "columnPruning": "false"}
    rows = reader.options(**options).schema(schema).load(places)
    # Always true, but Spark refuses a query that looks at nothing but the place.
    seen = F.length(F.coalesce(quoted(table.columns[0]).cast("string"), F.lit(""))) >= 0
    row = F.when(seen, F.col(MALFORMED))
    quotes = F.length(row) - F.length(F.replace(row, F.lit('"'), F.lit("")))
    cut = "a part of a quoted text with a line break, allowed: with the option multiLine=true"
    reasons = [
        F.when(quotes % 2 == 1, _found("row", row, cut)),
        F.when(row.isNotNull(), _found("row", row, "allowed: a cell for each column")),
    ]
    if other_bytes:
        reasons += [_in_utf8(name) for name in table.columns]
    return rows.withColumn(MALFORMED, F.coalesce(*reasons))


def _holds_other_bytes(spark: SparkSession, places: list[str], options: Mapping[str, str]) -> bool:
    """Whether files hold bytes that are no UTF-8, of which a table of CSV shows nothing."""
    which = {name: value for name, value in options.items() if name in OF_FILES}
    lines = spark.read.format("text").options(**which).load(places)
    return bool(lines.agg(F.bool_or(~F.is_valid_utf8("value"))).collect()[0][0])


def _refuse_text_after(spark: SparkSession, path: str, places: list[str], kind: Kind) -> None:
    """Refuse lines of JSON on which something stands behind an object: Spark passes over it.

    Raises UserError. Looked at are lines on which a bracket is closed before the end, or none is
    there. Those that Spark takes for an object are to be one value, and no more.
    """
    if kind.format != "json" or kind.encoding != UTF8 or MORE_JSON & kind.options.keys():
        return
    which = {name: value for name, value in _options(path, kind).items() if name in OF_FILES}
    lines = spark.read.format("text").options(**which).load(places)
    line = F.regexp_replace("value", "^\ufeff", "")
    odd = line.rlike(r"[}\]]\s*\S") | ~line.rlike(r"[}\]]\s*$")
    plain = F.regexp_replace(line, r"[-+]?\b(?:NaN|INF|Infinity)\b", "0")
    values = F.json_array_length(F.concat(F.lit("["), plain, F.lit(",0]")))
    begins = F.coalesce(
        F.from_json(line, "map<string,string>", NO_SINGLE_QUOTES).isNotNull(), F.lit(False)
    ) | F.coalesce(
        F.size(F.from_json(line, "array<map<string,string>>", NO_SINGLE_QUOTES)) > 0, F.lit(False)
    )
    bad = odd & (F.coalesce(values, F.lit(0)) != 2) & begins
    faults = lines.where(bad).select("_metadata.file_path", F.substring(line, 1, LONGEST_SHOWN))
    for file, text in faults.limit(1).collect():
        here = local(path)
        raise text_after(path if here and here.is_file() else str(local(file) or file), text)


def _in_utf8(name: str) -> Column:
    """Why a row is none if Spark could not read one of its cells; else null."""
    cell = quoted(name).cast("string")
    return F.when(
        F.contains(cell, F.lit(NO_CHARACTER)),
        _found(name, cell, f"allowed: text in UTF-8; {OTHER_ENCODING}"),
    )


def _lines(table: DataFrame, kind: Kind) -> DataFrame:
    """Lines of text; Spark takes them as they are, whatever the encoding."""
    (name,) = table.columns[:1]
    if kind.encoding != UTF8:
        return table.withColumn(name, F.decode(quoted(name).cast("binary"), kind.encoding))
    shown = F.make_valid_utf8(name)
    bad = F.when(
        ~F.is_valid_utf8(name), _found(name, shown, f"allowed: text in UTF-8; {OTHER_ENCODING}")
    )
    return table.withColumn(MALFORMED, bad)


def _json(table: DataFrame) -> DataFrame:
    """The table with the reason where a line is no object."""
    row = F.col(MALFORMED)
    # Spark looks for faults only in what a query needs; every query is to find the same ones.
    checks = [quoted(name).isNull().cast("int") for name in own_columns(table)]
    seen = F.when(reduce(add, checks) >= 0, row)
    allowed = f"allowed: an object of JSON on one line, in UTF-8; {ONE_LINE}"
    return table.withColumn(
        MALFORMED, F.when(seen.isNotNull(), _found("row", F.make_valid_utf8(seen), allowed))
    )


def _found(name: str, column: Column, allowed: str) -> Column:
    shown = F.substring(column, 1, LONGEST_SHOWN)
    return F.concat(F.lit(f"{name}: found '"), shown, F.lit(f"', {allowed}"))


def columns_of(messages: object, where: str) -> list[str]:
    """The columns of what should be a DataFrame. Raises MessageError."""
    if not isinstance(messages, DataFrame):
        kind = type_of(messages)
        made = (
            "; fairlead.spark_session().createDataFrame makes one of it" if kind in CREATED else ""
        )
        raise MessageError(f"{where}: found a {kind}, allowed: a DataFrame of Spark{made}")
    if messages.isStreaming:
        raise MessageError(
            f"{where}: found a stream, allowed: a table; fairlead.follow takes streams"
        )
    return own_columns(messages)


def checked(messages: DataFrame, where: str) -> list[str]:
    """The columns of a table; refused without id or time, or with what the decisions need."""
    names = columns_of(messages, where)
    check_names(names, where)
    return names


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
    kinds = {"file": pa.string(), "piece": pa.int64(), "name": pa.string(), "shift": pa.int64()}
    offsets = small_table(spark, {PREFIX + name: kind for name, kind in kinds.items()}, rows)
    number = F.lpad(
        (F.col(PREFIX + "row") + F.col(PREFIX + "shift")).cast("string"), ROW_DIGITS, "0"
    )
    joined = placed.join(F.broadcast(offsets), [PREFIX + "file", PREFIX + "piece"])
    columns = [quoted(name) for name in table.columns if name != IDENTITY]
    return joined.select(
        F.concat(F.col(PREFIX + "name"), F.lit(":"), number).alias(IDENTITY), *columns
    )


def _relative(files: Sequence[str], path: str) -> list[str]:
    """Each file's name below the folder that was read."""
    root = local(path)
    names = []
    for file in files:
        place = local(file) or Path(file)
        inside = root is not None and root.is_dir() and place.is_relative_to(root.resolve())
        names.append(str(place.relative_to(root.resolve())) if root and inside else place.name)
    return names


@contextmanager
def reading() -> Iterator[None]:
    """Name the file that Spark could not read to its end. Raises UserError."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        file = _unread(error)
        if file is None:
            raise
        reason = why(error)
        if reason.startswith(CELL_TOO_LONG):
            raise _too_long(file) from None
        raise UserError(f"{file}: cannot be read: {reason}") from None


def _too_long(file: str) -> UserError:
    """That a cell of CSV is too long; in which line, where the file is here and not too large."""
    place = local(file)
    line = None
    if place is not None and place.is_file() and place.stat().st_size <= SMALL:
        line = line_too_long(place.read_text(errors="replace"))
    return UserError(f"{file}: {TOO_LONG}" + (f", in line {line:,}" if line else ""))


def _unread(error: Exception) -> str | None:
    """The file that Spark could not read; None where it was none."""
    text = str(error)
    if UNREADABLE not in text:
        return None
    file = text.partition("while reading file ")[2].split()[0].rstrip(".")
    return str(local(file) or file)
