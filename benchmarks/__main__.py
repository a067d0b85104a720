"""Run the benchmarks: `python -m benchmarks [a b c d e f] [--rows N] [--runs N] [--folder DIR]`."""

import argparse
import os
import platform
import tempfile
from pathlib import Path

from benchmarks.timing import Line

PARTS = "abcdef"
SMALL = {"spark.driver.memory": "3g"}
"""For part d alone: all that Spark gets, so that what grows with the messages would be seen."""


def main() -> None:
    """Print a line for each ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="which of a b c d e f")
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
    from benchmarks import live

    lines: list[Line] = []
    if "e" in parts:
        lines += live.part_e()
    if "f" in parts:
        lines += live.part_f()
    if "c" in parts:
        from benchmarks import in_memory

        lines += in_memory.part_c(folder, rows, runs)
    if {"a", "b", "d"} & set(parts):
        from benchmarks import on_spark
        from fairlead.pipeline.session import session

        events = folder / on_spark.EVENTS
        events.mkdir(exist_ok=True)
        spark = session(
            **{
                **(SMALL if parts == ["d"] else {}),
                "spark.eventLog.enabled": True,
                "spark.eventLog.dir": events.as_uri(),
                "spark.eventLog.compress": False,
            }
        )
        for part in "abd":
            if part in parts:
                lines += getattr(on_spark, f"part_{part}")(spark, folder, rows, runs)
        spark.stop()
    return sorted(lines, key=lambda line: line.part)


if __name__ == "__main__":
    main()
