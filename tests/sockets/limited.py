"""A process that may open few files: what sockets say there, in lines. `limited.py FOLDER`."""

import os
import resource
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fairlead.errors import SocketError
from fairlead.sockets import Pull, Push

FILES = 40
SECONDS = 20.0


def opened() -> list[int]:
    """All files that can still be opened."""
    found = []
    while True:
        try:
            found.append(os.dup(0))
        except OSError:
            return found


def close(files: list[int], n: int) -> None:
    for _ in range(n):
        os.close(files.pop())


def refused(what: Callable[[], object]) -> None:
    try:
        what()
    except SocketError as error:
        print(error)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("it never came to hold")
        time.sleep(0.001)


def main(folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    socket.getaddrinfo("localhost", 1)  # what it loads is loaded now
    files = opened()
    free = len(files)
    close(files, 2)
    for _ in range(3):
        refused(Push)
    close(files, free - 2)
    with Pull() as pull, Push() as push:
        url = pull.bind(f"ipc://{folder}/pull")
        push.connect(url, name="first")
        until(lambda: pull.endpoints()[0].state == "up")
        files = opened()
        for address in ("tcp://127.0.0.1:0", "tcp://localhost:0", f"ipc://{folder}/other"):
            refused(lambda address=address: push.bind(address))
        refused(lambda: push.bind("tls+tcp://127.0.0.1:0", tls=context))
        refused(lambda: push.connect("tls+tcp://127.0.0.1:1"))
        push.connect(url, name="unix")
        push.connect("tcp://localhost:1", name="named")
        until(lambda: all("ulimit" in each.trouble for each in push.endpoints()[1:]))
        print(*(each.in_words() for each in push.endpoints()[1:]), sep="\n")
        push.disconnect("named")
        close(files, 1)  # it connects, and is not accepted
        until(lambda: pull.endpoints()[-1].trouble)
        print(*(each.in_words() for each in pull.endpoints()), sep="\n")
        begin = time.process_time(), time.monotonic()
        time.sleep(0.5)
        end = time.process_time(), time.monotonic()
        print("idle" if end[0] - begin[0] < 0.2 * (end[1] - begin[1]) else "busy")
        close(files, len(files))
        until(lambda: [each.state for each in pull.endpoints()] == ["up"] * 2)
        for _ in range(2):
            push.send(b"a message", timeout=SECONDS)
            print(pull.recv(timeout=SECONDS))
    until(lambda: not Path(folder, "pull").exists())
    until(lambda: _free() == free)
    print("nothing is left open")


def _free() -> int:
    files = opened()
    n = len(files)
    close(files, n)
    return n


if __name__ == "__main__":
    main(sys.argv[1])
