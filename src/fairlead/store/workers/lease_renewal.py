"""Keep a lease from ending while a handler works on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fairlead.errors import MessageError, StoreError
from fairlead.store.leasing import StoreWork


@contextmanager
def renewed(work: StoreWork, lease: float) -> Iterator[None]:
    """Extend the lease in the background, at each half of it, until the block ends.

    What is refused is not told here: whoever settles work that is lost hears of it, and a database
    that is gone for a moment is asked again.
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
    while not ended.wait(lease / 2):
        with suppress(StoreError):
            try:
                work.extend(lease)
            except MessageError:  # lost, or settled
                return
