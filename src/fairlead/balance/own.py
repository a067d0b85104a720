"""Eliminations and choice rules of a user's own, registered by Python entry point.

A package names them in its `pyproject.toml`, in the groups `fairlead.eliminations` and
`fairlead.choices`; a cluster file then composes a policy with them by those names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fairlead.balance.elimination import Elimination
from fairlead.balance.rules.integers import Indexes
from fairlead.balance.rules.own_rule import Careful, OwnRule
from fairlead.errors import ConfigError, RuleError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ELIMINATIONS: Final = "fairlead.eliminations"
CHOICES: Final = "fairlead.choices"

Attributes = Mapping[str, tuple[Any, Any]]
"""Key of a destination → its type and its default."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OwnElimination:
    """An elimination that a policy can be composed of.

    `elimination`: made by `drop_where` or `keep_highest`; its name is the one in the file. What it
    gets of a message is a mapping of the attributes in `reads`, "" where one is not given; of a
    candidate, its table of the file. `attributes`: the keys of a destination that it reads.
    `compares`: it keeps the best of those that are left, so nothing may be dropped after it.
    """

    elimination: Elimination[Any, Any]
    attributes: Attributes = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    compares: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OwnChoice:
    """A choice rule: two functions over a state of integers.

    `start(destinations)` gives the state: a NamedTuple of lists of integers, one entry for each
    destination in the order of the file. `choose(state, members, start, stop)` returns one of
    members[start:stop], which are indexes into the state, and changes nothing;
    `served(state, member)` counts a choice; `completed(state, member)`, if there is one, what a
    destination has finished (live). A field of the state that is called like an attribute follows
    its changes.

    They are written in the part of Python that Numba compiles: live they run as they stand, on
    tables compiled (interpreted, and slower, where Numba cannot). `helpers` are functions that
    they call, in an order in which each calls only earlier ones. Numbers beyond 64 bits are exact
    live only. `attributes`: the keys of a destination that the rule reads.
    """

    name: str
    about: str
    start: Callable[[Sequence[Any]], Any]
    choose: Callable[[Any, Indexes, int, int], int]
    served: Callable[[Any, int], None]
    completed: Callable[[Any, int], None] | None = None
    helpers: tuple[Callable[..., Any], ...] = ()
    attributes: Attributes = field(default_factory=dict)

    def rule(self, destinations: Sequence[Any]) -> OwnRule:
        """The rule at its beginning. Raises RuleError."""
        with Careful(f"choice rule {self.name}"):
            state = self.start(destinations)
        return OwnRule(
            self.name, state, self.choose, self.served, self.completed, _compilable(self)
        )


@cache
def _compilable(choice: OwnChoice) -> ModuleType:
    """A module that holds the user's functions, as the compiler takes them.

    It is called like the user's own, where code that was compiled before is looked for.
    """
    module = ModuleType(choice.choose.__module__)
    optional = (choice.completed,) if choice.completed is not None else ()
    functions = (*choice.helpers, *optional, choice.served, choice.choose)
    vars(module).update({function.__name__: function for function in functions})
    vars(module)["COMPILED"] = functions
    vars(module)["OWN"] = choice
    return module


def careful(name: str, own: OwnElimination) -> OwnElimination:
    """The same elimination; what goes wrong in it becomes a RuleError that names it."""
    elimination = own.elimination
    where = f"elimination {name}"

    def keep(key: Any, candidates: Sequence[Any]) -> list[Any]:  # noqa: ANN401
        with Careful(where):
            left = list(elimination.keep(key, candidates))
        known = {id(candidate) for candidate in candidates}
        strangers = [candidate for candidate in left if id(candidate) not in known]
        if strangers:
            raise RuleError(
                f"{where}: it kept {strangers[0]!r}, allowed: some of the candidates that it "
                "was given"
            )
        return left

    def because(key: Any, candidate: Any, kept: Sequence[Any]) -> str:  # noqa: ANN401
        with Careful(where):
            return str(elimination.because(key, candidate, kept))

    return replace(own, elimination=replace(elimination, name=name, keep=keep, because=because))


def brought(group: str) -> dict[str, str]:
    """What installed packages bring: name → package."""
    return {name: _package(point) for name, point in _points(group).items()}


def load(group: str, name: str, kind: type[T]) -> T | None:
    """What a package has registered under this name; None if none has. Raises ConfigError."""
    point = _points(group).get(name)
    if point is None:
        return None
    try:
        piece = point.load()
    except Exception as error:
        raise ConfigError(
            f"{name!r} of the package {_package(point)} ({point.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(piece, kind):
        raise ConfigError(
            f"{name!r} of the package {_package(point)} ({point.value}): found "
            f"{type(piece).__name__}, allowed: fairlead.{kind.__name__}"
        )
    return piece


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # where nobody brings anything, it is not needed

    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        known = points.setdefault(point.name, point)
        if known.value != point.value:
            raise ConfigError(
                f"{point.name!r}: the packages {_package(known)} and {_package(point)} bring "
                "different ones, allowed: one; uninstall the other"
            )
    return points


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "?"
