"""The handlers of a worker: functions of the user's own, one for each queue."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.balance.objects import hint, listed, spelled
from fairlead.errors import ConfigError


class Handler(NamedTuple):
    """What handles the messages of a queue."""

    call: Callable[..., object]
    in_transaction: bool
    """Whether it takes (message, tx), and so commits with what it settles."""


def load(place: str, queues: list[str] | None = None) -> dict[str, Handler]:
    """The handlers that `module:name` says, of these queues or of all.

    `name` is a mapping: queue → function. The module is looked for in this folder, too. Raises
    ConfigError; what the module itself raises goes through.
    """
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"handlers: found {spelled(place)}, allowed: MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        raise ConfigError(
            f"handlers: found no module {module!r}, allowed: one in this folder, or installed"
        ) from None
    for each in name.split("."):
        found = getattr(found, each, None)
    if not isinstance(found, Mapping) or not found:
        raise ConfigError(
            f"handlers: {place}: found {spelled(found)}, allowed: a mapping queue -> function"
        )
    every = {str(queue): _handler(place, queue, call) for queue, call in found.items()}
    for queue in queues or []:
        if queue not in every:
            raise ConfigError(
                f"handlers: {place}: found no handler of queue {queue!r}, allowed: "
                f"{listed(list(every))}{hint(queue, list(every))}"
            )
    return {queue: every[queue] for queue in queues or every}


def _handler(place: str, queue: object, call: object) -> Handler:
    where = f"handlers: {place}: {spelled(queue)}"
    if not isinstance(queue, str) or not callable(call):
        raise ConfigError(f"{where}: found {spelled(call)}, allowed: a queue's name -> a function")
    if inspect.iscoroutinefunction(call):
        raise ConfigError(f"{where}: found a coroutine function, allowed: a plain function")
    signature = inspect.signature(call)
    for taken, arguments in ((False, (None,)), (True, (None, None))):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return Handler(call, taken)
    raise ConfigError(f"{where}: found {call}, allowed: a function of (message) or (message, tx)")
