"""Run the benchmarks: `python -m benchmarks [a b c …] [--rows N] [--runs N] [--folder DIR]`."""

import argparse
import os
import platform
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.timing import Line

PARTS = "abcdefghijklmnopqrstuvwxy"
ON_SPARK = {
    "a": ["on_spark"],
    "b": ["on_spark"],
    "g": ["policies"],
    "h": ["broadcast", "groups"],
    "i": ["report"],
    "k": ["scenarios"],
    "q": ["journals"],
    "t": ["streams"],
    "v": ["deliveries"],
    "d": ["on_spark"],
}
"""The parts that need Spark, in the order in which they run, and the modules of each."""
OF_RUNS = {
    "m": "choices",
    "n": "dialogs",
    "o": "sockets",
    "p": "pools",
    "s": "in_flight",
    "u": "amqp",
    "w": "consoles",
    "x": "forwards",
}
"""The parts for which only the number of runs counts, and their modules."""
SMALL = {"spark.driver.memory": "3g"}
"""For part d alone: all that Spark gets, so that what grows with the messages would be seen."""


def main() -> None:
    """Print a line for each ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        default=list(PARTS),
        help=f"which of {' '.join(PARTS)}",
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where messages are made and kept")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"found {', '.join(sorted(unknown))}, allowed: {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = run(given.parts, folder, given.rows, given.runs)
    print(
        f"\n{given.rows:,} messages, median of {given.runs} runs, {os.cpu_count()} cores, ", end=""
    )
    print(f"Python {platform.python_version()}")
    for line in lines:
        print(line)


def run(parts: list[str], folder: Path, rows: int, runs: int) -> list[Line]:
    """The lines of the parts that were asked for."""
    lines: list[Line] = []
    for part in "ef":
        if part in parts:
            lines += getattr(import_module("benchmarks.live"), f"part_{part}")()
    if "c" in parts:
        from benchmarks import in_memory

        lines += in_memory.part_c(folder, rows, runs)
    if "j" in parts:
        from benchmarks import replays

        lines += replays.part_j(rows // 10, runs)
    if "r" in parts:
        from benchmarks import answers

        lines += answers.part_r(folder, rows, runs)
    if "l" in parts:
        from benchmarks import stores

        lines += stores.part_l(runs, rows)
    lines += run_others(parts, folder, runs)
    if set(ON_SPARK) & set(parts):
        lines += run_on_spark([part for part in ON_SPARK if part in parts], folder, rows, runs)
    return sorted(lines, key=lambda line: line.part)


def run_others(parts: list[str], folder: Path, runs: int) -> list[Line]:
    """The lines of the parts for which the number of rows does not count."""
    lines: list[Line] = []
    for part, name in OF_RUNS.items():
        if part in parts:
            lines += getattr(import_module(f"benchmarks.{name}"), f"part_{part}")(runs)
    if "y" in parts:
        from benchmarks import channels

        lines += channels.part_y(folder, runs)
    return lines


def run_on_spark(parts: list[str], folder: Path, rows: int, runs: int) -> list[Line]:
    """The lines of the parts that need Spark, in one session."""
    from benchmarks import on_spark
    from fairlead.pipeline.spark.session import spark_session

    events = folder / on_spark.EVENTS
    events.mkdir(exist_ok=True)
    spark = spark_session(
        **{
            **(SMALL if parts == ["d"] else {}),
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": False,
        }
    )
    lines: list[Line] = []
    for part in parts:
        for name in ON_SPARK[part]:
            module = import_module(f"benchmarks.{name}")
            lines += getattr(module, f"part_{part}")(spark, folder, rows, runs)
    spark.stop()
    return lines


if __name__ == "__main__":
    main()
