"""Times side by side: every contender in turn, again and again; the median of each is told."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the table of results."""

    part: str
    what: str
    against: str
    ratio: float
    goal: str
    note: str = ""

    def __str__(self) -> str:
        goal = f"  goal {self.goal}" if self.goal else ""
        note = f"  ({self.note})" if self.note else ""
        return f"{self.part}  {self.what} / {self.against}: {self.ratio:.2f}{goal}{note}"


def medians(
    contenders: Mapping[str, Callable[[], object]], runs: int, *, warm: int = 1
) -> dict[str, float]:
    """Median seconds of each contender, all of them run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for run in range(warm + runs):
        for name, work in contenders.items():
            began = time.perf_counter()
            work()
            took = time.perf_counter() - began
            print(f"    {name}: {took:.2f} s{'' if run >= warm else ' (warm-up)'}", flush=True)
            if run >= warm:
                seconds[name].append(took)
    return {name: statistics.median(each) for name, each in seconds.items()}
