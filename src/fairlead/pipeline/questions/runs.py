"""What a run was made with, and where its decisions are: of a dispatch, a replay, or a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from fairlead.pipeline.output import run_folder
from fairlead.pipeline.streaming.commit import StreamFolder

DECISIONS: Final = "decisions"


class Run(NamedTuple):
    """A folder of results."""

    manifest: dict[str, Any]
    """With `file_format`, `clusters` and `changes`; `replay` where it is one."""
    batches: dict[int, Path] | None
    """Of a stream: where its micro-batches that are committed have their decisions."""


def run_of(folder: Path) -> Run:
    """What the folder holds. Raises UserError where it holds no run."""
    stream = StreamFolder(folder)
    commit = stream.commit()
    if commit is None:
        return Run(run_folder.read_manifest(folder), None)
    manifest = {
        "file_format": commit.options["format"],
        "clusters": commit.clusters,
        "changes": commit.changes,
    }
    return Run(manifest, stream.committed(DECISIONS, commit))
