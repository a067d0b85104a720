"""Ports that stay free until a test listens at them: of those that no outgoing connection gets."""

import os
import socket
from itertools import cycle
from typing import Final

BELOW: Final = 32_000
"""Systems give outgoing connections ports from 32768 on."""
A_WORKER: Final = 1_000
"""So many ports has each process of the tests, of its own."""
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
_first = BELOW - (_worker + 1) * A_WORKER
_ports = cycle(range(_first + os.getpid() % 500, _first + A_WORKER))


def free_port() -> int:
    """One at which nobody listens now, and that no other test of this run gets."""
    while True:
        port = next(_ports)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
