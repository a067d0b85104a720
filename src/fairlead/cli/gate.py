"""Conditions of `--fail-if`: a number of a result, compared with a limit."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from fairlead.balance.objects import hint
from fairlead.errors import UserError

CONDITION: Final = re.compile(
    r"\s*(?P<name>[a-z_]+)\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>\d+(\.\d+)?)\s*(?P<percent>%)?\s*"
)
SIGNS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
WHOLE: Final = 100


class Gate(NamedTuple):
    """When to fail."""

    text: str
    name: str
    sign: str
    limit: Fraction
    percent: bool

    def fails(self, value: int, of: int) -> bool:
        """Whether a value (per cent: of so many) is what must not be."""
        found = Fraction(value)
        if self.percent:
            found = Fraction(WHOLE * value, of) if of else Fraction(0)
        return SIGNS[self.sign](found, self.limit)


def gate(text: str, names: Mapping[str, str]) -> Gate:
    """The condition that a text states; `names`: what can be compared, and a part of what it is.

    >>> gate("moved > 5%", {"moved": "both"}).fails(6, 100)
    True
    """
    found = CONDITION.fullmatch(text)
    if found is None:
        raise UserError(
            f"--fail-if: found {text!r}, allowed: NAME > NUMBER or NAME > NUMBER%, "
            f"with >, >=, < or <=, such as 'moved > 5%'"
        )
    name = found["name"]
    if name not in names:
        raise UserError(
            f"--fail-if: found {name!r}, allowed: {', '.join(names)}{hint(name, names)}"
        )
    return Gate(text.strip(), name, found["sign"], Fraction(found["limit"]), bool(found["percent"]))
