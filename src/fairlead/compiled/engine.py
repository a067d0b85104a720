"""A kernel bound to a cluster's choice rule: compiled, or plain Python where that cannot be.

A kernel is a module that lists its functions: in BASE those that do not depend on the rule, in
OF_A_RULE those that do, and in CHOSEN how a rule is asked: any, a keyed one, a user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numba

from fairlead.balance.own import OwnChoice
from fairlead.balance.rules.rule import Rule
from fairlead.compiled import numba_views
from fairlead.compiled.kernels import bound, compiled, kernels

ASKED: Final = ("choose", "completed", "returned")
"""What is taken from a rule."""
LENDING: Final = ("cells_of", "borrowed", "lent", "state_of")
"""What changes nothing where nothing is compiled."""


def engine(kernel: ModuleType, rule: Rule) -> SimpleNamespace:
    """The functions of a kernel for this rule, compiled."""
    return _compiled(kernel, rule.module, type(rule))


@cache
def _compiled(kernel: ModuleType, module: ModuleType, kind: type[Rule]) -> SimpleNamespace:
    namespace = SimpleNamespace(**_base(kernel))
    make: Callable[..., Any] = numba.njit
    if not kind.foreign:
        make = compiled
        namespace.state_of = numba_views.views_of  # a stranger's source may ask more of an array
    _bind(kernel, vars(namespace), _asked(module, vars(kernels(module))), kind, make)
    return namespace


@cache
def _base(kernel: ModuleType) -> dict[str, Any]:
    """What does not depend on a rule, compiled."""
    names = _plain_base(kernel)
    for function in kernel.BASE:
        names[function.__name__] = compiled(bound(function, names))
    return names


def _plain_base(kernel: ModuleType) -> dict[str, Any]:
    """All names of a kernel's functions, whichever module they are from, as one.

    Raises RuntimeError where a name has two meanings: one of them would be compiled wrongly.
    """
    names: dict[str, Any] = {}
    for function in (*kernel.BASE, *kernel.OF_A_RULE, *kernel.CHOSEN):
        for name in function.__code__.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                if names.setdefault(name, value) is not value:
                    raise RuntimeError(f"{function.__module__}: {name} has two meanings")
    return names | vars(kernel)


def plain(kernel: ModuleType, rule: Rule) -> SimpleNamespace:
    """The same as they stand, over lists where the rule has them."""
    namespace = SimpleNamespace(**_plain_base(kernel))
    for name in LENDING:
        setattr(namespace, name, lambda lent: lent)
    functions = _asked(rule.module, vars(rule.module))
    _bind(kernel, vars(namespace), functions, type(rule), lambda function: function)
    return namespace


def _asked(module: ModuleType, functions: Mapping[str, Any]) -> dict[str, Any]:
    """The rule's own functions, by the names that the kernel has for them."""
    choice: OwnChoice | None = vars(module).get("OWN")
    if choice is None:
        return {name: value for name, value in functions.items() if name in ASKED}
    named = {"choose": choice.choose, "served": choice.served, "completed": choice.completed}
    return {name: functions[f.__name__] for name, f in named.items() if f is not None}


def _bind(
    kernel: ModuleType,
    names: dict[str, Any],
    own: Mapping[str, Any],
    kind: type[Rule],
    make: Callable[..., Any],
) -> None:
    ask: Callable[..., Any] = kernel.CHOSEN[0]
    if kind.keyed:
        ask = kernel.CHOSEN[1]
    elif kind.foreign:
        ask = kernel.CHOSEN[2]
    idle = make(bound(nothing, names))
    names |= {"completed": idle, "returned": idle, **own}
    names["chosen"] = make(bound(ask, names))
    for function in kernel.OF_A_RULE:
        names[function.__name__] = make(bound(function, names))


def nothing(r: Any, i: int) -> None:  # noqa: ANN401
    """What a rule does that does not look at completions."""
