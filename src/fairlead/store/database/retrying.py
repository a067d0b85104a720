"""A transaction of the store's own that the database gave up is done again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from fairlead.errors import TransientStoreError
from fairlead.jitter import between
from fairlead.store.database.pausing import pause

TIMES: Final = 5
PAUSE: Final = 0.01
"""Seconds before the second time, at most; each time twice as long."""

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def again(verb: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """A verb that is a transaction of its own, tried several times.

    It pauses for a random time, so that two that were in each other's way are not so again.
    """

    @wraps(verb)
    def tried(*args: _Given.args, **more: _Given.kwargs) -> _Found:
        for time_ in range(TIMES - 1):
            try:
                return verb(*args, **more)
            except TransientStoreError:
                pause(between(0, PAUSE * 2**time_))
        return verb(*args, **more)

    return tried
