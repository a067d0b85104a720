"""A peer in a process of its own, which can be killed: `worker.py KIND URL NAME [LOG]`.

`nng` and `fairlead` answer each request with their name and the request; the request `poison` kills
`fairlead`. Where there is a LOG, they take a moment for each, and write when they began with it.
`nng-pull` and `fairlead-pull` write what they receive to the file NAME, in lines. `device` gives
requests to the worker at the address NAME.
"""

import os
import random
import sys
import threading
import time
from collections.abc import Callable

LONGEST = 0.01
"""Seconds that a request takes, at most."""


def main(kind: str, url: str, name: str, log: str = "") -> None:
    answer = answering(name, log)
    if kind.startswith("nng"):
        nng(kind, url, name, answer)
    elif kind == "device":
        device(url, name)
    else:
        ours(kind, url, name, answer)


def answering(name: str, log: str) -> Callable[[bytes], bytes]:
    if not log:
        return lambda body: f"{name} ".encode() + body
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def answer(body: bytes) -> bytes:
        os.write(file, b"%s %f %s\n" % (body, time.time(), name.encode()))
        time.sleep(random.uniform(0, LONGEST))  # noqa: S311
        return f"{name} ".encode() + body

    return answer


def nng(kind: str, url: str, name: str, answer: Callable[[bytes], bytes]) -> None:
    import pynng

    if kind == "nng-pull":
        with pynng.Pull0(listen=url) as pull:
            keep(pull.recv, name)
    with pynng.Rep0(listen=url) as rep:
        print("ready", flush=True)
        while True:
            rep.send(answer(rep.recv()))


def ours(kind: str, url: str, name: str, answer: Callable[[bytes], bytes]) -> None:
    from fairlead.sockets import Pull, Rep

    if kind == "fairlead-pull":
        with Pull() as pull:
            pull.bind(url)
            keep(pull.recv, name)
    with Rep() as rep:
        rep.bind(url)
        print("ready", flush=True)
        rep.serve(lambda body: os._exit(1) if body == b"poison" else answer(body))


def keep(recv: Callable[[], bytes], name: str) -> None:
    """Write each message at once: what was received is there, whatever happens next."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print("ready", flush=True)
    while True:
        os.write(file, recv() + b"\n")


def device(url: str, worker: str) -> None:
    from fairlead.sockets import Device

    with Device() as found:
        found.back.connect(worker)
        found.front.bind(url)
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
