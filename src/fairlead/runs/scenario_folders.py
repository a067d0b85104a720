"""The folders of a replay's scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, count
from typing import Final

from fairlead.runs.paths import COMPARISON

REJECTED: Final = "rejected"
NOT_SCENARIOS: Final = (REJECTED, "report.html", COMPARISON)
LONGEST_FOLDER: Final = 60
"""Letters of a scenario's folder; file systems take 255 bytes, and a letter can have four."""


def folder_names(scenarios: Iterable[str]) -> list[str]:
    """A folder for each scenario: its name, where that can be one."""
    names: list[str] = []
    for k, name in enumerate(scenarios):
        plain = "".join(c if c.isalnum() or c in "-_.+ " else "_" for c in name).strip(" .")
        plain = plain[:LONGEST_FOLDER].rstrip(" .") or "_"
        taken = {folder.lower() for folder in (*names, *NOT_SCENARIOS)}
        others = (f"{plain}-{number}" for number in count(k + 1))
        names.append(
            next(folder for folder in chain([plain], others) if folder.lower() not in taken)
        )
    return names
