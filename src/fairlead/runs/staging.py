"""A folder in the making: hidden beside its final place, and known to be somebody's by a lock.

    .OUT.1f2e3d4c        what is being made, or is to be cleared away
    .OUT.1f2e3d4c.old    what stood at OUT, whole, while the new one takes its place
    .OUT.1f2e3d4c.lock   held for as long as the process lives that makes the two above

A process that is killed leaves what it had. The next one that makes OUT finds a lock that nobody
holds, and clears that away.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import socket
from pathlib import Path
from typing import Final

LOCK: Final = ".lock"
OLD: Final = ".old"
MAX_BYTES: Final = 1 << 10
"""Of a machine's name."""


class Making:
    """A folder in the making; nobody else clears it away while this process lives."""

    def __init__(self, final: Path) -> None:
        """`final`: where the folder is to stand; nothing is made before `begin`."""
        self.final = final
        self.folder = _hidden(final)
        self._lock: int | None = None

    def begin(self) -> None:
        """Make the folder. Raises OSError; what `clear` clears away may be there then."""
        self._lock = _lock_of(self.folder)
        while self._lock is None:
            self.folder = _hidden(self.final)
            self._lock = _lock_of(self.folder)
        self.folder.mkdir()

    def deliver(self) -> None:
        """Put the folder into its place; what stood there goes aside before. Raises OSError."""
        if self.final.exists():
            self.final.rename(_beside(self.folder, OLD))
        self.folder.rename(self.final)

    def clear(self) -> None:
        """Clear away what is left beside the final place, and let go."""
        _settle(self.folder, self.final)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def clear_dead(final: Path) -> None:
    """Clear away what killed processes of this machine left beside `final`.

    What stood there is put back if its process was killed before the new one was in its place.
    """
    named = re.compile(re.escape(f".{final.name}.") + r"[0-9a-f]{8}" + re.escape(LOCK))
    try:
        beside = sorted(final.parent.iterdir())
    except PermissionError:  # one may write there, and not look
        return
    for path in beside:
        if named.fullmatch(path.name):
            _clear_if_dead(path, final)


def _hidden(final: Path) -> Path:
    return final.parent / f".{final.name}.{secrets.token_hex(4)}"


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(folder.name + what)


def _lock_of(folder: Path) -> int | None:
    """Take the lock of a folder that is not there yet; None if somebody else was faster."""
    path = _beside(folder, LOCK)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:  # a file system without locks: nobody can tell who lives, and nobody clears
        return lock
    os.write(lock, _machine())
    if not path.exists():  # somebody took the lock for a dead one's before it was held
        os.close(lock)
        return None
    return lock


def _clear_if_dead(path: Path, final: Path) -> None:
    """Clear away what belongs to a lock, unless somebody holds it, or may hold it elsewhere."""
    try:
        lock = os.open(path, os.O_RDWR)
    except OSError:  # another user's, or gone by now
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = path.with_suffix("")
        machine = os.read(lock, MAX_BYTES)
        # Locks of some network file systems are seen by one machine only.
        if machine == _machine() or (not machine and not folder.exists()):
            _settle(folder, final)
    except OSError:  # it is held, or cannot be
        return
    finally:
        os.close(lock)


def _machine() -> bytes:
    return socket.gethostname().encode()[:MAX_BYTES]


def _settle(folder: Path, final: Path) -> None:
    """End what was begun: whatever is whole gets its place, and all the rest goes."""
    old = _beside(folder, OLD)
    if old.exists():
        if final.exists():
            # Under this name nobody takes for whole what is half cleared away.
            shutil.rmtree(folder, ignore_errors=True)
            old.rename(folder)
        else:
            old.rename(final)
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():  # a Spark that has not noticed yet may go on writing there
        _beside(folder, LOCK).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
