"""What is said of a destination's health, and how one stands that is not well."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from fairlead.balance.objects import listed, repr_of
from fairlead.errors import MessageError

Report = Literal["failing", "failed", "well", "untried"]
FAILING: Final[Report] = "failing"
"""It has failed too often."""
FAILED: Final[Report] = "failed"
"""What it was tried with has failed."""
WELL: Final[Report] = "well"
"""What it was tried with has succeeded."""
UNTRIED: Final[Report] = "untried"
"""It may be tried, and nothing waits to try it with."""


class UnwellDestination(NamedTuple):
    """A destination that has failed too often, and is not known to be well since."""

    name: str
    seconds: float
    """Until it may be tried; 0: it may be now."""
    cool_down: float
    """Seconds for which it gets nothing."""
    on_trial: bool
    """Whether it is up again, and its next outcome decides."""


def check_report(destination: object, what: object) -> None:
    """Raises MessageError for what is no destination, or no report of one."""
    if not isinstance(destination, str):
        raise MessageError(f"destination: found {repr_of(destination)}, allowed: a name")
    if what not in get_args(Report):
        raise MessageError(f"what: found {repr_of(what)}, allowed: {listed(get_args(Report))}")
