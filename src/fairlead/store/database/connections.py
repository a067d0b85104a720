"""A store's connections: each is used by one thread at a time, and kept for the next."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fairlead.errors import MessageError, StoreError
from fairlead.store.database.port import Database


class Connections:
    """As many connections as threads use at one time. Thread-safe; not for a forked child."""

    caller = "thread"
    """Who uses a connection at a time."""

    def __init__(self, connect: Callable[[], Database], place: str) -> None:
        """`connect`: makes one. `place`: the database, as errors name it."""
        self._connect = connect
        self._place = place
        self._idle: deque[Database] = deque()
        self._writers: set[object] = set()
        """Those who are in a transaction."""
        self._closed = False
        self.losses = 0
        """Connections that were lost while they were used."""
        self._process = os.getpid()

    def close(self) -> bool:
        """Close them, those that are used when they are given back.

        Returns whether they were this process's: a forked child leaves them to its parent.
        """
        self._closed = True
        if self._process != os.getpid():
            return False
        self._close_idle()
        return True

    @contextmanager
    def one(self) -> Iterator[Database]:
        """A connection to read by, outside a transaction."""
        database, _ = self._free()
        try:
            yield database
        except BaseException as error:
            _undo(database, error)
            raise
        finally:
            self._give_back(database)

    @contextmanager
    def alone(self) -> Iterator[Database]:
        """A connection for one statement that writes, and is a transaction of its own."""
        self.refuse_nested()
        with self.one() as database:
            yield database

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """A transaction: committed at the end of the block, undone where it raises."""
        self.refuse_nested()
        database = self._begun()
        caller = self._caller()
        self._writers.add(caller)
        try:
            yield database
            database.commit()
        except BaseException as error:
            _undo(database, error)
            raise
        finally:
            self._writers.discard(caller)
            self._give_back(database)

    @contextmanager
    def joined(self) -> Iterator[None]:
        """A transaction of the caller's own: his thread writes there, and nowhere else."""
        caller = self._caller()
        joins = caller not in self._writers
        if joins:
            self._writers.add(caller)
        try:
            yield
        finally:
            if joins:
                self._writers.discard(caller)

    def _caller(self) -> object:
        """Who uses a connection now, and is in one transaction at most."""
        return threading.get_ident()

    def _begun(self) -> Database:
        """A connection in a transaction; where an idle one was lost meanwhile, a new one."""
        while True:
            database, new = self._free()
            try:
                database.begin()
            except StoreError:
                self._give_back(database)
                if new or not database.lost:
                    raise
            except BaseException:  # whoever asked was cancelled, and it may have begun
                with suppress(StoreError):
                    database.rollback()
                self._give_back(database)
                raise
            else:
                return database

    def _free(self) -> tuple[Database, bool]:
        """A connection that no other thread uses; whether it is a new one."""
        if self._closed:
            raise closed(self._place)
        if self._process != os.getpid():
            raise StoreError(
                f"{self._place}: found a store that another process opened, allowed: one that is "
                "opened in this process, after the fork"
            )
        try:
            while (database := self._idle.pop()).hung_up:
                database.close()
        except IndexError:
            return self._connect(), True
        return database, False

    def _give_back(self, database: Database) -> None:
        self.losses += database.lost
        if self._closed or database.lost:
            database.close()
            self._close_idle()  # they may be as lost, and each would cost a verb
        else:
            self._idle.append(database)

    def _close_idle(self) -> None:
        with suppress(IndexError):  # other threads take some
            while True:
                self._idle.pop().close()

    def refuse_nested(self) -> None:
        """Raises MessageError inside a transaction of the same thread."""
        if self._caller() in self._writers:
            raise nested(self.caller)


def _undo(database: Database, error: BaseException) -> None:
    """Nothing of it is done; where a lock was waited for in vain, raises who may have held it."""
    who = ""
    with suppress(StoreError):
        database.rollback()
        who = database.in_the_way(error) if isinstance(error, StoreError) else ""
    if who:
        raise StoreError(f"{error}; it may have been {who}") from error.__cause__


def closed(place: str) -> StoreError:
    """What is raised for a verb of a store that was closed."""
    return StoreError(f"{place}: found a store that is closed, allowed: an open one")


def nested(caller: str) -> MessageError:
    """What is raised for a verb of the store's inside a transaction of the same caller."""
    return MessageError(
        "store: found a verb of the store's that writes (as do waiting, peek and promotion) inside "
        f"a transaction of the same {caller}, allowed: the verbs of the transaction"
    )
