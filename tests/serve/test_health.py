"""Receivers that fail put the destination down whose queue they read."""

import json
from typing import Any

import pytest
from proton import Delivery

from fairlead import Cluster, Store
from tests.serve.serving import Served, wait_until


def states(store: Store) -> dict[str, str]:
    return {machine.name: machine.attributes["state"] for machine in store.pool("farm").machines}


@pytest.mark.costly
def test_a_receiver_that_fails_puts_its_destination_down_and_one_that_works_brings_it_back(
    store: Store, served: Served
) -> None:
    farm = Cluster.of(
        "round-robin",
        name="farm",
        destination=[{"name": "a"}, {"name": "b"}],
        health={"failures": 2, "cool_down": 1},
    )
    store.keep_clusters([farm])
    wait_until(lambda: "a" in served.server._executor._health._lookout._queues)
    for number in range(8):
        store.publish("farm", number)
    connection: Any = served.connect()
    receiver = connection.create_receiver("a", credit=1)
    for _ in range(2):
        receiver.receive(timeout=10)
        receiver.fetcher.unsettled[0].local.failed = True
        receiver.settle(Delivery.MODIFIED)
    receiver.receive(timeout=10)  # what is said before goes out
    wait_until(lambda: states(store)["a"] == "down")
    assert {store.publish("farm", "x").destination for _ in range(3)} == {"b"}
    wait_until(lambda: store.unwell("farm")[0].seconds == 0)
    receiver.accept()
    connection.close()
    wait_until(lambda: states(store)["a"] == "up" and not store.unwell("farm"))
    reasons = [json.loads(event.detail or "")["reason"] for event in store.journal(kind="changed")]
    assert reasons[0].startswith("2 failures in a row within ")
