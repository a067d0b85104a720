"""The same traffic in SimPy, which knows nothing of Fairlead: message for message the same."""

from collections.abc import Generator
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import simpy

from fairlead import Cluster
from fairlead.replay import replay

MESSAGES = 20_000
WEIGHTS = {"A": 3, "B": 2, "C": 1}


class Job(NamedTuple):
    """A message; times in microseconds."""

    time: int
    service: int
    priority: int | None


def traffic(load: float) -> list[Job]:
    """Random times, so long that no two things ever happen at one moment."""
    random = Random(20_261_121)  # noqa: S311
    time, jobs = 0, []
    for _ in range(MESSAGES):
        time += round(random.expovariate(load) * 1_000_000_000)
        service = round(random.expovariate(1) * 1_000_000_000)
        jobs.append(Job(time, service, random.choice([None, None, 1, 2, 3])))
    return jobs


def replayed(jobs: list[Job], cluster: Cluster) -> list[tuple[str, int, int]]:
    """Destination, start and finish of each message, in order."""
    columns: dict[str, Any] = {
        "id": [f"{k:05}" for k in range(len(jobs))],
        "time": pa.array([job.time for job in jobs], pa.timestamp("us")),
        "service_time": [job.service / 1_000_000 for job in jobs],
        "priority": pa.array([job.priority for job in jobs], pa.int64()),
    }
    found = replay(pa.table(columns), cluster)
    micros = [found.column(name).cast(pa.int64()).to_pylist() for name in ("start", "finish")]
    return list(zip(found.column("destination").to_pylist(), *micros, strict=True))


def simulated(
    jobs: list[Job], destinations: list[str], resources: dict[str, Any]
) -> list[tuple[str, int, int]]:
    """The same from SimPy; the resources are of `env`, which each of them knows."""
    env = next(iter(resources.values()))._env
    found: list[Any] = [None] * len(jobs)

    def work(k: int) -> Generator[Any, Any, None]:
        job, name = jobs[k], destinations[k]
        yield env.timeout(job.time)
        raised = -1 if job.priority is None else job.priority
        more = {"priority": -raised} if isinstance(resources[name], simpy.PriorityResource) else {}
        with resources[name].request(**more) as turn:
            yield turn
            start = env.now
            yield env.timeout(job.service)
            found[k] = (name, start, env.now)

    for k in range(len(jobs)):
        env.process(work(k))
    env.run()
    return found


def test_weighted_round_robin_over_three_servers() -> None:
    jobs = traffic(load=5.4)
    one_round = "ABCABA"  # the lowest sent / weight, of equals the heavier
    env = simpy.Environment()
    resources = {name: simpy.Resource(env, capacity=n) for name, n in WEIGHTS.items()}
    destination = [{"name": n, "weight": w, "readers": w} for n, w in WEIGHTS.items()]
    found = replayed(jobs, Cluster.of("weighted", destination=destination))
    names = list((one_round * MESSAGES)[:MESSAGES])
    assert found == simulated(jobs, names, resources)


def test_the_highest_priority_first() -> None:
    jobs = traffic(load=1.8)
    env = simpy.Environment()
    resources = {"A": simpy.PriorityResource(env, capacity=2)}
    order = {"discipline": "priority"}
    cluster = Cluster.of("round-robin", order=order, destination=[{"name": "A", "readers": 2}])
    assert replayed(jobs, cluster) == simulated(jobs, ["A"] * MESSAGES, resources)
