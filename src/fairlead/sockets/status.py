"""How it stands with a device, for other processes on the same machine that ask."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

from fairlead.errors import SocketError, SocketTimeoutError, UserError
from fairlead.sockets.base import Socket
from fairlead.sockets.closing import Closing
from fairlead.sockets.device import Device
from fairlead.sockets.peers import PEER
from fairlead.sockets.rep import Rep
from fairlead.sockets.req import Req

DRAIN, RESUME, ERROR = "drain", "resume", "error"
SECONDS: Final = 2.0
"""Within which a device that runs has answered."""
GONE: Final = (errno.ENOENT, errno.ECONNREFUSED)
"""Nobody listens at the address: no device was started, or it has ended."""


def address_for(file: Path) -> str:
    """Where a device that was started with this file can be asked, by the same user only.

    It goes by the file's name, whatever that leads to by now. Raises SocketError.
    """
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder /= f"fairlead-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        raise SocketError(
            f"{folder}: {error.strerror}, allowed: a folder for the sockets of devices that run "
            "(XDG_RUNTIME_DIR says where)"
        ) from None
    if owner != os.getuid():
        raise SocketError(f"{folder}: found a folder of somebody else, allowed: one's own")
    digest = hashlib.sha256(os.path.abspath(file).encode()).hexdigest()[:16]  # noqa: PTH100 - links stay
    return f"ipc://{folder / digest}"


class Status(Closing):
    """Answers whoever asks, as long as it is open."""

    def __init__(self, device: Device, address: str) -> None:
        """`address`: see `address_for`. Raises SocketError, also if a device answers there."""
        self._device = device
        self._rep = Rep()
        self._rep.quiet = True
        try:
            self._rep.bind(address)
        except SocketError as error:
            self._rep.close()
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
            raise SocketError(
                "found a device that runs with the same file, allowed: one; a copy of the file is "
                "another"
            ) from None
        self._thread = threading.Thread(target=self._rep.serve, args=(self._answer,), daemon=True)
        self._thread.start()

    def _answer(self, asked: bytes) -> bytes:
        try:
            return json.dumps(self._done(asked)).encode()
        except UserError as error:
            return json.dumps({ERROR: str(error)}).encode()

    def _done(self, asked: bytes) -> list[dict[str, Any]]:
        """Do what a command says, if there is one, and look."""
        command: dict[str, str] = json.loads(asked) if asked else {}
        for name, does in ((DRAIN, self._device.back.drain), (RESUME, self._device.back.resume)):
            if name in command:
                does(command[name])
        return look(self._device)

    def close(self) -> None:
        """Answer nobody any more."""
        self._rep.close()
        self._thread.join()


def look(device: Device) -> list[dict[str, Any]]:
    """Each endpoint and connected peer of both sides, with its counters."""
    return [
        {"side": name, **endpoint._asdict(), **_counters(side, endpoint.name)}
        for side, name in ((device.front, "front"), (device.back, "back"))
        for endpoint in side.endpoints()
    ]


def _counters(side: Socket, name: str) -> Counter[str]:
    """Of one peer; or, where nobody is connected to an endpoint, of all who were."""
    total: Counter[str] = Counter()
    for peer, counters in side.counters().items():
        if name in (peer, peer.rpartition(PEER)[0]):
            total.update(counters)
    return total


def asked(file: Path, command: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """How it stands with the device that runs with this file. Raises SocketError.

    `command`: what it is to do before, `drain` or `resume`, with a peer's name.
    """
    body = json.dumps(command).encode() if command else b""
    with Req() as req:
        req.connect(address_for(file))
        try:
            answer: Any = json.loads(req.request(body, timeout=SECONDS))
        except SocketTimeoutError:
            raise SocketError(_silent(file, req.endpoints()[0].trouble)) from None
        if isinstance(answer, dict):
            raise SocketError(f"{file}: {answer[ERROR]}")
        rows: list[dict[str, Any]] = answer
        return rows


def _silent(file: Path, trouble: str) -> str:
    """Why there is no answer."""
    if trouble not in map(os.strerror, GONE):
        return (
            f"{file}: found a device that does not answer within {SECONDS:g} s, allowed: one that "
            "is not stopped"
        )
    if not file.exists():
        return f"{file}: found no such file and no device that runs with it, allowed: one"
    return (
        f"{file}: found no device that this user (id {os.getuid()}) runs with this file on this "
        f"machine, allowed: one (fairlead device {file} --bind ADDRESS)"
    )
