"""What the main thread does with a socket's lock, no signal's handler interrupts.

A handler may raise, as Ctrl-C does, between any two instructions of the main thread, whichever
thread took the signal; what is half done then would be done twice, or never. So the main thread
puts another handler in the place of each meanwhile, which only notes what has come. Right after
that it calls those of the program. The threads of sockets take no signals.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar, Final

Handler = Callable[[int, FrameType | None], Any]

SIGNALS: Final = sorted(
    int(number) for number in signal.valid_signals() if number < signal.NSIG // 2
)
"""All but those of real time; each more makes every call slower."""
MAIN: Final = threading.main_thread
get_ident = threading.get_ident
handler_of: Final[Callable[[int], object]] = _signal.getsignal
"""Those of `signal` make an enumeration of each number, which takes ten times as long."""
set_handler: Final[Callable[[int, Handler], object]] = _signal.signal
mask = signal.pthread_sigmask
ELSEWHERE: Final = "main interpreter"
"""Of a thread that is the main one of another interpreter, to which no signal comes."""


class Calm:
    """A block in which the main thread is not interrupted; it stands before that of the lock."""

    __slots__ = ("_holds",)
    _inside: ClassVar[bool] = False
    _handlers: ClassVar[dict[int, Handler]] = {}
    """Those of the program, in whose place ours are."""
    _seen: ClassVar[list[object]] = []
    """All of the program's, the latest time."""
    _found: ClassVar[list[tuple[int, Handler]]] = []
    """Those of them that can raise."""
    _come: ClassVar[list[int]] = []
    """Signals that wait for their handlers."""

    def __init__(self) -> None:
        """Nothing is held back yet."""
        self._holds = False

    def __enter__(self) -> None:
        """Hold handlers back, unless a block around this one does."""
        if get_ident() != MAIN().ident or Calm._inside:
            return
        note = Calm._note
        try:
            seen = [*map(handler_of, SIGNALS)]
            if seen != Calm._seen:
                pairs = zip(SIGNALS, seen, strict=True)
                Calm._found = [
                    (n, handler) for n, handler in pairs if callable(handler) and handler != note
                ]
                Calm._seen = seen
            for number, handler in Calm._found:
                Calm._handlers[number] = handler
                set_handler(number, note)
            Calm._inside = self._holds = True
        except BaseException as error:  # of a handler in whose place none was yet
            Calm._inside = False
            Calm._put_back()
            if not (isinstance(error, ValueError) and ELSEWHERE in str(error)):
                raise

    def __exit__(self, *raised: object) -> None:
        """Call the handlers of what has come; they may raise here."""
        if self._holds:
            Calm._inside = False
            Calm._put_back()
            if Calm._come:
                Calm._call_back()

    @staticmethod
    def _note(number: int, _: FrameType | None) -> None:
        """Stands in the place of a handler."""
        Calm._come.append(number)
        if not Calm._inside:  # two that raised at once have left it there
            Calm._put_back()
            Calm._call_back()

    @staticmethod
    def _put_back() -> None:
        """Put all handlers back, whatever one raises that is there already."""
        try:
            for number, handler in [*Calm._handlers.items()]:
                set_handler(number, handler)
                Calm._handlers.pop(number, None)
        finally:
            if Calm._handlers:
                Calm._put_back()

    @staticmethod
    def _call_back() -> None:
        """Call the handlers of all that has come, whatever one raises."""
        try:
            while Calm._come:
                number = Calm._come.pop(0)
                handler = handler_of(number)
                if callable(handler):
                    handler(number, sys._getframe(1))  # noqa: SLF001 - where it would have come
        finally:
            if Calm._come:
                Calm._call_back()


def start_without_signals(thread: threading.Thread) -> None:
    """Start a thread that takes no signal: what is held back elsewhere stays so."""
    before = mask(signal.SIG_BLOCK, ())
    try:
        mask(signal.SIG_BLOCK, SIGNALS)
        thread.start()
    finally:
        mask(signal.SIG_SETMASK, before)
