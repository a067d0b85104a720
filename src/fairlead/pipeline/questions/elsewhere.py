"""Runs at a URI: what they were made with, and why a decision there was made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.errors import UserError
from fairlead.pipeline.intake.catalog import files_of
from fairlead.pipeline.output.write import OPTIONS
from fairlead.pipeline.questions.explain import Why, why
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.paths import CLAIM, COMPARISON, SUMMARY, TABLE
from fairlead.runs.read_rows import DECISIONS, RunFolder
from fairlead.runs.run_folder import MANIFEST, clusters_of, manifest_in, not_whole

REJECTED: Final = "rejected"
PART: Final = "part-"
READ: Final = {"csv": {"multiLine": "true"}, "json": {"primitivesAsString": "true"}}


def run_at(spark: SparkSession, uri: str) -> RunFolder | None:
    """What a folder elsewhere holds; None where it is no run's, such as a journal's.

    Raises UserError where the run is not whole, or it is a whole replay; EnvironmentProblem.
    """
    if uri.startswith(TABLE):
        return _of_tables(spark, uri)
    with _reading(uri):
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
    if uri.startswith(TABLE):
        raise UserError(f"{uri}: found a table, allowed: a folder")
    with _reading(uri):
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


def why_at(spark: SparkSession, uri: str, message_id: str) -> Why:
    """Explain the decision on one message of a run elsewhere, as `why` does of one here.

    What is needed of the run is copied into a temporary folder. Raises UserError.
    """
    manifest = manifest_at(spark, uri)
    with tempfile.TemporaryDirectory(prefix="fairlead-") as temporary, _reading(uri):
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
        try:
            return why(copy, message_id)
        except UserError as error:
            raise type(error)(str(error).replace(temporary, uri)) from None


def _files_with(
    spark: SparkSession,
    place: HadoopPath,
    manifest: dict[str, Any],
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
    file_format = manifest["file_format"]
    options = {**OPTIONS[file_format], **READ.get(file_format, {})}
    table = spark.read.format(file_format).options(**options).load(str(place))
    if "id" not in table.columns:
        return []
    rows = table.where(F.col("id").cast("string") == message_id)
    holding = {row[0] for row in rows.select("_metadata.file_name").distinct().collect()}
    first = next((k for k, name in enumerate(names) if name in holding), None)
    if first is None:
        return []
    return names[: first + 1] if before else names[first : first + 1]


@contextmanager
def _reading(uri: str) -> Iterator[None]:
    """Say where it was, if something cannot be read. Raises UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{uri}: cannot be read: {error.strerror}") from error
