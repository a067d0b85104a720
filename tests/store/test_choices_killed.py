"""Callers that are killed while they choose: what is counted is what was committed.

Each caller chooses, publishes and writes a row of its own into a ledger, all in one transaction,
and an administrator changes weights meanwhile. Killing does not test whether the disk kept what the
database had written; that is the database's own promise.
"""

import random
import subprocess
import sys
from collections import Counter
from time import monotonic, sleep

import pytest

from fairlead import Balancer, Change, Cluster, Store
from tests.stores import made_url

CALLER = """
import sys
from fairlead import Store
from fairlead.errors import StoreError

url, seed = sys.argv[1], int(sys.argv[2])
mark = "?, ?" if url.startswith("sqlite") else "%s, %s"
sql = f"INSERT INTO ledger (turn, destination) VALUES ({mark})"
k = 0
with Store.open(url) as store:
    while True:
        k += 1
        try:
            with store.transaction() as tx:
                if k % 50 == 0:
                    tx.change("pool", "DEV2", "weight", 100 + (seed * 31 + k) % 7)
                found = tx.publish("pool", k)
                tx.execute(sql, [found.sequence, found.destination])
        except StoreError as error:
            print(error, file=sys.stderr)
"""
WEIGHTS = {"DEV1": 100, "DEV2": 200, "DEV3": 50}


def begun(url: str, seed: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", CALLER, url, str(seed)])


def killed(url: str, seed: int, kills: int, callers: int = 3) -> None:
    """Kill callers, then hold what is counted against what was committed."""
    machines = [{"name": each, "weight": weight} for each, weight in WEIGHTS.items()]
    cluster = Cluster.of("msmq", name="pool", destination=machines)
    with Store.open(url) as store:
        store.keep_clusters([cluster])
        with store.transaction() as tx:
            tx.execute("CREATE TABLE ledger (turn BIGINT PRIMARY KEY, destination TEXT)")
    chance = random.Random(seed)  # noqa: S311
    running = [begun(url, seed * 1000 + k) for k in range(callers)]
    try:
        for k in range(kills):
            wait_for_turns(url, 3 * k)
            sleep(chance.uniform(0.05, 0.6))
            place = chance.randrange(callers)
            running[place].kill()
            running[place].wait()
            running[place] = begun(url, seed * 1000 + callers + k)
    finally:
        for each in running:
            each.kill()
            each.wait()
    with Store.open(url) as store:
        check(store, cluster)


def wait_for_turns(url: str, turns: int) -> None:
    """Until callers have chosen so often that a kill meets them at work."""
    end = monotonic() + 60
    with Store.open(url) as store:
        while store.pool("pool").choices <= turns and monotonic() < end:
            sleep(0.01)


def check(store: Store, cluster: Cluster) -> None:
    with store.transaction() as tx:
        ledger = dict(tx.execute("SELECT turn, destination FROM ledger").fetchall())
    events = sorted(store.journal(), key=lambda each: each.position)
    balancer, turn = Balancer(cluster), 0
    for each in events:
        if each.kind == "changed":
            value = int(str(each.detail).rpartition(" ")[2].rstrip("}"))
            balancer.apply(Change("DEV2", "weight", value))
        elif each.kind == "decided":
            assert each.sequence == turn, "a gap, or a turn twice"
            assert each.destination == balancer.choose().destination == ledger[turn]
            turn += 1
    assert len(ledger) == turn == store.pool("pool").choices
    sent = {each.name: each.sent for each in store.pool("pool").machines}
    assert sent == dict(Counter(ledger.values()))
    assert {each.queue: each.messages for each in store.queues()} == sent
    assert turn > 10
    assert store.check() == []


@pytest.mark.costly
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_is_counted_is_what_was_committed(dialect: str) -> None:
    killed(made_url(dialect), 1, kills=5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_is_counted_is_what_was_committed_after_many_kills(dialect: str, seed: int) -> None:
    killed(made_url(dialect), seed, kills=25)
