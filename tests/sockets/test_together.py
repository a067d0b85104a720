"""Messages that are written together: each goes where it would have gone alone, once, in order."""

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from fairlead import Cluster
from fairlead.sockets import Push
from fairlead.sockets.pipe import TOGETHER
from fairlead.sockets.ring import Ring
from fairlead.sockets.wire import Decoder, Protocol, greeting

from .waiting import until, until_up

SECONDS = 20
NAMES = "ABC"


class Reader:
    """A PULL by hand, of one connection, that reads when it is told to."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.found: list[bytes] = []

    def greet(self) -> None:
        self.end, _ = self._listener.accept()
        self._listener.close()
        self.end.sendall(greeting(Protocol.PULL))

    def read(self, most: int = 65_536) -> None:
        """Until the other side closes."""
        decoder = Decoder(Protocol.PULL)
        with closing(self.end):
            while piece := self.end.recv(most):
                self.found += decoder.feed(piece)
        decoder.end()

    def reset(self) -> None:
        """Be gone without a word."""
        self.end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end.close()


@contextmanager
def pushing(
    policy: str, tables: list[dict[str, Any]], buffer: int
) -> Iterator[tuple[Push, dict[str, Reader]]]:
    """A push that is connected to a reader for each of the tables, one after the other."""
    readers = {table["name"]: Reader() for table in tables}
    destinations = [{**table, "address": readers[table["name"]].url} for table in tables]
    cluster = Cluster.of(policy, destination=destinations)
    with Push(cluster, buffer=buffer, journal=True) as push:
        for name, reader in readers.items():
            reader.greet()
            until(lambda name=name: name in {e.name for e in push.endpoints() if e.state == "up"})
        yield push, readers


@given(
    st.sampled_from(["nanomsg", "round-robin", "fewest-pending"]),
    st.sampled_from([1, 2, 3, TOGETHER, 128]),
    st.lists(st.tuples(st.integers(1, 2), st.integers(0, 2)), min_size=1, max_size=len(NAMES)),
    st.integers(1, 2 * TOGETHER + 5),
    st.integers(),
)
@settings(max_examples=25)
def test_each_message_goes_where_it_would_have_gone_alone(
    policy: str, buffer: int, said: list[tuple[int, int]], n: int, seed: int
) -> None:
    tables: list[dict[str, Any]] = [{"name": name} for name, _ in zip(NAMES, said, strict=False)]
    if policy == "nanomsg":
        for table, (priority, capacity) in zip(tables, said, strict=True):
            table |= {"priority": priority, **({"capacity": capacity} if capacity else {})}
    sizes = [*random.Random(seed).choices([0, 1, 50], k=n), 5_000]  # noqa: S311
    bodies = [b"%d " % i + b"x" * size for i, size in enumerate(sizes)]
    with pushing(policy, tables, buffer) as (push, readers):
        alone = Ring({"policy": policy}, capacity=buffer)
        alone.add(*tables)
        for row in push.recorded().changes:
            if row["attribute"] == "present":
                alone.joined(0, row["target"].removeprefix("destination:"))
        for body in bodies:
            push.send(body, timeout=SECONDS)
    expected: dict[str, list[bytes]] = {name: [] for name in readers}
    for body in bodies:
        decision = alone.choose(0)
        assert decision is not None
        assert decision.destination is not None
        alone.completed(0, decision)
        expected[decision.destination].append(body)
    for name, reader in readers.items():
        reader.read()
        assert reader.found == expected[name]


@given(st.integers(1, 5), st.integers(1, len(NAMES)), st.integers())
@settings(max_examples=6)
def test_peers_that_read_slowly_get_each_message_once_and_in_order(
    buffer: int, n: int, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311
    tables: list[dict[str, Any]] = [
        {"name": name, "priority": rng.choice([1, 2])} for name in NAMES[:n]
    ]
    sizes = [rng.choice([0, 10, 4_000, 100_000]) for _ in range(300)]
    bodies = [b"%d " % i + b"x" * size for i, size in enumerate(sizes)]
    with pushing("nanomsg", tables, buffer) as (push, readers):
        pieces = (rng.choice([5_000, 20_000, 65_536]) for _ in readers)
        threads = [
            threading.Thread(target=reader.read, args=(piece,))
            for reader, piece in zip(readers.values(), pieces, strict=True)
        ]
        for thread in threads:
            thread.start()
        for body in bodies:
            push.send(body, timeout=SECONDS)
        push.close(SECONDS)
        journal, cluster = push.recorded(), push.cluster
    for thread in threads:
        thread.join()
    assert cluster is not None
    chosen = [row["destination"] for row in journal.messages]
    for name, reader in readers.items():
        assert reader.found == [
            body for body, each in zip(bodies, chosen, strict=True) if each == name
        ]
    asked = [{**row, "cluster": ""} for row in journal.messages]
    again = oracle.route(cluster.to_dict(), asked, journal.changes)
    assert [each.destination for each in again] == chosen


def test_of_a_peer_that_dies_what_was_held_is_at_another() -> None:
    n, tables = 100, [{"name": "A", "priority": 1}, {"name": "B", "priority": 2}]
    for _ in range(20):
        with pushing("nanomsg", tables, 2) as (push, readers):
            for i in range(n):
                if i == n // 2:
                    readers["A"].reset()
                push.send(b"%d" % i, timeout=SECONDS)
            until_up(push, "B")
            counters = push.counters()
        readers["B"].read()
        moved = counters["B"].get("failed_over", 0)
        assert counters["A"]["sent"] + counters["B"].get("sent", 0) == n + moved
        assert moved <= 2
        assert "lost" not in counters["A"]
        arrived = [int(body) for body in readers["B"].found]
        assert arrived == sorted(set(arrived))
        assert len(arrived) == counters["B"].get("sent", 0)


def test_what_is_held_goes_out_before_an_endpoint_is_closed_and_without_lingering() -> None:
    for close in (lambda push: push.disconnect("A"), lambda push: push.close(0)):
        with pushing("nanomsg", [{"name": "A"}], 128) as (push, readers):
            for i in range(20):
                push.send(b"%d" % i, timeout=SECONDS)
            assert push.counters()["A"] == {"sent": 20}
            close(push)
            readers["A"].read()
        assert [int(body) for body in readers["A"].found] == [*range(20)]
