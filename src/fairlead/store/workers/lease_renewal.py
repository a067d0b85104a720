"""Keep a lease from ending while a handler works on."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from fairlead.errors import MessageError, StaleWorkError, StoreError
from fairlead.store.leasing import StoreWork

LOGGER: Final = logging.getLogger("fairlead.worker")


@contextmanager
def renewed(work: StoreWork, lease: float) -> Iterator[None]:
    """Extend the lease in the background, at each half of it, until the block ends.

    Work that was taken back, or that somebody else has by now, is named in the log: its handler
    learns of it only when it settles. A database that is gone for a moment is asked again. A
    handler that works for longer than the lease is named in the log, and again after each doubling:
    it may never return.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_extend, args=(work, lease, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _extend(work: StoreWork, lease: float, ended: threading.Event) -> None:
    began, due = time.monotonic(), lease
    while not ended.wait(lease / 2):
        worked = time.monotonic() - began
        if worked >= due:
            due = 2 * worked
            LOGGER.warning("event=still-working %s seconds=%.0f", in_words(work), worked)
        with suppress(StoreError):
            try:
                work.extend(lease)
            except StaleWorkError:
                if not ended.is_set():
                    LOGGER.warning("event=taken-away %s seconds=%.0f", in_words(work), worked)
                return
            except MessageError:  # it is settled
                return


def in_words(work: StoreWork) -> str:
    """What is worked on, for the log; no bodies."""
    names = {"queue": work.queue, "group": work.group, "message": work.latest}
    words = " ".join(f"{key}={json.dumps(value)}" for key, value in names.items())
    return f"{words} attempt={work.attempt}"
