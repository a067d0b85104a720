"""Show where a long run is: a bar on a terminal, a line a stage when piped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fairlead.runs.progress import Tell


class Stages:
    """Says which stage of a run is under way, on stderr."""

    def __init__(self, stages: int) -> None:
        """`stages`: how many there will be, about."""
        self.console = Console(stderr=True, highlight=False)
        self.bar: Progress | None = None
        self.stages = stages

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description:16}"),
                BarColumn(),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
            )
            self.task = self.bar.add_task("start", total=self.stages)
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[Tell]:
        """One stage, for as long as the block runs; it may tell how far it has come."""

        def tell(done: int, of: int) -> None:
            if self.bar is not None:
                self.bar.update(self.task, description=f"{stage} {done:,}/{of:,}")

        began = time.monotonic()
        if self.bar is not None:
            self.bar.update(self.task, description=stage)
        yield tell
        if self.bar is not None:
            self.bar.advance(self.task)
        else:
            seconds = time.monotonic() - began
            self.console.print(f"{stage}: {seconds:.1f} s", markup=False)
