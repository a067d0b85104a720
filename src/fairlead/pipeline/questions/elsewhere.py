"""Runs at a URI: what they were made with, and why a decision there was made."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.errors import UserError
from fairlead.pipeline.intake.catalog import files_of
from fairlead.pipeline.output.write import OPTIONS
from fairlead.pipeline.questions.explain import Why, why
from fairlead.pipeline.spark.hadoop import HadoopPath, reading_there
from fairlead.pipeline.streaming.stream_at_uri import StreamAtUri
from fairlead.runs.paths import CLAIM, COMPARISON, SUMMARY, TABLE
from fairlead.runs.read_rows import DECISIONS, RunFolder, manifest_of
from fairlead.runs.run_folder import MANIFEST, clusters_of, manifest_in, not_whole
from fairlead.runs.stream_folder import BATCHES, COMMIT, Commit, StreamFolder

REJECTED: Final = "rejected"
PART: Final = "part-"
READ: Final = {"csv": {"multiLine": "true"}, "json": {"primitivesAsString": "true"}}


def run_at(spark: SparkSession, uri: str) -> RunFolder | None:
    """What a folder elsewhere holds; None where it is no run's, such as a journal's.

    Raises UserError where the run is not whole, or it is a whole replay; EnvironmentProblem.
    """
    if uri.startswith(TABLE):
        return _of_tables(spark, uri)
    stream = StreamAtUri(spark, uri)
    commit = stream.commit()
    if commit is not None:
        return RunFolder(manifest_of(commit), stream.committed(DECISIONS, commit))
    with reading_there(uri):
        folder = HadoopPath(spark, uri)
        if not any((folder / name).exists() for name in (MANIFEST, COMPARISON, CLAIM)):
            return None
    return RunFolder(manifest_at(spark, uri), None)


def _of_tables(spark: SparkSession, place: str) -> RunFolder | None:
    files = files_of(spark, place.removeprefix(TABLE))
    if files is None:
        return None
    if SUMMARY not in files or MANIFEST not in files:
        raise not_whole(place, SUMMARY)
    return RunFolder(manifest_in(files[MANIFEST].encode(), f"{place}: {MANIFEST}"), None)


def manifest_at(spark: SparkSession, uri: str) -> dict[str, Any]:
    """With what a run elsewhere was made. Raises as `run_at`; also where it is no run."""
    _refuse_table(uri)
    with reading_there(uri):
        folder = HadoopPath(spark, uri)
        if not (folder / MANIFEST).exists():
            if (folder / COMPARISON).exists():
                raise UserError(f"{uri}: found a whole replay, allowed: one of its scenarios")
            if (folder / CLAIM).exists():
                raise not_whole(uri, SUMMARY)
            raise UserError(
                f"{uri}: not a folder that dispatch or replay wrote (it has no {MANIFEST})"
            )
        manifest = manifest_in((folder / MANIFEST).read(), str(folder / MANIFEST))
        last, around = SUMMARY, folder
        if manifest.get("replay"):
            last, around = COMPARISON, folder.parent or folder
        if not (around / last).exists():
            raise not_whole(str(around), last)
    return manifest


def _refuse_table(uri: str) -> None:
    if uri.startswith(TABLE):
        raise UserError(f"{uri}: found a table, allowed: a folder")


def why_at(spark: SparkSession, uri: str, message_id: str) -> Why:
    """Explain the decision on one message of a run elsewhere, as `why` does of one here.

    What is needed of the run is copied into a temporary folder. Raises UserError.
    """
    _refuse_table(uri)
    stream = StreamAtUri(spark, uri)
    commit = stream.commit()
    if commit is not None:
        return _why_of_stream(spark, stream, commit, message_id)
    manifest = manifest_at(spark, uri)
    with tempfile.TemporaryDirectory(prefix="fairlead-") as temporary, reading_there(uri):
        copy = Path(temporary)
        folder = HadoopPath(spark, uri)
        for name in (MANIFEST, SUMMARY):
            if (folder / name).exists():
                (folder / name).copy_to(copy / name)
        binds = Plan(clusters_of(manifest), ()).binds
        for part, before in ((DECISIONS, binds), (REJECTED, False)):
            (copy / part).mkdir()
            for name in _files_with(spark, folder / part, manifest, message_id, before=before):
                (folder / part / name).copy_to(copy / part / name)
        return _why_in(copy, message_id, uri)


def _why_of_stream(
    spark: SparkSession, stream: StreamAtUri, commit: Commit, message_id: str
) -> Why:
    """The same of a stream: the micro-batch with the message is copied as this machine has one."""
    manifest = manifest_of(commit)
    with tempfile.TemporaryDirectory(prefix="fairlead-") as temporary, reading_there(stream.out):
        copy = StreamFolder(Path(temporary))
        copy.write_text(COMMIT, msgspec.json.encode(commit).decode())
        for part in (DECISIONS, REJECTED):
            places = stream.committed(part, commit)
            batch = _batch_with(spark, places, manifest, message_id)
            if batch is None:
                continue
            folder, place = copy.of(part, batch), HadoopPath(spark, places[batch])
            folder.mkdir(parents=True)
            for name in _files_with(spark, place, manifest, message_id, before=False):
                (place / name).copy_to(folder / name)
            copy.write_json(f"{BATCHES}/{batch}.json", json.loads(stream.manifest(batch).read()))
        return _why_in(copy.out, message_id, stream.out)


def _batch_with(
    spark: SparkSession, places: Mapping[int, str], manifest: Mapping[str, Any], message_id: str
) -> int | None:
    """The first micro-batch in which a message stands."""
    rows = _rows_of(spark, [*places.values()], manifest, message_id) if places else None
    if rows is None:
        return None
    files = rows.select("_metadata.file_path").distinct().collect()
    holding = {PurePosixPath(row[0]).parent.name for row in files}
    return next((k for k, place in places.items() if PurePosixPath(place).name in holding), None)


def _why_in(copy: Path, message_id: str, uri: str) -> Why:
    try:
        return why(copy, message_id)
    except UserError as error:
        raise type(error)(str(error).replace(str(copy), uri)) from None


def _files_with(
    spark: SparkSession,
    place: HadoopPath,
    manifest: Mapping[str, Any],
    message_id: str,
    *,
    before: bool,
) -> list[str]:
    """The file of a part in which a message stands first; `before`: and all before that one."""
    if not place.exists():
        return []
    names = [name for name in place.names() if name.startswith(PART)]
    if not names:
        return []
    rows = _rows_of(spark, [str(place)], manifest, message_id)
    if rows is None:
        return []
    holding = {row[0] for row in rows.select("_metadata.file_name").distinct().collect()}
    first = next((k for k, name in enumerate(names) if name in holding), None)
    if first is None:
        return []
    return names[: first + 1] if before else names[first : first + 1]


def _rows_of(
    spark: SparkSession, places: list[str], manifest: Mapping[str, Any], message_id: str
) -> DataFrame | None:
    """The rows of a message in some folders; None where rows there have no id."""
    file_format = manifest["file_format"]
    options = {**OPTIONS[file_format], **READ.get(file_format, {})}
    table = spark.read.format(file_format).options(**options).load(places)
    if "id" not in table.columns:
        return None
    return table.where(F.col("id").cast("string") == message_id)
