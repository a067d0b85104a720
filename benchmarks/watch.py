"""What runs beside a job: the memory of its processes, and how long its tasks took."""

import json
import statistics
import threading
from pathlib import Path
from typing import Self

import psutil

EVERY = 0.5
FEWEST_TASKS = 4


class Memory:
    """The largest resident memory of this process and of Python workers, in MiB."""

    def __init__(self) -> None:
        self.driver = 0.0
        self.worker = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(EVERY):
            self.driver = max(self.driver, me.memory_info().rss / 2**20)
            for child in me.children(recursive=True):
                try:
                    if "python" in child.name():
                        self.worker = max(self.worker, child.memory_info().rss / 2**20)
                except psutil.Error:  # it ended meanwhile
                    continue


def longest_task(events: Path, began: float, ended: float) -> float:
    """The longest task of the heaviest stage between two times, in medians of its tasks."""
    stages: dict[int, list[int]] = {}
    for file in events.rglob("*"):
        if not file.is_file():
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line) if '"SparkListenerTaskEnd"' in line else None
            if event:
                task = event["Task Info"]
                start, stop = task["Launch Time"], task["Finish Time"]
                if began * 1000 <= start and stop <= ended * 1000:
                    stages.setdefault(event["Stage ID"], []).append(stop - start)
    many = (tasks for tasks in stages.values() if len(tasks) >= FEWEST_TASKS)
    heaviest = max(many, key=sum, default=[1])
    return max(heaviest) / statistics.median(heaviest)
