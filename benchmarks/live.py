"""e, f: one live choice against packages for weighted round robin; importing the package."""

import random
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable

import roundrobin

from benchmarks import data
from benchmarks.timing import Line
from fairlead import Balancer, Cluster

MANY = 1_000


def balancer(weights: list[int]) -> Callable[[], object]:
    destinations = [{"name": f"D{k}", "weight": w} for k, w in enumerate(weights)]
    return Balancer(Cluster.of("msmq", destination=destinations)).choose


def nanoseconds(choose: Callable[[], object], times: int) -> float:
    for _ in range(2_000):
        choose()
    return min(timeit.repeat(choose, number=times, repeat=7)) / times * 1e9


def part_e() -> list[Line]:
    """Nanoseconds of one choice; ours makes a Decision that can explain itself."""
    lines = []
    cost = {}
    for n in (len(data.WEIGHTS), MANY):
        pick = random.Random(7)  # noqa: S311 - weights for a benchmark
        weights = (
            list(data.WEIGHTS) if n == len(data.WEIGHTS) else pick.choices(range(1, 1001), k=n)
        )
        pairs = [(f"D{k}", w) for k, w in enumerate(weights)]
        times = 100_000 if n == len(data.WEIGHTS) else 3_000
        cost[n] = ours = nanoseconds(balancer(weights), times)
        print(f"    choose, {n} destinations: {ours:.0f} ns", flush=True)
        for name in ("weighted", "smooth"):
            peer = nanoseconds(getattr(roundrobin, name)(pairs), times)
            print(f"    roundrobin.{name}, {n} destinations: {peer:.0f} ns", flush=True)
            goal = "<= 1" if n == len(data.WEIGHTS) else ""
            lines.append(Line("e", f"choose, {n}", f"roundrobin.{name}", ours / peer, goal))
    few = len(data.WEIGHTS)
    lines.append(Line("e", f"choose, {MANY}", f"choose, {few}", cost[MANY] / cost[few], "< 125"))
    return lines


def part_f() -> list[Line]:
    """A process that imports the package, against one that does nothing."""

    def seconds(code: str) -> float:
        command = [sys.executable, "-c", code]
        return statistics.median(
            timeit.repeat(lambda: subprocess.run(command, check=True), number=1, repeat=11)
        )

    nothing, ours = seconds("pass"), seconds("import fairlead")
    first = seconds("from fairlead import Balancer, Cluster")
    return [
        Line("f", "import fairlead", "python -c pass", ours / nothing, "<= 3"),
        Line("f", "from fairlead import Balancer, Cluster", "python -c pass", first / nothing, ""),
    ]
