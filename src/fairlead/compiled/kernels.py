"""A rule's source, compiled.

The functions that a rule's module lists in COMPILED are taken as they are; only the names by which
they call each other are bound to the compiled ones. So there is no second implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from fairlead.balance.own import OwnChoice
from fairlead.compiled.numba_views import View
from fairlead.compiled.stamp import stamp

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]


@cache
def kernels(module: ModuleType) -> SimpleNamespace:
    """The compiled functions of a rule's module, by name. Compiled code is kept on disk."""
    names: dict[str, Any] = {}
    for function in module.COMPILED:  # some come from a module that several rules share
        names |= function.__globals__
    names |= vars(module)
    of_a_user: OwnChoice | None = names.get("OWN")
    state = () if of_a_user is None else (of_a_user.start,)
    functions = {}
    for function in module.COMPILED:
        copy = bound(function, names)
        copy.__module__ = module.__name__
        names[function.__name__] = functions[function.__name__] = compiled(
            copy, *module.COMPILED, *state
        )
    return SimpleNamespace(**functions)


def bound(function: Callable[..., Any], names: dict[str, Any]) -> FunctionType:
    """The function with these names around it."""
    copy = FunctionType(function.__code__, names, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def compiled(function: Any, *more: Any) -> Any:  # noqa: ANN401 - functions, Numba's dispatcher
    """The function compiled, from disk where it was before and there is a disk to write to.

    On disk it has a name of its own for all that it is made of, and for the place of `View`,
    a type that its arguments may have: what is on disk names it, and cannot be read where it was
    moved. `more`: what its arguments' types follow from, or what follows from them.
    """
    function.__qualname__ += f"_{stamp(function, View, *more)}"
    try:
        return numba.njit(cache=True)(function)
    except (RuntimeError, OSError):
        return numba.njit(function)


def _number(streams: Int32s, upcoming: Int64s, out: Int64s) -> None:
    """Number the messages of each stream: out[k] = place of message k in streams[k], or -1."""
    for k in range(len(streams)):
        stream = streams[k]
        if stream < 0:
            out[k] = -1
        else:
            out[k] = upcoming[stream]
            upcoming[stream] += 1


number = compiled(_number)


def as_arrays(state: Any) -> Any:  # noqa: ANN401 - a NamedTuple of the rule's own
    """A rule's state over int64 arrays."""
    return type(state)(*(np.array(field, dtype=np.int64) for field in state))
