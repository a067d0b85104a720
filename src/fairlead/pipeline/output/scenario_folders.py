"""The folders of a replay's scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, count
from typing import Final

from fairlead.pipeline.paths import COMPARISON

REJECTED: Final = "rejected"
NOT_SCENARIOS: Final = (REJECTED, "report.html", COMPARISON)
LONGEST_FOLDER: Final = 60
"""Letters of a scenario's folder; file systems take 255 bytes, and a letter can have four."""


def folder_names(scenarios: Iterable[str]) -> list[str]:
    """A folder for each scenario: its name, where that can be one."""
    found: list[str] = []
    for k, name in enumerate(scenarios):
        plain = "".join(c if c.isalnum() or c in "-_.+ " else "_" for c in name).strip(" .")
        plain = plain[:LONGEST_FOLDER].rstrip(" .") or "_"
        taken = {each.lower() for each in (*found, *NOT_SCENARIOS)}
        others = (f"{plain}-{number}" for number in count(k + 1))
        found.append(next(each for each in chain([plain], others) if each.lower() not in taken))
    return found
