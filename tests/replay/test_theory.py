"""Mean waits in front of readers are those of queueing theory, within sampling error.

The bounds are three to four standard errors of so many messages, by the theory's own variance.
"""

from functools import cache
from math import factorial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fairlead import Cluster
from fairlead.replay import replay

MESSAGES = 400_000
SERVICE = 1.0
"""Mean, in seconds."""


@cache
def ids() -> pa.Array:
    """In the order of arrival."""
    return pa.array([f"{k:06}" for k in range(MESSAGES)])


def moments(gaps: np.ndarray) -> pa.Array:
    """The times of arrival, in whole microseconds."""
    return pa.array((np.cumsum(gaps) * 1_000_000).astype(np.int64), pa.timestamp("us"))


def waits(
    load: float,
    *,
    readers: int = 1,
    speed: float = 1,
    fixed: bool = False,
    urgent: float = 0,
) -> pa.Table:
    """Poisson arrivals at one destination; `urgent`: the part of messages with a priority."""
    random = np.random.default_rng(20_261_121)
    gaps = random.exponential(SERVICE / (load * readers * speed), MESSAGES)
    services = np.full(MESSAGES, SERVICE) if fixed else random.exponential(SERVICE, MESSAGES)
    columns: dict[str, Any] = {
        "id": ids(),
        "time": moments(gaps),
        "service_time": services,
    }
    order = {"discipline": "fifo"}
    if urgent:
        raised = random.random(MESSAGES) < urgent
        columns["priority"] = pa.array(np.full(MESSAGES, 9), mask=~raised)
        order = {"discipline": "priority"}
    destination = {"name": "A", "readers": readers, "speed": speed}
    cluster = Cluster.of("round-robin", destination=[destination], order=order)
    return replay(pa.table(columns), cluster, trust_ids=True)


def mean_wait(rows: pa.Table) -> float:
    return float(np.mean(rows.column("wait").to_numpy()))


@pytest.mark.parametrize("speed", [1, 2])
@pytest.mark.parametrize("load", [0.5, 0.7])
def test_one_reader(load: float, speed: float) -> None:
    """M/M/1."""
    service = SERVICE / speed
    assert mean_wait(waits(load, speed=speed)) == pytest.approx(
        load * service / (1 - load), rel=0.03
    )


@pytest.mark.parametrize("readers", [2, 5])
def test_several_readers(readers: int) -> None:
    """M/M/c: Erlang's C."""
    load = 0.7
    offered = load * readers
    below = sum(offered**k / factorial(k) for k in range(readers))
    top = offered**readers / factorial(readers) / (1 - load)
    expected = top / (below + top) * SERVICE / (readers * (1 - load))
    assert mean_wait(waits(load, readers=readers)) == pytest.approx(expected, rel=0.04)


def test_work_of_one_length() -> None:
    """M/D/1: half the wait of M/M/1."""
    load = 0.7
    expected = load * SERVICE / (2 * (1 - load))
    assert mean_wait(waits(load, fixed=True)) == pytest.approx(expected, rel=0.03)


def test_priorities() -> None:
    """M/M/1 with two classes, not interrupting: Cobham's formula."""
    load, urgent = 0.7, 0.4
    rows = waits(load, urgent=urgent)
    found = rows.column("wait").to_numpy()
    raised = rows.column("priority").is_valid().to_numpy()
    residual = load * SERVICE
    first = residual / (1 - load * urgent)
    assert found[raised].mean() == pytest.approx(first, rel=0.02)
    assert found[~raised].mean() == pytest.approx(first / (1 - load), rel=0.04)


def test_a_group_in_the_hands_of_its_reader_keeps_no_other_reader_busy() -> None:
    """All messages in one group, five readers: the wait of one reader."""
    load = 0.5
    random = np.random.default_rng(7)
    count = MESSAGES // 4
    rows = pa.table(
        {
            "id": ids()[:count],
            "time": moments(random.exponential(SERVICE / load, count)),
            "service_time": random.exponential(SERVICE, count),
            "group": np.full(count, "g"),
        }
    )
    cluster = Cluster.of("round-robin", destination=[{"name": "A", "readers": 5}])
    found = replay(rows, cluster, trust_ids=True)
    assert mean_wait(found) == pytest.approx(load * SERVICE / (1 - load), rel=0.04)
