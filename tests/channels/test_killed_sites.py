"""Messages over three sites whose servers are killed, and whose connections are cut: each once."""

from __future__ import annotations

import signal
import threading
import time
from collections import defaultdict
from pathlib import Path
from random import Random

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StoreError
from tests.channels.sites import Sites, taken, written
from tests.stores import made_url

QUEUES = """
[[queue]]
name = "ORDERS"
queue_manager = "QM2"
bind = "on-group"

[[queue]]
name = "ORDERS"
queue_manager = "QM3"
"""
GROUPS = 40
PORTION = 20


class Putting(threading.Thread):
    """Puts numbered messages at two of the sites, a portion at a time, until all are there."""

    def __init__(self, sites: Sites, count: int) -> None:
        super().__init__(daemon=True)
        self.sites, self.count = sites, count
        self.sent: dict[str, list[int]] = defaultdict(list)

    def run(self) -> None:
        for first in range(0, self.count, PORTION):
            site = ("QM1", "QM2")[first // PORTION % 2]
            self.put(site, range(first, min(first + PORTION, self.count)))

    def put(self, site: str, numbers: range) -> None:
        while True:
            try:
                with self.sites.stores[site].transaction() as tx:
                    for number in numbers:
                        tx.put("ORDERS", number, group=f"{site}-{number % GROUPS}")
            except StoreError:  # its session was ended: nothing of it was done
                time.sleep(0.05)
            else:
                break
        for number in numbers:
            self.sent[f"{site}-{number % GROUPS}"].append(number)


def disturb(sites: Sites, random: Random, until: threading.Thread, pause: float) -> int:
    """Kill servers, and end sessions of the database, until the thread ends; how often."""
    count = 0
    while until.is_alive():
        time.sleep(random.uniform(0.3, 1.0) * pause)
        name = random.choice(["QM1", "QM2", "QM3"])
        what = random.randrange(3)
        if what == 0 and sites.urls[name].startswith("postgresql"):
            end_sessions(sites.urls[name])
        elif what == 1:
            process = sites.servers[name].process
            process.send_signal(signal.SIGSTOP)
            time.sleep(random.uniform(0.05, 0.4))
            process.send_signal(signal.SIGCONT)
        else:
            sites.kill(name)
            sites.start(name)
        count += 1
    return count


def end_sessions(url: str) -> None:
    """End all sessions of a database, but this one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def run(folder: Path, seed: int, count: int, pause: float) -> None:
    dialects = {"QM1": "sqlite", "QM2": "postgresql", "QM3": "sqlite"}
    file = written(folder, QUEUES)
    with Sites(file, lambda name: made_url(dialects[name])) as sites:
        sites.declare()
        for store in sites.stores.values():
            store.close()
        sites.start()
        sites.stores = {name: Store.open(url) for name, url in sites.urls.items()}
        putting = Putting(sites, count)
        putting.start()
        disturb(sites, Random(seed), putting, pause)  # noqa: S311 - no secret
        putting.join()
        sites.until(lambda: left(sites) == 0, 300)
        got: dict[str, list[int]] = defaultdict(list)
        for name in ("QM2", "QM3"):
            for message in taken(sites.stores[name], "ORDERS"):
                got[message.group].append(message.body)
        assert got == putting.sent
        for store in sites.stores.values():
            assert store.check() == []
            assert all(not row.dead for row in store.queues())
            store.close()


def left(sites: Sites) -> int:
    """Messages that are still on their way."""
    try:
        rows = [
            (row.queue, row.messages) for store in sites.stores.values() for row in store.queues()
        ]
        under_way = [row.under_way for store in sites.stores.values() for row in store.channels()]
    except StoreError:
        return 1
    return sum(count for queue, count in rows if queue.startswith("channel:")) + sum(under_way)


@pytest.mark.slow
def test_each_message_arrives_once_in_the_order_of_its_group(tmp_path: Path) -> None:
    run(tmp_path, seed=1, count=2000, pause=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 52))
def test_whatever_is_killed(seed: int, tmp_path: Path) -> None:
    run(tmp_path, seed, count=4000, pause=1.0)


@pytest.mark.slow
def test_a_hundred_thousand_messages(tmp_path: Path) -> None:
    run(tmp_path, seed=99, count=100_000, pause=3.0)
