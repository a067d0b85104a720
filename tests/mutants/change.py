"""A change of one line of the code, and the files in which changes are drawn."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = Path("src/fairlead")

ROOMS = {
    "balance": ["balance/**/*.py"],
    "order": ["order/*.py"],
    "pool": ["pool/*.py"],
    "config": ["config/*.py"],
    "compiled": ["compiled/**/*.py"],
    "replay": ["replay/**/*.py"],
    "measure": ["measure/*.py"],
    "store/queues": ["store/queues/*.py"],
    "store/clusters": ["store/clusters/*.py"],
    "store/schedules": ["store/schedules/*.py"],
    "store/dialogs": ["store/dialogs/*.py"],
    "store/channels": ["store/channels/*.py"],
    "store, SQL": [
        f"store/{room}/sql/{name}.sql"
        for room in ("queues", "clusters", "schedules", "dialogs", "channels", "admin", "journal")
        for name in ("sqlite", "sqlite_[a-z]*", "postgresql", "postgresql_[a-z]*")
    ],
    "serve/node": ["serve/node/*.py"],
}
"""What decides, by room."""


class Change(NamedTuple):
    """One line that says something else."""

    path: str
    """Of the file, below the root of the project."""
    line: int
    """Counted from 1."""
    what: str
    before: str
    after: str
    """The lines that differ; those before and after are alike."""
    text: str
    """The whole file, changed."""


def files(room: str) -> list[Path]:
    """The files of a room, by name, below the root of the project."""
    found = {
        path for pattern in ROOMS[room] for path in (ROOT / SOURCE).glob(pattern) if path.is_file()
    }
    return sorted(path.relative_to(ROOT) for path in found)


def differing(before: str, after: str) -> tuple[int, str, str]:
    """The first line that differs, counted from 1, and what differs, as it was and as it is."""
    old, new = before.splitlines(), after.splitlines()
    first = next((k for k, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    shown = [
        " ".join(line.strip() for line in text[first : len(text) - last]) for text in (old, new)
    ]
    return first + 1, shown[0], shown[1]
