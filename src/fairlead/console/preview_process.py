"""A preview in a process of its own, which may take only so long, and is ended when nobody asks.

The process reads what is asked from its input, as a line of JSON, so that no password shows in its
arguments. It says how far it has come, and what it has found, as lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from fairlead.console.preview import Preview, PreviewRequest, Proposal, preview
from fairlead.errors import FairleadError
from fairlead.store.store import Store

SECONDS: Final = 120.0
"""In which a preview has to be done."""
ENDING: Final = 5.0
"""In which a process that was killed has ended."""
LONGEST: Final = 16 * 1024 * 1024
"""Bytes of a line that says what was found: one for each destination of a cluster."""


@dataclass
class PreviewProgress:
    """How far a preview has come."""

    what: str = "start"
    done: int = 0
    of: int = 0
    found: dict[str, Any] | None = None
    """A `Preview` as plain data; None: it is not done."""
    error: str = ""
    """Why there is none, in one line; "": there is one, or it goes on."""

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        return self.found is not None or bool(self.error)


async def run(
    url: str, request: PreviewRequest, progress: PreviewProgress, seconds: float = SECONDS
) -> None:
    """Run one; `progress` says how it goes, and how it ended. Raises nothing of the preview's."""
    order = json.dumps({"url": url, "request": asdict(request)}).encode() + b"\n"
    process: Process | None = None
    try:
        async with asyncio.timeout(seconds):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __name__),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=LONGEST,
            )
            assert process.stdin is not None  # noqa: S101 - both are pipes
            assert process.stdout is not None  # noqa: S101
            with suppress(ConnectionError):
                process.stdin.write(order)
                await process.stdin.drain()
            process.stdin.close()
            while line := await process.stdout.readline():
                for name, value in json.loads(line).items():
                    setattr(progress, name, value)
        if not progress.over:
            progress.error = "preview: its process was ended from outside; memory may be short"
    except TimeoutError:
        progress.error = f"preview: not done within {seconds:.0f} seconds; ask about a shorter time"
    finally:
        if process is not None:
            await _end(process)


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(ENDING):
            await process.wait()


def main() -> None:
    """Do what the line of standard input asks, and say what comes of it on standard output."""
    os.nice(10)  # whoever works beside it goes first
    order = json.loads(sys.stdin.readline())
    plain = order["request"]
    request = PreviewRequest(**{**plain, "proposal": Proposal(**plain["proposal"])})
    try:
        with Store.open(order["url"], create=False) as store:
            found: Preview = preview(store, request, _tell)
    except FairleadError as error:
        _say(error=str(error) or type(error).__name__)
    else:
        _say(found=found.to_dict())


def _tell(what: str, done: int, of: int) -> None:
    _say(what=what, done=done, of=of)


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
