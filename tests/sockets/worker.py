"""A peer in a process of its own, which can be killed: `worker.py KIND URL NAME`.

`nng` and `fairlead` answer each request with their name and the request; the request `poison` kills
`fairlead`. `nng-pull` and
`fairlead-pull` write what they receive to the file NAME, in lines. `device` gives requests to the
worker at the address NAME.
"""

import os
import sys
import threading
from collections.abc import Callable


def main(kind: str, url: str, name: str) -> None:
    if kind.startswith("nng"):
        nng(kind, url, name)
    elif kind == "device":
        device(url, name)
    else:
        ours(kind, url, name)


def nng(kind: str, url: str, name: str) -> None:
    import pynng

    if kind == "nng-pull":
        with pynng.Pull0(listen=url) as pull:
            keep(pull.recv, name)
    with pynng.Rep0(listen=url) as rep:
        print("ready", flush=True)
        while True:
            rep.send(f"{name} ".encode() + rep.recv())


def ours(kind: str, url: str, name: str) -> None:
    from fairlead.sockets import Pull, Rep

    if kind == "fairlead-pull":
        with Pull() as pull:
            pull.bind(url)
            keep(pull.recv, name)
    with Rep() as rep:
        rep.bind(url)
        print("ready", flush=True)
        rep.serve(lambda body: os._exit(1) if body == b"poison" else f"{name} ".encode() + body)


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
