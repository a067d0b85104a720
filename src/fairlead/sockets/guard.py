"""What the main thread does with a socket's lock, no signal's handler interrupts.

A handler may raise, as Ctrl-C does, between any two instructions; what is half done then would be
done twice, or never. So the main thread holds signals back meanwhile. Their handlers run right
after that. The threads of sockets take no signals. One that another thread of the program takes is
not held back.
"""

from __future__ import annotations

import signal
import threading
from typing import Final

SIGNALS: Final = signal.valid_signals()
MAIN: Final = threading.main_thread
get_ident = threading.get_ident
mask = signal.pthread_sigmask


class Calm:
    """A block in which the main thread is not interrupted; it stands before that of the lock."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        """Nothing is held back yet."""
        self._before: set[int] | None = None

    def __enter__(self) -> None:
        """Hold signals back."""
        if get_ident() != MAIN().ident:
            return
        before = mask(signal.SIG_BLOCK, ())
        try:
            mask(signal.SIG_BLOCK, SIGNALS)  # handlers of what has come may run in here, and raise
            self._before = before
        except BaseException:
            mask(signal.SIG_SETMASK, before)
            raise

    def __exit__(self, *raised: object) -> None:
        """Let them come; their handlers may raise here."""
        if self._before is not None:
            mask(signal.SIG_SETMASK, self._before)


def start_without_signals(thread: threading.Thread) -> None:
    """Start a thread that takes no signal: what is held back elsewhere stays so."""
    before = mask(signal.SIG_BLOCK, ())
    try:
        mask(signal.SIG_BLOCK, SIGNALS)
        thread.start()
    finally:
        mask(signal.SIG_SETMASK, before)
