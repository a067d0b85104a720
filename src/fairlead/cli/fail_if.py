"""Conditions of `--fail-if`: a number of a result, compared with a limit."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from fairlead.balance.objects import hint, listed, repr_of
from fairlead.errors import UserError

CONDITION: Final = re.compile(
    r"\s*(?P<name>[a-z0-9_]+)(\s+in\s+(?P<window>[A-Za-z0-9_-]+))?\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<limit>[0-9]{1,18}(\.[0-9]{1,18})?)\s*(?P<unit>%|ms|s|min|h)?\s*"
)
SIGNS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
FAILED: Final = 3
"""Exit status where a condition holds."""
WHOLE: Final = 100
SECONDS: Final[Mapping[str, Fraction]] = {
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}


class FailCondition(NamedTuple):
    """What `--fail-if` says: a number of a run, and which values of it fail."""

    text: str
    name: str
    sign: str
    limit: Fraction
    percent: bool
    window: str | None = None
    """In which named time; None: in all."""

    def fails(self, value: float, of: int) -> bool:
        """Whether a value (per cent: of so many) is what must not be."""
        amount = Fraction(value)
        if self.percent:
            amount = WHOLE * amount / of if of else Fraction(0)
        return SIGNS[self.sign](amount, self.limit)


def gate(
    text: str,
    names: Mapping[str, str | None],
    *,
    timed: Sequence[str] = (),
    windowed: Sequence[str] = (),
    windows: Sequence[str] = (),
) -> FailCondition:
    """The condition that a text states.

    `names`: what can be compared, and a part of what it is (None: of nothing). `timed`: which of
    them are seconds; what these are compared with needs a unit. `windowed`: which of them can be
    looked at in one of the `windows`, by `NAME in WINDOW`.

    >>> gate("moved > 5%", {"moved": "both"}).fails(6, 100)
    True
    >>> gate("p99_wait > 2 min", {"p99_wait": None}, timed=["p99_wait"]).fails(121, 0)
    True
    """
    example = "p99_wait > 2s" if timed else "moved > 5%"
    match = CONDITION.fullmatch(text)
    if match is None:
        raise UserError(
            f"--fail-if: found {repr_of(text)}, allowed: NAME > NUMBER or NAME > NUMBER UNIT, "
            f"with >, >=, < or <=, such as {example!r}"
        )
    name, unit = match["name"], match["unit"] or ""
    if name not in names:
        raise UserError(
            f"--fail-if: found {name!r}, allowed: {', '.join(names)}{hint(name, names)}"
        )
    units = [*SECONDS] if name in timed else ["%"] if names[name] else []
    if name in timed and not unit:
        raise UserError(
            f"--fail-if: {text}: found no unit, allowed for {name}: {', '.join(units)}; "
            f"such as {example!r}"
        )
    if unit not in ("", *units):
        raise UserError(
            f"--fail-if: {text}: found the unit {unit!r}, "
            f"allowed for {name}: {', '.join(units) or 'none'}"
        )
    window = match["window"]
    if window is not None and (name not in windowed or window not in windows):
        allowed = listed(windows) if windows else "a name that --window gives"
        if name not in windowed:
            allowed = "no window" if not windowed else f"a window with {listed(windowed)}"
        raise UserError(f"--fail-if: {text}: found {name} in {window!r}, allowed: {allowed}")
    limit = Fraction(match["limit"]) * SECONDS.get(unit, 1)
    return FailCondition(text.strip(), name, match["sign"], limit, unit == "%", window)
