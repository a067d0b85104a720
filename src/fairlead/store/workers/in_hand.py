"""What the handlers of this process are working on, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from fairlead.store.leasing import StoreWork
from fairlead.store.message import Message
from fairlead.store.transaction import Transaction
from fairlead.store.workers.handlers import Handler


class InHand:
    """A group in the hands of a thread, and since when a handler works on one message of it."""

    def __init__(self, work: StoreWork, handler: Handler, fail: Fail) -> None:
        """`fail`: settles it as failed, from another thread."""
        self.work = work
        self.thread = threading.current_thread()
        self.tx: Transaction | None = None
        """The transaction that is open for it."""
        self._fail = fail
        self._lock = threading.Lock()
        self._since: float | None = None
        self.handler = self._timed(handler)
        """The same, with the time in which it works on a message."""

    @property
    def seconds(self) -> float:
        """For how long a handler works on one message by now; 0: none does."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    def give_up(self, most: int) -> bool:
        """Its handler works for too long: that is its failure. Whether it was still at work.

        A transaction that it is in is undone, as nobody else could settle the group.
        """
        with self._lock:  # no handler returns meanwhile, so its connection is not another one's
            seconds = self.seconds
            if seconds < most:
                return False
            if self.tx is not None:
                self.tx.break_off()
        return self._fail(self.work, seconds, most)

    def _timed(self, handler: Handler) -> Handler:
        before = handler.before and partial(self._before, handler.before)
        return handler._replace(call=partial(self._call, handler.call), before=before)

    def _before(
        self, before: Callable[[Message], Callable[[Message], object] | None], message: Message
    ) -> Callable[[Message], object] | None:
        function = before(message)
        return None if function is None else partial(self._call, function)

    def _call(self, call: Callable[..., object], *given: object) -> object:
        """Call it; what it returns to be called later is a part of its work, too."""
        self._since = time.monotonic()
        try:
            result = call(*given)
        finally:
            with self._lock:
                self._since = None
        return partial(self._call, result) if callable(result) else result


Fail = Callable[[StoreWork, float, int], bool]
"""Settles work as failed after so many seconds, of which so many were allowed."""
IN_HAND: Final[dict[StoreWork, InHand]] = {}
"""What this process is working on, in whichever thread."""
