"""The handlers of a worker: functions of the user's own, one for each queue."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import hint, listed, repr_of
from fairlead.errors import ConfigError
from fairlead.store.message import Message

FAILURES: Final = (Exception, SystemExit)
"""What the user's own code raises: where it asks Python to end, it has failed, too."""
ALLOWED: Final = "a mapping queue -> function, a Service, or a list of Services"
TRANSACTION: Final = "tx"
"""The parameter for the transaction, if it has a default."""


class Handler(NamedTuple):
    """What handles the messages of a queue."""

    call: Callable[..., object]
    in_transaction: bool
    """Whether it takes (message, tx), and so commits with what it settles."""
    before: Callable[[Message], Callable[[Message], object] | None] | None = None
    """Says which function, if any, works on a message before the transaction begins; what that
    returns is called in the transaction, with it."""


def named(place: str) -> Any:  # noqa: ANN401 - whatever the user's module has
    """What `module:name` is; None where there is no such name in it.

    The module is looked for in this folder, too. Raises ConfigError.
    """
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"handlers: found {repr_of(place)}, allowed: MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module)
    except FAILURES as error:  # whatever the user's module does when it is imported
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (module == missing or module.startswith(f"{missing}.")):
            raise ConfigError(
                f"handlers: found no module {module!r}, allowed: one in this folder, or installed"
            ) from None
        raise ConfigError(
            f"handlers: importing {module} failed: {type(error).__name__}: {error} "
            f"({raised_at(error)})"
        ) from error
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def load(place: str, queues: list[str] | None = None) -> dict[str, Handler]:
    """The handlers that `module:name` says, of these queues or of all.

    `name` is a mapping: queue → function. Raises ConfigError.
    """
    functions = named(place)
    if not isinstance(functions, Mapping) or not functions:
        raise ConfigError(f"handlers: {place}: found {repr_of(functions)}, allowed: {ALLOWED}")
    every = {str(queue): _handler(place, queue, call) for queue, call in functions.items()}
    for queue in queues or []:
        if queue not in every:
            raise ConfigError(
                f"handlers: {place}: found no handler of queue {queue!r}, allowed: "
                f"{listed(list(every))}{hint(queue, list(every))}"
            )
    return {queue: every[queue] for queue in queues or every}


def _handler(place: str, queue: object, call: object) -> Handler:
    where = f"handlers: {place}: {repr_of(queue)}"
    if not isinstance(queue, str) or not callable(call):
        raise ConfigError(f"{where}: found {repr_of(call)}, allowed: a queue's name -> a function")
    return function(where, call)


def function(where: str, call: object) -> Handler:
    """What handles messages by a function; `where`: as errors say it. Raises ConfigError."""
    if not callable(call):
        raise ConfigError(f"{where}: found {repr_of(call)}, allowed: a function")
    signature = inspect.signature(call)
    named = TRANSACTION in signature.parameters  # it wants one, whatever the default
    for taken, arguments in ((False, (None,)), (True, (None, None))):
        if named and not taken:
            continue
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return Handler(_awaited(call), taken)
    raise ConfigError(f"{where}: found {call}, allowed: a function of (message) or (message, tx)")


def _awaited(call: Callable[..., object]) -> Callable[..., object]:
    """A function that gives what it gives; the coroutine of one for asyncio is waited for."""
    if not (inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)):
        return call
    from fairlead.store.workers.coroutines import Awaited

    return Awaited(call)


def raised_at(error: BaseException) -> str:
    """The file and the line from which an error came."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
