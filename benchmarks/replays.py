"""j: a replay in memory, against simulators that a user would write a model in."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import ciw
import numpy as np
import pyarrow as pa
import simpy

from benchmarks.timing import Line, medians
from fairlead import Cluster
from fairlead.compiled.classes import classified
from fairlead.compiled.intake.whole import whole
from fairlead.compiled.plan import Plan
from fairlead.replay import replay
from fairlead.replay.columns import message_columns
from fairlead.replay.replays import Replays

LOAD = 0.9
SIMPY_PART, CIW_PART = 10, 50
"""They get so small a part of the messages; times are given for each message."""
ONE_ROUND = (0, 1, 2, 0, 1, 0)
WEIGHTS = (3, 2, 1)
MANY = 32


@dataclass
class Traffic:
    """Poisson arrivals, exponential work; seconds."""

    table: pa.Table
    times: list[float]
    services: list[float]
    priorities: list[int]


def traffic(messages: int, readers: int, *, raised: bool = False, grouped: bool = False) -> Traffic:
    random = np.random.default_rng(7)
    times = np.cumsum(random.exponential(1 / (LOAD * readers), messages)).round(6)
    services = random.exponential(1, messages).round(6)
    priorities = random.integers(0, 10, messages)
    ids = np.char.zfill(np.arange(messages).astype(np.str_), 9)
    columns: dict[str, Any] = {"id": ids, "time": times, "service_time": services}
    if raised:
        columns["priority"] = priorities
    if grouped:
        groups = random.integers(0, messages // 4 + 1, messages)
        columns["group"] = pa.array(groups).cast(pa.string())
    lists = (times.tolist(), services.tolist(), priorities.tolist())
    return Traffic(pa.table(columns), *lists)


def part_j(rows: int, runs: int) -> list[Line]:
    """In turn by weight over 3, the fewest pending of 32, and priorities and groups."""
    return [*in_turn(rows, runs), *fewest_pending(rows, runs), *priorities(rows, runs)]


def in_turn(rows: int, runs: int) -> list[Line]:
    given = traffic(rows, sum(WEIGHTS))
    names = [{"name": f"D{k}", "weight": w, "readers": w} for k, w in enumerate(WEIGHTS)]
    contenders = ours(given, Cluster.of("weighted", destination=names))
    turn = cycle(ONE_ROUND)
    contenders["SimPy"] = in_simpy(given, rows, WEIGHTS, lambda _: next(turn))
    contenders["Ciw"] = in_ciw(rows, WEIGHTS, ciw.routing.Cycle([2 + k for k in ONE_ROUND]))
    return lines_of("weighted over 3", contenders, rows, runs)


def fewest_pending(rows: int, runs: int) -> list[Line]:
    given = traffic(rows, MANY)
    names = [{"name": f"D{k}"} for k in range(MANY)]
    contenders = ours(given, Cluster.of("fewest-pending", destination=names))

    def choose(places: Sequence[simpy.Resource]) -> int:
        pending = [place.count + len(place.queue) for place in places]
        return pending.index(min(pending))

    ones = (1,) * MANY
    contenders["SimPy"] = in_simpy(given, rows, ones, choose)
    nodes = list(range(2, MANY + 2))
    contenders["Ciw"] = in_ciw(rows, ones, ciw.routing.JoinShortestQueue(destinations=nodes))
    return lines_of(f"fewest-pending over {MANY}", contenders, rows, runs)


def priorities(rows: int, runs: int) -> list[Line]:
    """SimPy and Ciw know no groups; they get the priorities alone."""
    lines = []
    order = {"discipline": "priority"}
    destination = [{"name": "A", "readers": MANY}]
    cluster = Cluster.of("round-robin", order=order, destination=destination)
    for grouped in (False, True):
        given = traffic(rows, MANY, raised=True, grouped=grouped)
        contenders = ours(given, cluster)
        contenders["SimPy"] = in_simpy(given, rows, (MANY,), lambda _: 0, raised=True)
        what = f"priorities{' and groups' if grouped else ''}, {MANY} readers"
        lines += lines_of(what, contenders, rows, runs)
    return lines


def lines_of(
    what: str, contenders: dict[str, Callable[[], object]], rows: int, runs: int
) -> list[Line]:
    found = medians(contenders, runs)
    each = {
        name: seconds / part_of(rows, {"SimPy": SIMPY_PART, "Ciw": CIW_PART}.get(name, 1))
        for name, seconds in found.items()
    }
    for name, seconds in each.items():
        print(f"    {name}: {seconds * 1e9:.0f} ns a message", flush=True)
    return [
        Line("j", f"{name}, {what}", mine, each[name] / each[mine], "")
        for name in ("SimPy", "Ciw")
        if name in each
        for mine in ("kernel", "replay")
    ]


def part_of(rows: int, part: int) -> int:
    return max(1, rows // part)


def ours(given: Traffic, cluster: Cluster) -> dict[str, Callable[[], object]]:
    """The kernel on columns of numbers, and the whole: table in, table out."""
    messages = whole(given.table, Plan([cluster], []), trust_ids=True, worked=True)
    plan, codes = classified(messages.table, Plan([cluster], []))
    columns = message_columns(messages, messages.table)
    batch = columns.batch(messages.table, plan, codes)

    def kernel() -> None:
        found = Replays(plan, columns.traits)
        found.feed(batch, columns.group_names, columns.tenant_names)
        found.finish()
        assert len(found.done().message) == len(codes)

    return {"kernel": kernel, "replay": lambda: replay(given.table, cluster, trust_ids=True)}


def in_simpy(
    given: Traffic,
    rows: int,
    readers: Sequence[int],
    choose: Callable[[Sequence[Any]], int],
    *,
    raised: bool = False,
) -> Callable[[], object]:
    """One process that sends, and one for each message under way."""
    messages = part_of(rows, SIMPY_PART)
    kind = simpy.PriorityResource if raised else simpy.Resource

    def work() -> None:
        env = simpy.Environment()
        places = [kind(env, capacity=n) for n in readers]
        done = [0.0] * messages

        def served(k: int) -> Generator[Any, Any, None]:
            place = places[choose(places)]
            more = {"priority": -given.priorities[k]} if raised else {}
            with place.request(**more) as turn:
                yield turn
                yield env.timeout(given.services[k])
                done[k] = env.now

        def sent() -> Generator[Any, Any, None]:
            for k in range(messages):
                yield env.timeout(given.times[k] - env.now)
                env.process(served(k))

        env.process(sent())
        env.run()
        assert all(done)

    return work


def in_ciw(rows: int, readers: Sequence[int], router: object) -> Callable[[], object]:
    """A node without work that sends to the others; Ciw draws its traffic itself."""
    messages = part_of(rows, CIW_PART)
    n = len(readers)
    leave = [ciw.routing.Leave() for _ in range(n)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(LOAD * sum(readers)), *[None] * n],
        service_distributions=[ciw.dists.Deterministic(0), *[ciw.dists.Exponential(1)] * n],
        number_of_servers=[float("inf"), *readers],
        routing=ciw.routing.NetworkRouting(routers=[router, *leave]),
    )

    def work() -> None:
        ciw.seed(7)
        ciw.Simulation(network).simulate_until_max_customers(messages, method="Finish")

    return work
