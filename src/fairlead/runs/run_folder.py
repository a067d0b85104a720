"""Run folder: what a later question about a delivery needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import listed
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.errors import UserError
from fairlead.results.comparison import Comparison, Waits
from fairlead.rows import without_decisions
from fairlead.runs.constants import ALL_ROWS
from fairlead.runs.delivery import ResultsDelivery
from fairlead.runs.files import kind_of, names_in
from fairlead.runs.paths import COMPARISON, SUMMARY

MANIFEST = "manifest.json"
FORMAT = 1
NEEDED = {"file_format", "clusters", "changes"}
MAX_NAMED = 3


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a run of dispatch, or a scenario of a replay, was made with.

    Raises UserError where the folder is none of either.
    """
    try:
        written = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        inside = scenarios_in(folder)
        if inside:
            named = listed([repr(str(scenario)) for scenario in inside], MAX_NAMED)
            raise UserError(
                f"{folder}: found a whole replay, allowed: one of its scenarios: {named}"
            ) from None
        raise UserError(
            f"{folder}: not a folder that dispatch or replay wrote (it has no {MANIFEST})"
        ) from None
    content = manifest_in(written, str(folder / MANIFEST))
    if not content.get("replay") and not (folder / SUMMARY).exists():
        raise not_whole(str(folder), SUMMARY)
    return content


def manifest_in(written: bytes, where: str) -> dict[str, Any]:
    """What a manifest says. Raises UserError where it is none of this version's."""
    try:
        content: object = json.loads(written)
    except ValueError:
        content = None
    if (
        not isinstance(content, dict)
        or content.get("format") != FORMAT
        or not content.keys() >= NEEDED
    ):
        raise UserError(
            f"{where}: found what this version did not write, or not whole, allowed: "
            "as dispatch and replay write it; run them again"
        )
    return content


def not_whole(folder: str, last: str) -> UserError:
    """That a folder has results to which the last file is missing."""
    return UserError(
        f"{folder}: found results that are not whole (there is no {last}): their run was stopped, "
        "or writes them now, allowed: those of a run that has ended"
    )


def is_journal(place: Path) -> bool:
    """Whether a file or a folder has the rows of a journal, as far as it tells by its names."""
    if (place / MANIFEST).exists() or scenarios_in(place):
        return False
    try:
        names = names_in(str(place), kind_of(str(place), None, {}))
    except UserError:
        return False
    return names is None or without_decisions(names) != names


def scenarios_in(folder: Path) -> list[Path]:
    """The folders of a replay's scenarios; none where it is no replay's folder."""
    if not (folder / COMPARISON).exists():
        return []
    return sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))


def waits_in(scenario: Path) -> Waits | None:
    """How long the messages of a replay's scenario waited; None: it lies in no replay's folder."""
    try:
        text = (scenario.resolve().parent / COMPARISON).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    every = Comparison.from_dict(json.loads(text)).scenarios
    return next((entry.waits for entry in every if entry.folder == scenario.resolve().name), None)


def clusters_of(manifest: Mapping[str, Any]) -> list[Cluster]:
    """The clusters of a run."""
    return [
        Cluster.from_dict(cluster["tables"], default_name=cluster["name"])
        for cluster in manifest["clusters"]
    ]


def write_scenario(
    delivery: ResultsDelivery, folder: str, plan: Plan, file_format: str, rows: str = ALL_ROWS
) -> None:
    """Write what the decisions of one scenario of a replay were made with.

    `rows`: which of them stayed.
    """
    content = {"format": FORMAT, "file_format": file_format, "replay": True, **_plain(plan)}
    if rows != ALL_ROWS:
        content["rows"] = rows
    delivery.write_json(f"{folder}/{MANIFEST}", content)


def _plain(plan: Plan) -> dict[str, Any]:
    return {
        "clusters": [
            {"name": cluster.name, "tables": cluster.to_dict()} for cluster in plan.clusters
        ],
        "changes": [change.to_dict() for change in plan.changes],
    }


def write_manifest(
    delivery: ResultsDelivery,
    plan: ClassifiedPlan,
    starts: Sequence[tuple[int, str]],
    states: Sequence[Mapping[str, object]],
    file_format: str,
    version: str = "",
) -> None:
    """Write what `explain` needs to bring any moment of the run back; see `manifest`.

    `version`: of a table with versions the one that was read.
    """
    content = manifest(plan, starts, states, file_format)
    delivery.write_json(MANIFEST, content | ({"version": version} if version else {}))


def manifest(
    plan: ClassifiedPlan,
    starts: Sequence[tuple[int, str]],
    states: Sequence[Mapping[str, object]],
    file_format: str,
) -> dict[str, Any]:
    """What `explain` needs to bring any moment of the run back.

    `starts`: where blocks 1, 2, … begin; `states`: the router's state at the start of each block.
    """
    return {
        "format": FORMAT,
        "file_format": file_format,
        **_plain(plan),
        "classes": [list(message_class) for message_class in plan.classes],
        "blocks": [list(start) for start in starts],
        "states": list(states),
    }
