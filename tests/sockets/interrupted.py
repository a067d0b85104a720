"""A program whose signals raise: `interrupted.py KIND TIMES THREADS`, in its main thread.

It has so many other threads, which may take signals, too. An alarm every 0.3 ms raises inside
`send`, `recv` or `request`, so many times in all. Prints what was tried, what arrived how often,
and whether all still works.
"""

import collections
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any

from fairlead.sockets import Pull, Push, Req

EVERY = 0.0003
SECONDS = 20.0
OTHER = """
import collections, sys
from fairlead.sockets import Pull, Push, Rep
kind, url = sys.argv[1:]
if kind == "push":
    with Pull() as pull:
        pull.connect(url)
        found = collections.Counter()
        while (body := pull.recv()) != b"end":
            found[int(body)] += 1
    print(len(found), max(found.values()), sorted(found) == list(found), flush=True)
elif kind == "pull":
    with Push() as push:
        push.connect(url)
        for k in range(10**9):
            push.send(b"%d" % k)
else:
    with Rep() as rep:
        rep.connect(url)
        rep.serve(lambda body: body)
"""


class InterruptedHereError(Exception):
    """A signal has come."""


class Interrupting:
    """Counts signals; raises where one comes inside a method of a socket."""

    def __init__(self, *methods: str) -> None:
        self.methods = methods
        self.times = 0
        signal.signal(signal.SIGALRM, self.come)

    def come(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_name in self.methods:
                self.times += 1
                raise InterruptedHereError
            frame = frame.f_back


def main(kind: str, times: int, threads: int) -> None:
    for _ in range(threads):
        threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
    end: Any = {"push": Push, "pull": Pull, "req": Req}[kind]()
    url = end.bind("tcp://127.0.0.1:0")
    command = [sys.executable, "-c", OTHER, kind, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        while not [each for each in end.endpoints() if each.state == "up"]:
            time.sleep(0.01)
        interrupting = Interrupting("send", "recv", "request")
        signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)
        tried, found = 0, collections.Counter[bytes]()
        while interrupting.times < times:
            try:
                if kind == "push":
                    end.send(b"%d" % tried, timeout=SECONDS)
                elif kind == "pull":
                    found[end.recv(timeout=SECONDS)] += 1
                else:
                    assert end.request(b"%d" % tried, timeout=SECONDS) == b"%d" % tried
            except InterruptedHereError:
                pass
            tried += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        if kind == "push":
            end.send(b"end", timeout=SECONDS)
            assert other.stdout is not None
            arrived, most, in_order = other.stdout.readline().split()
            print(int(arrived) <= tried, most, in_order)
        elif kind == "pull":
            in_order = [*map(int, found)] == sorted(map(int, found))
            print(end.recv(timeout=SECONDS) != b"", max(found.values()), in_order)
        else:
            print(end.request(b"still", timeout=SECONDS) == b"still", 1, not end._pending)
        other.kill()
    assert threading.active_count() == 2 + threads
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
