"""What compiled code on disk was made of, so that it is not used after a change.

Numba asks only whether the file has changed in which the function itself stands. But what is
compiled of a function holds those that it calls, and their constants.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final
from zlib import crc32

import numpy as np

SAYS_ITSELF: Final = (int, float, complex, str, bytes, tuple, type(None))
"""Constants that are known by what they are written as."""


def stamp(*functions: Any) -> str:  # noqa: ANN401 - functions, with the globals they are bound to
    """A word for all that is compiled into functions: their sources, and whatever they name.

    A class among them stands for a type of arguments: its source counts, and where it stands.

    A function that is named is followed, compiled already or not; of a class or a module the source
    counts; a constant counts as itself. What is named through a module (`job.START`) counts as what
    is named alone, because it may come from yet another module.
    """
    files: set[tuple[str, ModuleType | None]] = set()
    named: set[tuple[str, str]] = set()
    reached = list(functions)
    for function in reached:  # it grows
        if isinstance(function, type):
            files.add(_file(function))
            named.add(("", f"{function.__module__}.{function.__qualname__}"))
            continue
        files.add((function.__code__.co_filename, sys.modules.get(function.__module__)))
        for name, value in _named(function):
            if isinstance(value, FunctionType):
                named.add((name, f"{value.__module__}.{value.__qualname__}"))
                if value not in reached:
                    reached.append(value)
            elif isinstance(value, type | ModuleType):
                files.add(_file(value))
            elif isinstance(value, SAYS_ITSELF):
                named.add((name, repr(value)))
            elif isinstance(value, np.ndarray):
                named.add((name, f"{value.dtype} {value.shape} {value.tobytes()!r}"))
    sources = sorted(_source(*file) for file in files)
    return f"{crc32(repr((sources, sorted(named))).encode()):08x}"


def _named(function: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a function
    """What a function names, alone or through modules, in modules however deep.

    Code does not say of which module an attribute is, so each is looked for in all of them.
    """
    names = set(_names(function.__code__))
    scopes: list[tuple[str, dict[str, Any]]] = [("", function.__globals__)]
    for place, scope in scopes:  # it grows
        for name in names & scope.keys():
            value = unwrap(scope[name])
            yield place + name, value
            if isinstance(value, ModuleType) and all(vars(value) is not s for _, s in scopes):
                scopes.append((f"{value.__name__}.", vars(value)))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _file(value: type | ModuleType) -> tuple[str, ModuleType | None]:
    module = value if isinstance(value, ModuleType) else sys.modules.get(value.__module__)
    return getattr(module, "__file__", None) or "", module


@cache
def _source(path: str, module: ModuleType | None) -> int:
    """A number for a source, which may also lie in an archive or in a cell of a notebook."""
    return crc32("".join(linecache.getlines(path, vars(module) if module else None)).encode())
