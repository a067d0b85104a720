"""Waiting for what happens in other threads and processes, without saying how fast."""

import time
from collections.abc import Callable

from fairlead.sockets.base import Socket

PATIENCE = 20.0


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds; after a long time, it never will."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.001)


def until_quiet(number: Callable[[], int]) -> None:
    """Wait until a number has not changed for a while, on a machine that is full, too."""
    found, alike = -1, 0
    while alike < 3:
        alike = alike + 1 if found == (found := number()) else 0
        time.sleep(0.2)


def up(sockets: Socket) -> list[str]:
    """The peers that are connected."""
    return [each.name for each in sockets.endpoints() if each.state in ("up", "busy")]


def until_up(sockets: Socket, *names: str) -> None:
    """Wait until just these peers are connected."""
    until(lambda: sorted(up(sockets)) == sorted(names))
