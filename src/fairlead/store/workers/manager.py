"""What a service manager is told: systemd's protocol of notifications, where one has asked for it.

A unit with `Type=notify` waits for READY=1; one with `WatchdogSec=` starts a program again that has
said nothing for so long. What is said is a datagram to the socket that `$NOTIFY_SOCKET` names.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import Final

SOCKET: Final = "NOTIFY_SOCKET"
PERIOD: Final = "WATCHDOG_USEC"
MEANT: Final = "WATCHDOG_PID"


class ServiceManager:
    """Whoever started this program, if it wants to hear of it."""

    def __init__(self) -> None:
        """As the environment says; programs that this one starts are not asked."""
        self._address = os.environ.pop(SOCKET, "")
        period, meant = os.environ.pop(PERIOD, ""), os.environ.pop(MEANT, "")
        ours = meant in {"", str(os.getpid())} and period.isdecimal()
        self._period = int(period) / 2_000_000 if ours else None
        """Seconds: half of what it waits for."""
        self._said = 0.0

    def ready(self) -> None:
        """Tell the service manager that the process works now."""
        self._say("READY=1")

    def stopping(self) -> None:
        """It was told to stop, and ends what it has in hand."""
        self._say("STOPPING=1")

    def alive(self) -> None:
        """It goes on: said in the loop that looks after everything, not oftener than is needed."""
        now = time.monotonic()
        if self._period is not None and now - self._said >= self._period:
            self._said = now
            self._say("WATCHDOG=1")

    def _say(self, what: str) -> None:
        if not self._address:
            return
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.connect(address)
            connection.sendall(what.encode())
