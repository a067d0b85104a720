"""A folder with a journal: what a dispatch, a replay or an explanation needs."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fairlead.balance.cluster import Cluster
from fairlead.errors import OutputError
from fairlead.sockets.journal import JournalStretch

MESSAGES, CHANGES, CLUSTER = "messages.jsonl", "changes.jsonl", "cluster.toml"
DESTINATION: Final = "destination"
KEPT: Final = 1 << 26
"""Bytes of rows that are kept while they cannot be written; those after them are missing."""


class JournalFolder:
    """Takes a journal as it comes.

    What was written stays readable when the process is killed: whole lines go out in one call, and
    the file of the cluster is replaced whole, before a row names somebody who is new. What cannot
    be written is kept, and goes out the next time that something can.
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
        self._kept: dict[str, list[bytes]] = {CHANGES: [], MESSAGES: []}
        """Lines that are not written yet, of each table."""
        self._bytes = 0
        """Of all of them."""
        self._latest: dict[tuple[str, str], dict[str, Any]] = {}
        """The latest change of each attribute."""
        self.begun_anew = 0
        """How often it was removed, and begun anew."""
        self._sizes: dict[str, int] = {}
        """Bytes of each table that are whole lines."""
        self.missing = 0
        """Rows that were given up, as too many were kept."""

    @property
    def waiting(self) -> int:
        """Rows that are kept until they can be written."""
        return sum(map(len, self._kept.values()))

    def write(self, cluster: Cluster | None, journal: JournalStretch) -> None:
        """Add what has happened; `cluster`: as it is now.

        Raises OutputError where that cannot be written; then it is kept.
        """
        for row in journal.changes:
            self._latest[row["target"], row["attribute"]] = row
        for name, rows in ((CHANGES, journal.changes), (MESSAGES, journal.messages)):
            for row in rows:
                self._keep(name, _line_of(row))
        try:
            if not (self.place / MESSAGES).exists():  # somebody has removed it
                self._begin_anew()
            if cluster is not None and cluster is not self._written:
                new = self.place / f".{CLUSTER}"
                new.write_text(toml(cluster.to_dict()))
                new.replace(self.place / CLUSTER)
                self._written = cluster
            for name in self._kept:
                self._append(name)
        except OSError as error:
            raise OutputError(f"{self.place}: {error.strerror}") from None

    def _begin_anew(self) -> None:
        """Make the folder again; its changes begin with how it stood with each peer."""
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / MESSAGES).touch()
        self._written = None
        self._sizes.clear()
        lines = {*self._kept[CHANGES]}
        stood = [line for row in self._latest.values() if (line := _line_of(row)) not in lines]
        self._kept[CHANGES][:0] = stood
        self._bytes += sum(map(len, stood))
        self.begun_anew += 1

    def _keep(self, name: str, line: bytes) -> None:
        if self._bytes + len(line) > KEPT:
            self.missing += 1
            return
        self._kept[name].append(line)
        self._bytes += len(line)

    def _append(self, name: str) -> None:
        """Write what is kept for a table, all of it or nothing."""
        lines = b"".join(self._kept[name])
        with (self.place / name).open("ab", buffering=0) as file:
            there = os.fstat(file.fileno()).st_size
            begin = min(there, self._sizes.get(name, there))
            try:
                if there > begin:
                    file.truncate(begin)  # of a line that was not written whole
                written = 0
                while written < len(lines):
                    written += file.write(lines[written:])
            except OSError:
                with suppress(OSError):
                    file.truncate(begin)
                raise
        self._sizes[name] = begin + len(lines)
        self._kept[name].clear()
        self._bytes -= len(lines)


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
    subfolder = folder / str(number)
    subfolder.mkdir()
    (subfolder / MESSAGES).touch()
    return subfolder


def _line_of(row: dict[str, Any]) -> bytes:
    return f"{json.dumps(row, default=str)}\n".encode()


def toml(plain: dict[str, Any]) -> str:
    """A cluster file with a list of destinations."""
    lines = [_line(key, value) for key, value in plain.items() if not _nested(value)]
    for key, value in plain.items():
        tables = value if key == DESTINATION else [value] if isinstance(value, dict) else []
        for table in tables:
            head = f"[[{key}]]" if key == DESTINATION else f"[{key}]"
            inside = [_line(name, entry) for name, entry in table.items() if entry is not None]
            lines += ["", head, *inside]
    return "\n".join(lines) + "\n"


def _nested(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
    )


def _line(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value)}"  # of texts, numbers, truths and lists, TOML is JSON
