"""Clients that are killed while they receive: nothing is lost, and what comes again is marked."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from proton import Message

from fairlead import Store
from tests.serve.serving import serving, wait_until
from tests.stores import made_url

CLIENT = """
import sys
from proton.handlers import MessagingHandler
from proton.reactor import Container

class Reader(MessagingHandler):
    def __init__(self):
        super().__init__(prefetch=20, auto_accept=False)

    def on_start(self, event):
        connection = event.container.connect(sys.argv[1], allowed_mechs="ANONYMOUS")
        event.container.create_receiver(connection, "orders")

    def on_message(self, event):
        print(event.message.body, event.message.delivery_count, flush=True)
        self.accept(event.delivery)

Container(Reader()).run()
"""


def killed(url: str, seconds: float) -> list[str]:
    """What a client has received until it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, url], stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.4 + seconds)
    process.kill()
    said, _ = process.communicate(timeout=20)
    return [line for line in said.splitlines() if len(line.split()) == 2]


def hold(kind: str, kills: int) -> None:
    dice = random.Random(kills)  # noqa: S311
    with Store.open(made_url(kind)) as store, serving(store) as served:
        store.set_limits("orders", max_failures=None)  # each kill is a failure
        stop, sent = threading.Event(), 0

        def send() -> None:
            nonlocal sent
            connection: Any = served.connect()
            sender = connection.create_sender("orders")
            while not stop.is_set():
                sender.send(Message(str(sent), id=f"m{sent}", group_id=f"g{sent % 5}"))
                sent += 1
            connection.close()

        thread = threading.Thread(target=send)
        thread.start()
        lines: list[str] = []
        for _ in range(kills):
            lines += killed(served.url, dice.random() / 5)
        stop.set()
        thread.join()
        wait_until(lambda: store.queues()[0].working == 0)
        rest = set()
        while (work := store.take("orders")) is not None:
            with work:
                rest |= {message.body for message in work}
        first = [line.split()[0] for line in lines if line.endswith(" 0")]
        assert len(first) == len(set(first))
        assert {line.split()[0] for line in lines} | rest == set(map(str, range(sent)))
        for group in range(5):
            seen = [
                n for n in dict.fromkeys(int(line.split()[0]) for line in lines) if n % 5 == group
            ]
            assert seen == sorted(seen)
        assert store.check() == []


def test_nothing_is_lost_and_what_comes_again_is_marked() -> None:
    hold("sqlite", 2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_hundred_times(kind: str) -> None:
    hold(kind, 100)
