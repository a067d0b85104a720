"""A client in a process of its own: `asker.py KIND NAME FILE PAUSE URL...`, until its input ends.

It asks in four threads, each request with a body of its own, and pauses so many seconds between
two. FILE gets a line for each: the request, when it was asked and answered, and what is wrong.
`fairlead` connects to all addresses, the first the best; `nng` has a socket for each thread.
"""

import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

THREADS: Final = 4
TIMEOUT: Final = 60.0
"""Seconds within which there has to be a reply, whatever happens."""
Ask = Callable[[bytes], bytes]


class Asker:
    """Asks until it shall not."""

    def __init__(self, name: str, file: Path, pause: float) -> None:
        self._name, self._pause = name, pause
        self._file = file.open("w", buffering=1)
        self._over = threading.Event()
        self._writing = threading.Lock()

    def run(self, askers: list[Ask]) -> None:
        threads = [
            threading.Thread(target=self._ask, args=(k, ask)) for k, ask in enumerate(askers)
        ]
        for each in threads:
            each.start()
        sys.stdin.read()
        self._over.set()
        for each in threads:
            each.join()

    def _ask(self, k: int, ask: Ask) -> None:
        number = 0
        while not self._over.wait(random.expovariate(1 / self._pause)):
            body = f"{self._name}-{k}-{number}"
            number += 1
            begin, trouble = time.time(), "-"
            try:
                reply = ask(body.encode())
                if reply.split(b" ")[1:] != [body.encode()]:
                    trouble = f"wrong reply {reply!r}"
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the test's to show
                trouble = f"{type(error).__name__}: {error}"
            with self._writing:
                self._file.write(f"{body} {begin:.6f} {time.time():.6f} {trouble}\n")


def fairlead(asker: Asker, urls: list[str]) -> None:
    from fairlead.sockets import Req

    with Req(resend=1, retry=0.2) as req:
        for k, url in enumerate(urls):
            req.connect(url, name=str(k), priority=k + 1)
        asker.run([lambda body: req.request(body, timeout=TIMEOUT)] * THREADS)


def nng(asker: Asker, urls: list[str]) -> None:
    import pynng

    def one() -> Ask:
        req = pynng.Req0(resend_time=1000, recv_timeout=int(TIMEOUT * 1000))
        for url in urls:
            req.dial(url, block=False)

        def ask(body: bytes) -> bytes:
            req.send(body)
            return req.recv()  # type: ignore[no-any-return]

        return ask

    asker.run([one() for _ in range(THREADS)])


if __name__ == "__main__":
    KINDS: Final = {"fairlead": fairlead, "nng": nng}
    kind, name, file, pause, *urls = sys.argv[1:]
    KINDS[kind](Asker(name, Path(file), float(pause)), urls)
