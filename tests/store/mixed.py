"""A store that is asked now through a `Store`, now through an `AsyncStore`, in turns drawn at
random; so whatever compares a store with a model compares both, and what they leave each other."""

import asyncio
import random
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fairlead import AsyncStore, Store
from fairlead.store.aio.handles import AsyncWork
from fairlead.store.leasing import StoreWork

ITERATED = ("journal",)


class Mixed:
    """Both, and the loop of the second."""

    def __init__(self, store: Store, url: str, **more: Any) -> None:
        self.store = store
        self.loop = asyncio.new_event_loop()
        self.other = self.run(AsyncStore.open(url, **more))
        self.dice = random.Random(5)  # noqa: S311 - no secret

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(what)

    def toss(self) -> bool:
        return self.dice.random() < 0.5

    def __getattr__(self, name: str) -> Any:
        if name in ITERATED or self.toss():
            return getattr(self.store, name)

        def asked(*args: Any, **more: Any) -> Any:
            return self._shown(self.run(getattr(self.other, name)(*args, **more)))

        return asked

    def _shown(self, found: Any) -> Any:
        if isinstance(found, AsyncWork):
            return MixedWork(self, found)
        return [self._shown(each) for each in found] if isinstance(found, list) else found

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        if self.toss():
            with self.store.transaction() as tx:
                yield Blocking(self, tx)
            return
        block = self.other.transaction()
        with self.entered(block) as tx:
            yield Awaiting(self, tx)

    @contextmanager
    def join(self, connection: Any) -> Iterator[Any]:
        with self.store.join(connection) as tx:
            yield Blocking(self, tx)

    @contextmanager
    def entered(self, block: Any) -> Iterator[Any]:
        tx = self.run(block.__aenter__())
        try:
            yield tx
        except BaseException as error:
            if not self.run(block.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self.run(block.__aexit__(None, None, None))

    def close(self) -> None:
        self.run(self.other.close())
        self.loop.close()
        self.store.close()


class MixedWork:
    """Work that was taken through the loop; it is used as other work is."""

    def __init__(self, mixed: Mixed, work: AsyncWork) -> None:
        self.mixed = mixed
        self.work = work

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.work, name)
        if not callable(found):
            return found
        return lambda *args, **more: self.mixed.run(found(*args, **more))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self.mixed.run(self.work.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self.mixed.entered(self.work.transaction()) as tx:
            yield Awaiting(self.mixed, tx)


class Awaiting:
    """A transaction on the loop; it settles work that was taken through either."""

    def __init__(self, mixed: Mixed, tx: Any) -> None:
        self.mixed, self.tx = mixed, tx

    def __getattr__(self, name: str) -> Any:
        def asked(*args: Any, **more: Any) -> Any:
            if any(isinstance(each, StoreWork) for each in args):
                verb = getattr(self.tx.plain, name)
                return self.mixed.run(self.tx.do(lambda: verb(*args, **more)))
            own = [each.work if isinstance(each, MixedWork) else each for each in args]
            return self.mixed.run(getattr(self.tx, name)(*own, **more))

        return asked


class Blocking:
    """The same in a thread."""

    def __init__(self, mixed: Mixed, tx: Any) -> None:
        self.mixed, self.tx = mixed, tx

    def __getattr__(self, name: str) -> Any:
        def asked(*args: Any, **more: Any) -> Any:
            own = [each.work.plain if isinstance(each, MixedWork) else each for each in args]
            return getattr(self.tx, name)(*own, **more)

        return asked


class OnLoop:
    """An `AsyncStore`, with which one speaks in dialogs as with a `Store`."""

    def __init__(self, url: str, **more: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.store: AsyncStore = self.run(AsyncStore.open(url, **more))

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(what)

    def begin(self, *names: Any, **more: Any) -> "Spoken":
        return Spoken(self, self.run(self.store.begin_dialog(*names, **more)))

    def end_of(self, handle: str) -> "Spoken":
        return Spoken(self, self.run(self.store.conversation(handle)))

    @contextmanager
    def transaction(self) -> Iterator["SpokenIn"]:
        block = self.store.transaction()
        tx = self.run(block.__aenter__())
        try:
            yield SpokenIn(self, tx)
        except BaseException as error:
            if not self.run(block.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self.run(block.__aexit__(None, None, None))

    def close(self) -> None:
        self.run(self.store.close())
        self.loop.close()


class SpokenIn:
    """The same in a transaction."""

    def __init__(self, on: OnLoop, tx: Any) -> None:
        self.on, self.tx = on, tx

    def begin(self, *names: Any, **more: Any) -> "Spoken":
        return Spoken(self.on, self.on.run(self.tx.begin_dialog(*names, **more)))

    def end_of(self, handle: str) -> "Spoken":
        return Spoken(self.on, self.on.run(self.tx.conversation(handle)))


class Spoken:
    """An end of a dialog, whose verbs are awaited on the loop."""

    def __init__(self, on: OnLoop, end: Any) -> None:
        self.on, self.spoken = on, end

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.spoken, name)
        if not callable(found):
            return found
        return lambda *args, **more: self.on.run(found(*args, **more))
