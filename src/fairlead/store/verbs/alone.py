"""A verb of a transaction, as a store has it: in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again

P = ParamSpec("P")
T = TypeVar("T")
Transaction = TypeVar("Transaction")


class Begins(Protocol):
    """A store, as far as it begins transactions."""

    def _verbs(self, database: Database) -> Any:  # noqa: ANN401 - the class is the store's
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""

    def _writing(self) -> AbstractContextManager[Database]:
        """A transaction of its own, in which a verb writes."""

    def _calling(self) -> AbstractContextManager[Database]:
        """A transaction of one verb, which is the verb's call itself where it is one call."""


def alone(verb: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The verb in a transaction of its own, which is tried again where the database gives it up."""
    return _in(lambda store: store._writing(), verb)  # noqa: SLF001 - it is the store's own verb


def called(verb: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The same, of a verb that is one call where the database has a function for it."""
    return _in(lambda store: store._calling(), verb)  # noqa: SLF001 - it is the store's own verb


def _in(
    begun: Callable[[Begins], AbstractContextManager[Database]],
    verb: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate[Any, P], T]:
    @wraps(verb)
    def done(self: Begins, /, *args: P.args, **more: P.kwargs) -> T:
        with begun(self) as database:
            return verb(self._verbs(database), *args, **more)

    return again(done)
