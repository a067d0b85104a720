"""What a run was made with, and where its decisions are: of a dispatch, a replay, or a stream."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from fairlead.errors import UserError
from fairlead.runs import run_folder
from fairlead.runs.stream_folder import Commit, StreamFolder

DECISIONS: Final = "decisions"


class RunFolder(NamedTuple):
    """A folder of results."""

    manifest: dict[str, Any]
    """With `file_format`, `clusters` and `changes`; `replay` where it is one."""
    batches: dict[int, str] | None
    """Of a stream: where its micro-batches that are committed have their decisions."""


def run_of(folder: Path) -> RunFolder:
    """What the folder holds. Raises UserError where it holds no run."""
    stream = StreamFolder(folder)
    commit = stream.commit()
    if commit is None:
        manifest = run_folder.read_manifest(folder)
        if "rows" in manifest:
            raise UserError(
                f"{folder}: found a scenario of which not all rows were kept (--rows "
                f"{manifest['rows']}), allowed: one with all rows"
            )
        return RunFolder(manifest, None)
    batches = stream.committed(DECISIONS, commit)
    return RunFolder(manifest_of(commit), {number: str(place) for number, place in batches.items()})


def manifest_of(commit: Commit) -> dict[str, Any]:
    """What a stream was made with."""
    return {
        "file_format": commit.options["format"],
        "clusters": commit.clusters,
        "changes": commit.changes,
    }


def row_of(files: list[Path], file_format: str, message_id: str) -> tuple[int, int] | None:
    """In which of the files, and in which row there, a message stands first."""
    for number, file in enumerate(files):
        ids = read_rows(file, file_format, ["id"])["id"].cast(pa.string())
        row = pc.index(ids, message_id).as_py()
        if row >= 0:
            return number, row
    return None


def read_rows(file: Path, file_format: str, columns: list[str] | None) -> pa.Table:
    """Some columns of a file of decisions."""
    if file_format == "parquet":
        names = pq.read_schema(file).names
        selection = None if columns is None else [name for name in columns if name in names]
        return pq.read_table(file, columns=selection)
    if file_format == "csv":
        with file.open(encoding="utf-8", newline="") as lines:
            names = next(csv.reader(lines))
        options = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(file, convert_options=options, parse_options=parse)
    table = pyarrow.json.read_json(file)
    # JSON knows no times: what looks like one is a text, and stays as it is.
    texts = [
        (field.name, pa.string()) for field in table.schema if pa.types.is_timestamp(field.type)
    ]
    parse_json = pyarrow.json.ParseOptions(explicit_schema=pa.schema(texts))
    return pyarrow.json.read_json(file, parse_options=parse_json) if texts else table


def rejection(folder: Path, file_format: str, message_id: str) -> str:
    """Why a row with this id is no message; "" where there is none."""
    rejected = folder / "rejected"
    for file in sorted([*rejected.glob("part-*"), *rejected.glob("batch=*/part-*")]):
        rows = read_rows(file, file_format, ["id", "reason"])
        place = pc.index(rows["id"].cast(pa.string()), message_id).as_py()
        if place >= 0:
            return f"it was rejected: {rows['reason'][place].as_py()}"
    return ""
