"""What sites have decided, and what `dispatch` decides over their journals as one table."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlead import Store

Row = tuple[str, str, str, str]
"""cluster, id, destination, outcome."""


def fairlead(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "from fairlead.cli import main; main()", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def decided_again(stores: Sequence[Store], file: Path, folder: Path) -> tuple[list[Row], list[Row]]:
    """The live decisions of all sites, and those that `dispatch` makes; by cluster and id."""
    messages, changes = folder / "decisions.jsonl", folder / "changes.jsonl"
    for table, option in ((messages, "--decisions"), (changes, "--changes")):
        table.write_text("".join(_journal(store, option) for store in stores))
    out = folder / "decided-again"
    fairlead(
        *("dispatch", str(messages), "-c", str(file), "--changes", str(changes)),
        *("-o", str(out), "--engine", "memory", "--no-report", "--format", "csv"),
    )
    live = [
        (row["cluster"], row["id"], row["destination"] or "", row["outcome"])
        for row in map(json.loads, messages.read_text().splitlines())
    ]
    again = []
    for written in sorted((out / "decisions").rglob("*.csv")):
        with written.open(newline="") as lines:
            again += [
                (row["cluster"], row["id"], row["destination"], row["outcome"])
                for row in csv.DictReader(lines)
            ]
    return sorted(live), sorted(again)


def _journal(store: Store, option: str) -> str:
    row = store.queue_manager()
    assert row is not None
    return fairlead("journal", "--store", store.url, "--cluster", row.cluster, option)
