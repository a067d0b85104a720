"""Programs that send and receive without a pause, and connect again where they are cut off."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from proton import Delivery, Message, ProtonException, Timeout
from proton.utils import BlockingConnection

QUEUE = "orders"
GROUPS = 5
WAIT = 60.0
"""Seconds for what is left to come, once nobody sends any more."""


class Load:
    """Two programs that send, two that receive, and what they have seen.

    Whoever does not know whether a message was stored sends it again, under the same id.
    """

    def __init__(self, url: Callable[[], str]) -> None:
        """`url`: of a server, asked for each connection."""
        self._url = url
        self._sending, self._receiving = threading.Event(), threading.Event()
        self.sent: set[str] = set()
        """Those that were accepted."""
        self.got: list[tuple[str, int]] = []
        """Body and delivery-count, in the order in which anybody got them."""
        self.refused: Counter[str] = Counter()
        """Conditions with which messages were rejected."""
        self._threads = [
            threading.Thread(target=work, args=[k], daemon=True)
            for work in (self._send, self._receive)
            for k in range(2)
        ]
        for each in self._threads:
            each.start()

    def end(self) -> None:
        """Nobody sends any more; all that was sent is received, or it takes too long."""
        self._sending.set()
        for each in self._threads[:2]:
            each.join(WAIT)
        until = time.monotonic() + WAIT
        while time.monotonic() < until and not self.sent <= {body for body, _ in self.got}:
            time.sleep(0.1)
        self._receiving.set()
        for each in self._threads:
            each.join(WAIT)
            assert not each.is_alive()

    def check(self) -> None:
        """Nothing is lost, what comes again is marked, and groups keep their order."""
        bodies = [body for body, _ in self.got]
        assert set(bodies) == self.sent
        first = [body for body, again in self.got if not again]
        assert [body for body, times in Counter(first).items() if times > 1] == []
        by_group = defaultdict(list)
        for body in dict.fromkeys(bodies):
            sender, n = map(int, body.split("-"))
            by_group[sender, n % GROUPS].append(n)
        assert all(found == sorted(found) for found in by_group.values())

    def _connected(self, work: Callable[[Any], None]) -> None:
        """Do something with a connection, until it is broken off, which is no error."""
        connection: Any = None
        try:
            connection = BlockingConnection(self._url(), timeout=20, allowed_mechs="ANONYMOUS")
            work(connection)
        except (ProtonException, OSError):
            time.sleep(0.05)
        finally:
            if connection is not None:
                connection.timeout = 1
                with suppress(ProtonException, OSError):
                    connection.close()

    def _send(self, k: int) -> None:
        numbers = count()
        left: list[int] = []

        def send(connection: Any) -> None:
            sender = connection.create_sender(QUEUE)
            while not self._sending.is_set() or left:
                left[:] = left or [next(numbers) for _ in range(GROUPS)]
                under_way = {n: sender.link.send(self._message(k, n)) for n in left}
                try:
                    connection.wait(partial(_are_settled, under_way.values()))
                finally:
                    left[:] = [n for n, each in under_way.items() if not self._is_stored(each)]
                    self.sent |= {f"{k}-{n}" for n in under_way if n not in left}

        while not self._sending.is_set() or left:
            self._connected(send)

    def _message(self, k: int, n: int) -> Message:
        return Message(f"{k}-{n}", id=f"{k}-{n}", group_id=f"{k}-{n % GROUPS}")

    def _is_stored(self, delivery: Any) -> bool:
        if delivery.settled and delivery.remote_state == Delivery.REJECTED:
            self.refused[delivery.remote.condition.name] += 1
        return bool(delivery.remote_state == Delivery.ACCEPTED)

    def _receive(self, k: int) -> None:
        dice = random.Random(k)  # noqa: S311

        def receive(connection: Any) -> None:
            receiver = connection.create_receiver(QUEUE, credit=10)
            while not self._receiving.is_set():
                with suppress(Timeout):
                    for _ in range(dice.randrange(1, 5)):
                        message = receiver.receive(timeout=0.5)
                        self.got.append((message.body, message.delivery_count))
                for _ in range(len(receiver.fetcher.unsettled)):
                    receiver.accept()

        while not self._receiving.is_set():
            self._connected(receive)


def _are_settled(every: Iterable[Any]) -> bool:
    return all(each.settled for each in every)
