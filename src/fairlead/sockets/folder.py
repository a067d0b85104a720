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
    """Takes a journal as it comes.

    What was written stays readable when the process is killed: whole lines go out in one call, and
    the file of the cluster is replaced whole, before a row names somebody who is new.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder, or where it holds a journal already, a new one in it: `2`, `3`, ….

        Raises OutputError if there is something else in it.
        """
        try:
            self.place: Final = _own(folder)
        except OSError as error:
            raise OutputError(f"{folder}: {error.strerror}") from None
        self._written: Cluster | None = None

    def write(self, cluster: Cluster | None, journal: Recorded) -> None:
        """Add what has happened; `cluster`: as it is now. Raises OutputError."""
        try:
            if cluster is not None and cluster is not self._written:
                new = self.place / f".{CLUSTER}"
                new.write_text(toml(cluster.to_dict()))
                new.replace(self.place / CLUSTER)
                self._written = cluster
            for name, rows in ((CHANGES, journal.changes), (MESSAGES, journal.messages)):
                lines = "".join(f"{json.dumps(row, default=str)}\n" for row in rows)
                with (self.place / name).open("ab") as file:
                    file.write(lines.encode())
        except OSError as error:
            raise OutputError(f"{self.place}: {error.strerror}") from None


def _own(folder: Path) -> Path:
    """A folder that is only ours from now on, as its table of messages is there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        (folder / MESSAGES).touch()
        return folder
    if not (folder / MESSAGES).exists():
        raise OutputError(
            f"{folder}: found files there, allowed: a new or an empty folder, or one with a journal"
        )
    number = 2
    while (folder / str(number)).exists():
        number += 1
    own = folder / str(number)
    own.mkdir()
    (own / MESSAGES).touch()
    return own


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
