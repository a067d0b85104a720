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

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]


@cache
def kernels(module: ModuleType) -> SimpleNamespace:
    """The compiled functions of a rule's module, by name. Compiled code is kept on disk."""
    names: dict[str, Any] = {}
    for function in module.COMPILED:  # some come from a module that several rules share
        names |= function.__globals__
    names |= vars(module)
    found = {}
    for function in module.COMPILED:
        bound = FunctionType(function.__code__, names, function.__name__)
        bound.__module__ = module.__name__
        bound.__qualname__ = function.__qualname__
        names[function.__name__] = found[function.__name__] = compiled(bound)
    return SimpleNamespace(**found)


def compiled(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - Numba's dispatcher
    """The function compiled, from disk where it was before and there is a disk to write to."""
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
