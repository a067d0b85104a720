"""Temporary queues in a store: each lives as long as the link that asked for it.

A temporary queue is a group of one queue, so nothing is left of it when it is gone. A message of
another queue says that it is there, which its server keeps as work; where the server dies, another
one gets that work, and removes it.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Final

from fairlead.errors import MessageError, StaleWorkError
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.temporary import MESSAGES, TEMPORARY, THERE
from fairlead.store.store import Store

WAIT: Final = 2.0
"""Seconds for the work to be given back that another server has just looked at."""
AT_ONCE: Final = 100


class Temporaries:
    """The temporary queues of one server's clients. Thread-safe."""

    def __init__(self, store: Store, lease: float) -> None:
        """`lease`: seconds for which the work is taken that says that they are there."""
        self._store, self._lease = store, lease
        self._kept: dict[str, StoreWork] = {}
        self._is_used = False
        """Whether any server has ever had one."""

    def make(self) -> str:
        """A new one; its address, which nobody can guess."""
        address = TEMPORARY + secrets.token_urlsafe(16)
        work = None
        while work is None:
            self._store.send(THERE, None, group=address)
            work = self._store.take(THERE, WAIT, group=address, lease=self._lease)
        list(work)
        self._kept[address] = work
        return address

    def remove(self, address: str) -> None:
        """One is not wanted any more; nor is what waits in it."""
        work = self._kept.pop(address, None)
        with suppress(StaleWorkError):  # another server took us for dead, and has removed it
            if work is not None:
                self._remove(work)

    def missing(self, addresses: set[str]) -> set[str]:
        """Those that are not there."""
        others = addresses - self._kept.keys()
        if not others or not self._exists():
            return others
        return others - {work.group for work in self._store.working(THERE)}

    def renew(self) -> None:
        """Keep what is kept; remove those of servers that are gone."""
        for address, work in [*self._kept.items()]:
            try:
                work.extend(self._lease)
            except StaleWorkError:
                self._kept.pop(address, None)
        if not self._exists():
            return
        for work in self._store.take_many(THERE, AT_ONCE, lease=self._lease):
            if work.attempt == 1:  # the server that is about to take it has not done so yet
                work.release()
                continue
            list(work)
            with suppress(StaleWorkError):
                self._remove(work)

    def _remove(self, work: StoreWork) -> None:
        while left := self._store.take(MESSAGES, group=work.group):
            list(left)
            left.accept()
        work.accept()

    def _exists(self) -> bool:
        if not self._is_used:
            with suppress(MessageError):
                self._store.check_queue(THERE)
                self._is_used = True
        return self._is_used
