"""Fits: whether a table of files has room in this machine's memory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fairlead.errors import UserError
from fairlead.runs.files import COMPRESSIONS, Kind, files_in
from fairlead.runs.paths import local

TIMES: Final = {"parquet": 20}
"""So many bytes of memory a byte of a file takes, reading and deciding included."""
OTHERWISE: Final = 8
PACKED: Final = 5
"""... and so many times more where it is packed."""
GIB: Final = 1 << 30
MEMORY: Final = Path("/proc/meminfo")
CONTAINER: Final = Path("/sys/fs/cgroup")
"""Where a container says what it may have."""


def check_fits(path: str, kind: Kind) -> None:
    """Refuse a table that is too large for this engine. Raises UserError."""
    place, free = local(path), available()
    if place is None or free is None or not place.exists():
        return
    need = sum(_needed(file, kind) for file in files_in(place, path))
    if need > free:
        raise too_large(path, need, free)


def too_large(path: str, need: int, free: int) -> UserError:
    """That there is no room for a table; `need`, `free`: bytes."""
    return UserError(
        f"{path}: found a table that takes about {need / GIB:.0f} GiB of memory or more, of which "
        f"{free / GIB:.0f} are free, allowed: one that fits; or --engine spark"
    )


def _needed(file: Path, kind: Kind) -> int:
    packed = PACKED if file.suffix.lower() in COMPRESSIONS else 1
    return file.stat().st_size * TIMES.get(kind.format, OTHERWISE) * packed


def available() -> int | None:
    """Bytes of memory that are free; None where this machine does not say."""
    try:
        lines = MEMORY.read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    here = [int(sizes[0]) * 1024] if sizes else []
    return min([*here, *_left_in_container()], default=None)


def _left_in_container() -> list[int]:
    """Bytes that this container may still have; nothing where there is no limit."""
    try:
        most = int((CONTAINER / "memory.max").read_text())
        has = int((CONTAINER / "memory.current").read_text())
        lines = (CONTAINER / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # ValueError: `max`
        return []
    files = ("active_file ", "inactive_file ")  # what it has read of files makes room
    has -= sum(int(line.split()[1]) for line in lines if line.startswith(files))
    return [max(0, most - has)]
