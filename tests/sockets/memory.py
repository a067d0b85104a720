"""Memory of a process that sends many messages: `memory.py KIND BEFORE AFTER MEASURE`.

Sends BEFORE messages, then AFTER more, and prints by how much MEASURE grew with these: "bytes"
of resident memory, or "blocks" that Python has allocated. Both count the whole process, so that
it is one of its own.
"""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from fairlead.sockets import Device, Pull, Push, Rep, Req

SECONDS = 60.0
SIDE_BY_SIDE = 32


Measure = Callable[[], int]


def pushed(before: int, after: int, measure: Measure) -> int:
    """From PUSH to PULL."""
    with Push() as push, Pull() as pull:
        push.connect(pull.bind("tcp://127.0.0.1:0"))

        def write(n: int) -> None:
            for k in range(n):
                push.send(b"%d" % k, timeout=SECONDS)

        def send(n: int) -> int:
            sending = threading.Thread(target=write, args=(n,))
            sending.start()
            for k in range(n):
                assert int(pull.recv(timeout=SECONDS)) == k
            sending.join()
            gc.collect()
            return measure()

        return -send(before) + send(after)


def asked(before: int, after: int, measure: Measure, *, device: bool = False) -> int:
    """From REQ to REP, or with a device between them."""
    with Req() as req, Rep() as rep, Device() as between:
        url = rep.bind("tcp://127.0.0.1:0")
        if device:
            between.back.connect(url)
            url = between.front.bind("tcp://127.0.0.1:0")
        req.connect(url)

        async def ask(n: int) -> None:
            for k in range(n // SIDE_BY_SIDE):
                assert int(await req.arequest(b"%d" % k, timeout=SECONDS)) == k

        async def send(n: int) -> int:
            await asyncio.gather(*(ask(n) for _ in range(SIDE_BY_SIDE)))
            gc.collect()
            return measure()

        async def run() -> int:
            return -await send(before) + await send(after)

        threading.Thread(target=rep.serve, args=(bytes,)).start()
        return asyncio.run(run())


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def forwarded(before: int, after: int, measure: Measure) -> int:
    """From REQ through a device to REP."""
    return asked(before, after, measure, device=True)


KINDS = {"push": pushed, "req": asked, "device": forwarded}
MEASURES = {"bytes": resident, "blocks": sys.getallocatedblocks}


if __name__ == "__main__":
    print(KINDS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]), MEASURES[sys.argv[4]]))
