"""Claim: a small file that says which run writes to a place, and what became of that run."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from fairlead.errors import OutputError

if TYPE_CHECKING:
    from fairlead.pipeline.spark.hadoop import HadoopPath

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
PROCESSES: Final = Path("/proc/self/ns/pid")
ENDED: Final = "Z"
"""The state of a process that has ended, and whose parent has not looked yet."""
START: Final = 19
"""Where Linux says when a process was started, after the name of its program and its state."""


log = logging.getLogger("fairlead")


class RunClaim(msgspec.Struct, frozen=True):
    """A run that writes."""

    token: str
    host: str
    process: int
    started: str
    """When the process was started, in the clock of its machine; "" where that is not known."""
    machine: str
    """The machine since its last start, and the container there."""
    since: str
    """When the run claimed the place, in UTC."""

    @classmethod
    def own(cls) -> Self:
        """A new claim of this process."""
        process = os.getpid()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        host = socket.gethostname()
        return cls(secrets.token_hex(4), host, process, _started(process) or "", _machine(), now)

    def lives(self) -> bool | None:
        """Whether the run's process lives; None: it is on another machine, so nobody here sees."""
        if self.machine != _machine():
            return None
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # another user's
            pass
        return (_started(self.process) or "") == self.started

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


def take(place: HadoopPath, out: str) -> RunClaim:
    """Claim a place for this process: of two that do so at once, one does.

    `place`: of the small file. Raises OutputError where another run has the claim, OSError.
    """
    claim = RunClaim.own()
    try:
        write(claim, place)
    except FileExistsError:
        refuse(found(place), place, out)
        raise OutputError(f"{out}: found another run that began there just now") from None
    check(claim, place, out)
    return claim


def write(claim: RunClaim, place: HadoopPath) -> None:
    """Put the small file there. Raises FileExistsError where there is one, OSError."""
    place.create(msgspec.json.encode(claim))


def check(claim: RunClaim, place: HadoopPath, out: str) -> None:
    """Make sure that a place is still claimed by this run. Raises OutputError, OSError.

    Not every object store looks whether a file is there in the same step in which it writes it.
    """
    other = found(place)
    if other is None or other.token != claim.token:
        who = f": {other}" if other else ""
        raise OutputError(f"{out}: found that another run has taken the place meanwhile{who}")


def found(place: HadoopPath) -> RunClaim | None:
    """The claim in a file; None where there is no such file, or no whole one. Raises OSError."""
    with suppress(FileNotFoundError, msgspec.MsgspecError):
        return msgspec.json.decode(place.read(), type=RunClaim)
    return None


def clear_dead(place: HadoopPath, out: str) -> None:
    """Remove the claim that a killed run left. Raises OutputError where it may live, OSError."""
    left = found(place)
    refuse(left, place, out)
    log.warning("%s: a run that was killed (%s) left something there", out, left)
    place.delete()


def refuse(claim: RunClaim | None, place: HadoopPath, out: str) -> None:
    """Refuse a place to which another run writes, or may write. Raises OutputError."""
    lives = None if claim is None else claim.lives()
    if lives is False:
        return
    who = "which its claim does not name" if claim is None else str(claim)
    way = "" if lives else f"; if it has ended, delete {place}"
    raise OutputError(f"{out}: found another run that writes there ({who}), allowed: one{way}")


def _machine() -> str:
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(BOOT.read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(PROCESSES.readlink()))
    return " ".join(parts)


def _started(process: int) -> str | None:
    """When a process was started; None where that is not known, or it has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *values = stat.rpartition(")")[2].split()
    return None if state == ENDED else values[START - 1]
