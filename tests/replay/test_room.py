"""The kernel stops where its tables are full, and goes on in larger ones as if nothing had been."""

from random import Random

import numpy as np
import pytest
from tests.replay.engines import Kernel
from tests.replay.scenarios import KINDS, replay_scenario, some
from tests.strategies import Row

from fairlead.replay import event_run, memory
from fairlead.replay.event_run import EventRun
from fairlead.replay.flow_run import FlowRun
from fairlead.replay.layout import NONE, header


@pytest.mark.parametrize("kind", some(KINDS))
def test_small_tables_grow_at_any_event(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = 0
    for seed in range(25):
        scenario = replay_scenario(kind, Random(seed))  # noqa: S311
        if not scenario[1]:
            continue
        whole = Kernel(*scenario, by_events=True).through()
        with monkeypatch.context() as patch:
            patch.setattr(memory, "LEAST_ROWS", 4)
            patch.setattr(event_run, "LEAST_ROWS", 4)
            patch.setattr(event_run, "AT_ONCE", 3)
            kernel = Kernel(*scenario, by_events=True)
            assert kernel.through() == whole
        grown += len(kernel.run.memory.jobs) > 1
    assert grown > 5


def test_rows_of_what_is_over_are_used_again() -> None:
    messages = [{"id": f"{k:06}", "time": k, "service_time": 1} for k in range(20_000)]
    cluster = {"policy": "round-robin", "destination": [{"name": "A"}]}
    kernel = Kernel(cluster, messages, [], by_events=True)
    kernel.through()
    assert sum(chunk.rows for chunk in kernel.run.memory.jobs) <= 2 * event_run.AT_ONCE


def test_watches_of_what_is_acknowledged_or_late_are_used_again() -> None:
    sent = {"mode": "sorted", "delivery": "some"}
    messages = [
        {"id": f"{k:06}", "time": k, "service_time": 3 if k % 100 == 0 else 1, **sent}
        for k in range(20_000)
    ]
    subscribers = [{"name": n, "subject": "/s", "load_balanced": n == "A"} for n in "AB"]
    cluster = {"policy": "smartsockets", "options": {"delivery_timeout": 2}}
    kernel = Kernel({**cluster, "subscriber": subscribers}, messages, [], by_events=True)
    assert {row.outcome for row in kernel.through()} == {"routed", "timeout"}
    cells = kernel.run.memory.cells
    assert cells[header.OLDEST_WATCH] == cells[header.YOUNGEST_WATCH] == NONE
    assert 0 < cells[header.WATCHES_LEFT] <= 4 * event_run.AT_ONCE


GROUPS = 10_000
ONE = {"policy": "round-robin", "destination": [{"name": "A"}]}
BUSY = {"policy": "nanomsg", "destination": [{"name": "A", "capacity": 1}]}
LATE = {
    "policy": "smartsockets",
    "options": {"delivery_timeout": 1},
    "subscriber": [{"name": "A", "subject": "/s"}],
    "order": {"discipline": "priority"},
}
SENT = {"mode": "sorted", "delivery": "some", "service_time": 5}


@pytest.mark.parametrize(
    ("cluster", "more", "outcome"),
    [
        pytest.param(ONE, {}, "routed", id="done"),
        pytest.param(BUSY, {}, "routed", id="assigned when one is ready"),
        pytest.param(LATE, SENT, "timeout", id="timed out while they wait"),
        pytest.param(LATE, {**SENT, "priority": 9}, "timeout", id="entered, and timed out"),
    ],
)
def test_rows_of_groups_that_are_used_up_are_used_again(
    cluster: Row, more: Row, outcome: str
) -> None:
    """The array grows by one cell for a group: by its number it says where the row is."""

    def used(groups: int) -> int:
        messages = [
            {"id": f"{k:06}", "time": k - k % 5, "service_time": 1, "group": str(k), **more}
            for k in range(groups)
        ]
        kernel = Kernel(cluster, messages, [])
        assert {row.outcome for row in kernel.through()} == {outcome}
        return kernel.run.memory._used

    assert used(2 * GROUPS) - used(GROUPS) == GROUPS


DESTINATIONS = [{"name": n, "readers": k + 1, "speed": k + 1} for k, n in enumerate("ABC")]


@pytest.mark.parametrize(
    "policy", some(["weighted", "round-robin", "fewest-pending", "rendezvous", "hot-standby"])
)
def test_long_traffic_by_events_is_that_which_flows(policy: str) -> None:
    random = np.random.default_rng(7)
    times = np.cumsum(random.exponential(1 / 6, 30_000)).round(6).tolist()
    services = random.exponential(1, 30_000).round(6).clip(0.000_002).tolist()
    messages: list[Row] = [
        {"id": f"{k:05}", "time": time, "service_time": service}
        for k, (time, service) in enumerate(zip(times, services, strict=True))
    ]
    cluster = {"policy": policy, "destination": DESTINATIONS}
    changes = [
        {"time": times[at], "target": "A", "attribute": "enabled", "value": value}
        for at, value in ((9_000, False), (12_000, True))
    ]
    flowing = Kernel(cluster, messages, changes)
    stepping = Kernel(cluster, messages, changes, by_events=True)
    assert isinstance(flowing.run, FlowRun)
    assert isinstance(stepping.run, EventRun)
    assert flowing.through([10_000]) == stepping.through([5_000, 20_000])
