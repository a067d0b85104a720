"""A folder with a journal: what a dispatch, a replay or an explanation needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from fairlead.balance.cluster import Cluster
from fairlead.errors import OutputError
from fairlead.sockets.journal import Recorded

MESSAGES, CHANGES, CLUSTER = "messages.jsonl", "changes.jsonl", "cluster.toml"
DESTINATION: Final = "destination"


class JournalFolder:
    """Takes a journal as it comes."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises OutputError if there is something in it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            full = any(folder.iterdir())
        except OSError as error:
            raise OutputError(f"{folder}: {error.strerror}") from None
        if full:
            raise OutputError(f"{folder}: found files there, allowed: a new or an empty folder")
        self._folder = folder
        self._written: Cluster | None = None

    def write(self, cluster: Cluster | None, journal: Recorded) -> None:
        """Add what has happened; `cluster`: as it is now. Raises OutputError."""
        try:
            for name, rows in ((MESSAGES, journal.messages), (CHANGES, journal.changes)):
                with (self._folder / name).open("a") as file:
                    file.writelines(f"{json.dumps(row, default=str)}\n" for row in rows)
            if cluster is not None and cluster is not self._written:
                (self._folder / CLUSTER).write_text(toml(cluster.to_dict()))
                self._written = cluster
        except OSError as error:
            raise OutputError(f"{self._folder}: {error.strerror}") from None


def toml(plain: dict[str, Any]) -> str:
    """A cluster file with a list of destinations."""
    lines = [_line(key, value) for key, value in plain.items() if not _nested(value)]
    for key, value in plain.items():
        tables = value if key == DESTINATION else [value] if isinstance(value, dict) else []
        for table in tables:
            head = f"[[{key}]]" if key == DESTINATION else f"[{key}]"
            inside = [_line(name, each) for name, each in table.items() if each is not None]
            lines += ["", head, *inside]
    return "\n".join(lines) + "\n"


def _nested(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(each, dict) for each in value)
    )


def _line(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value)}"  # of texts, numbers, truths and lists, TOML is JSON
