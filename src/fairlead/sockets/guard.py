"""What the main thread does with a socket's lock, no signal's handler interrupts.

A handler may raise, as Ctrl-C does, between any two instructions; what is half done then would be
done twice, or never. So the main thread holds signals back meanwhile. Their handlers run right
after that. The threads of sockets take no signals. One that another thread of the program takes is
not held back.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

NAMES: Final = (
    *("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM"),
    *("SIGCHLD", "SIGTSTP", "SIGCONT", "SIGURG", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO"),
)
SIGNALS: Final = tuple(int(getattr(signal, name)) for name in NAMES)
"""Those that have handlers in programs; each more makes every call slower."""
MAIN: Final = threading.main_thread
get_ident = threading.get_ident
mask: Final[Callable[[int, Iterable[int]], set[int]]] = _signal.pthread_sigmask
"""The one of `signal` makes an enumeration of each signal, which takes ten times as long."""
BLOCK, SET = int(signal.SIG_BLOCK), int(signal.SIG_SETMASK)


class Calm:
    """A block in which the main thread is not interrupted; it stands before that of the lock."""

    __slots__ = ("_before",)
    _usual: ClassVar[set[int]] = set()
    """What was held back before, the latest time."""

    def __init__(self) -> None:
        """Nothing is held back yet."""
        self._before: set[int] | None = None

    def __enter__(self) -> None:
        """Hold signals back."""
        if get_ident() != MAIN().ident:
            return
        try:
            Calm._usual = self._before = mask(BLOCK, SIGNALS)
        except BaseException:  # a handler of what had come ran in there, and raised
            mask(SET, Calm._usual)
            raise

    def __exit__(self, *raised: object) -> None:
        """Let them come; their handlers may raise here."""
        if self._before is not None:
            mask(SET, self._before)


def start_without_signals(thread: threading.Thread) -> None:
    """Start a thread that takes no signal: what is held back elsewhere stays so."""
    before = mask(BLOCK, ())
    try:
        mask(BLOCK, SIGNALS)
        thread.start()
    finally:
        mask(SET, before)
