"""A preview in a process of its own, which may take only so long.

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
from dataclasses import asdict
from typing import Any, Final

from fairlead.console.preview import (
    Preview,
    PreviewedDestination,
    PreviewRequest,
    Proposal,
    Tell,
    WaitsThen,
    preview,
)
from fairlead.errors import FairleadError, MessageError
from fairlead.store.store import Store

SECONDS: Final = 120.0
"""In which a preview has to be done."""
STEP: Final = 0.5
"""After so many seconds without news the last is told again: whoever is told may have stopped."""
ENDING: Final = 5.0
"""In which a process that was killed has ended."""
LONGEST: Final = 16 * 1024 * 1024
"""Bytes of a line that says what was found: some for each destination of a cluster."""


def preview_apart(
    url: str, request: PreviewRequest, tell: Tell, seconds: float = SECONDS
) -> Preview:
    """What `preview` finds, in another process, which is ended after so many seconds.

    `tell`: may raise, which ends it, too. Raises MessageError where there is nothing to be found.
    """
    return asyncio.run(_apart(url, request, tell, seconds))


async def _apart(url: str, request: PreviewRequest, tell: Tell, seconds: float) -> Preview:
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
            progress: tuple[str, int, int] = ("read", 0, 1)
            while True:
                try:
                    async with asyncio.timeout(STEP):
                        line = await process.stdout.readline()
                except TimeoutError:
                    tell(*progress)
                    continue
                if not line:
                    break
                news = json.loads(line)
                if "error" in news:
                    raise MessageError(news["error"])
                if "found" in news:
                    return _found(news["found"])
                progress = tuple(news["told"])
                tell(*progress)
    except TimeoutError:
        raise MessageError(
            f"preview: found more than can be decided within {seconds:g} seconds, allowed: a "
            "shorter time"
        ) from None
    finally:
        if process is not None:
            await _end(process)
    raise MessageError("preview: its process was ended from outside; memory may have been short")


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(ENDING):
            await process.wait()


def _found(plain: dict[str, Any]) -> Preview:
    """The preview that `to_dict` gave."""
    waits = plain["waits"]
    return Preview(
        **{
            **plain,
            "destinations": [PreviewedDestination(**row) for row in plain["destinations"]],
            "nobody": tuple(plain["nobody"]),
            "waits": waits and {name: WaitsThen(**row) for name, row in waits.items()},
        }
    )


def main() -> None:
    """Do what the line of standard input asks, and say what comes of it on standard output."""
    os.nice(10)  # whoever works beside it goes first
    order = json.loads(sys.stdin.readline())
    plain = order["request"]
    request = PreviewRequest(**{**plain, "proposal": Proposal(**plain["proposal"])})
    try:
        with Store.open(order["url"], create=False) as store:
            result = preview(store, request, _tell)
    except FairleadError as error:
        _say(error=str(error))
    else:
        _say(found=result.to_dict())


def _tell(what: str, done: int, of: int) -> None:
    _say(told=[what, done, of])


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
