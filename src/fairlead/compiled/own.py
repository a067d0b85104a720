"""A user's own choice rule on a table: compiled where Numba can, else as it stands."""

from __future__ import annotations

import logging
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from fairlead.balance.own import OwnChoice
from fairlead.balance.rules import own_rule
from fairlead.balance.rules.own_rule import ALL_WELL, failed, nonsense
from fairlead.balance.rules.rule import Rule
from fairlead.compiled.kernels import Int32s, Int64s, as_arrays, kernels

log = logging.getLogger("fairlead")


def own_choices(rule: Rule, starts: Int64s, members: Int64s, which: Int32s) -> Int64s:
    """One choice for each entry of `which`; moves the rule on. Raises RuleError."""
    found = np.empty(len(which), np.int64)
    compiled = _compiled(rule.module)
    if compiled is not None and rule.fits_int64(len(which)):
        run, choose, served = compiled
        state = as_arrays(rule.state)
        try:
            stopped = run(state, starts, members, which, found, choose, served)
        except NumbaError as error:
            cannot_compile(rule.module, error)
        except Exception as error:
            raise failed(f"choice rule {rule.name}", error) from error
        else:
            rule.adopt(state)
            _check(rule, stopped, starts, members, which, found)
            return found
    out = [0] * len(which)
    own: OwnChoice = vars(rule.module)["OWN"]
    with rule.guard():
        stopped = own_rule.run(
            rule.state,
            starts.tolist(),
            members.tolist(),
            which.tolist(),
            out,
            own.choose,
            own.served,
        )
    found[:] = out
    _check(rule, stopped, starts, members, which, found)
    return found


def _check(
    rule: Rule, stopped: int, starts: Int64s, members: Int64s, which: Int32s, found: Int64s
) -> None:
    if stopped != ALL_WELL:
        own = members[starts[which[stopped]] : starts[which[stopped] + 1]]
        raise nonsense(rule.name, int(found[stopped]), own.tolist())


INTERPRETED: set[OwnChoice] = set()
"""Rules that Numba cannot compile; each is told once."""


def cannot_compile(module: ModuleType, error: Exception) -> None:
    """From now on the rule is interpreted; the first time that is told."""
    choice: OwnChoice = vars(module)["OWN"]
    INTERPRETED.add(choice)
    first = str(error).strip().split("\n", 1)[0]
    log.warning(
        "a choice rule of your own cannot be compiled, so it is slower",
        extra={"rule": choice.name, "reason": first},
    )


def is_interpreted(module: ModuleType) -> bool:
    """Whether it was found that the rule cannot be compiled."""
    return vars(module)["OWN"] in INTERPRETED


def _compiled(module: ModuleType) -> tuple[Any, Any, Any] | None:
    """`run` and the user's functions, compiled when they are first called."""
    choice: OwnChoice = vars(module)["OWN"]
    if is_interpreted(module):
        return None
    functions = kernels(module)
    choose, served = (getattr(functions, f.__name__) for f in (choice.choose, choice.served))
    return _run, choose, served


_run = numba.njit(own_rule.run)
