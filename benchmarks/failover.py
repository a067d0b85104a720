"""o: how soon messages go elsewhere when a peer goes, and back to it when it is back."""

import json
import subprocess
import sys
import tempfile
import time

from benchmarks.timing import Line

RESTARTS = 200
GOAL = 100
"""Milliseconds within which the first message is to be at a peer that is back."""
PEERS = """
import json, os, random, select, socket, sys, time
folder, n = sys.argv[1], int(sys.argv[2])
places = {}
def listen(name):
    if folder:
        path = f"{folder}/{name}"
        if os.path.exists(path):
            os.unlink(path)  # as whoever comes after a process that was killed
        end = socket.socket(socket.AF_UNIX)
        end.bind(path)
        end.listen()
        places[name] = f"ipc://{path}"
    else:
        port = int(places[name].rpartition(":")[2]) if name in places else 0
        end = socket.create_server(("127.0.0.1", port))
        places[name] = f"tcp://127.0.0.1:{end.getsockname()[1]}"
    return end
def accept(listener):
    end, _ = listener.accept()
    end.sendall(bytes.fromhex("0053500000510000"))
    end.recv(8, socket.MSG_WAITALL)
    return end
def read(end, seconds):
    until = time.monotonic() + seconds
    while select.select([end], [], [], max(0, until - time.monotonic()))[0]:
        end.recv(65536)
listening, other = listen("better"), listen("worse")
print(json.dumps([places["better"], places["worse"]]), flush=True)
better, worse = accept(listening), accept(other)
away, back = [], []
for _ in range(n):
    read(better, random.uniform(0.01, 0.03))
    read(worse, 0)
    began = time.monotonic()
    better.close()
    listening.close()
    worse.recv(65536)
    away.append(time.monotonic() - began)
    read(worse, random.uniform(0.02, 0.2))
    began = time.monotonic()
    listening = listen("better")
    better = accept(listening)
    better.recv(65536)
    back.append(time.monotonic() - began)
print(json.dumps([away, back]), flush=True)
"""
"""Two peers by hand, in a process of their own, of which the better one goes and comes back."""


def times(folder: str) -> tuple[list[float], list[float]]:
    """Milliseconds until a message was at the worse peer, and at the better one again, sorted.

    There is one each half millisecond. `folder`: for Unix sockets; "": TCP.
    """
    from fairlead.errors import SocketTimeoutError
    from fairlead.sockets import Push

    command = [sys.executable, "-c", PEERS, folder, str(RESTARTS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as peers, Push() as push:
        assert peers.stdout is not None
        for priority, url in enumerate(json.loads(peers.stdout.readline()), 1):
            push.connect(url, priority=priority)
        while peers.poll() is None:
            try:
                push.send(b"x" * 100, timeout=1)
            except SocketTimeoutError:  # the peers have ended
                break
            time.sleep(0.0005)
        away, back = json.loads(peers.stdout.readline())
    return sorted(1000 * each for each in away), sorted(1000 * each for each in back)


def lines() -> list[Line]:
    """The slowest of a hundred, in parts of the goal."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, place in {"TCP": "", "Unix": folder}.items():
            away, back = times(place)
            middle, last = RESTARTS // 2, RESTARTS * 99 // 100
            note = (
                f"p50, p99: {back[middle]:.1f}, {back[last]:.1f} ms; "
                f"failover {away[middle]:.1f}, {away[last]:.1f} ms"
            )
            what = f"back at a peer, {kind}, p99"
            found.append(Line("o", what, f"{GOAL} ms", back[last] / GOAL, "<= 1", note))
    return found
