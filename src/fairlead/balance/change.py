"""Changes: an attribute of the cluster changes at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Number
from typing import Any, NamedTuple, Self

from fairlead.balance.objects import Ref, repr_of
from fairlead.balance.times import MICROS, Time, moment
from fairlead.errors import ChangeError

RESET = "reset"
PRESENT = "present"
STATE = "state"
FAILED = "failed"
UP = ("up",)
ALL_CLUSTERS = "*"


@dataclass(frozen=True, slots=True)
class Change:
    """`attribute` of `target` takes `value` at `time`; it holds for messages from then on.

    Raises ChangeError where a name is no text, the value no plain data, or the time no time.
    """

    target: str
    """A name, or `kind:name@owner` where a name alone is ambiguous; with `reset` the cluster's
    name or `*`."""
    attribute: str
    """Any key of the target's table, `present`, `state` or `reset`."""
    value: object = None
    """What the table would allow, or the same as text."""
    time: Time = field(default=0, compare=False)
    """As it was given: a number of seconds since whatever the messages' times count from, or a
    timestamp: a datetime, or the text of one (UTC where it has no zone)."""
    where: str = "change"
    """What error lines call it: file and row."""
    micros: int = field(init=False, repr=False)
    """The same in whole microseconds, for all reckoning."""

    def __post_init__(self) -> None:
        for name in ("where", "target", "attribute"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise ChangeError(f"change: {name}: found {repr_of(value)}, allowed: a text")
        if not isinstance(self.value, str | Number | list | tuple | None):
            raise ChangeError(
                f"{self.where}: value: found {repr_of(self.value)}, "
                "allowed: a text, a number, true or false, or a list"
            )
        time = moment(self.time, f"{self.where}: time", ChangeError)
        object.__setattr__(self, "micros", time)

    @classmethod
    def at_micros(
        cls, target: str, attribute: str, value: object, time: int, where: str = "change"
    ) -> Self:
        """A change at a time in whole microseconds."""
        seconds, rest = divmod(time, MICROS)
        return cls(target, attribute, value, Fraction(time, MICROS) if rest else seconds, where)

    def to_dict(self) -> dict[str, Any]:
        """What `at_micros` takes, by name."""
        return {
            "target": self.target,
            "attribute": self.attribute,
            "value": self.value,
            "time": self.micros,
            "where": self.where,
        }


class ResolvedChange(NamedTuple):
    """A change of which is known what it means: to whom, which attribute, which value."""

    ref: Ref | None
    """None: the whole cluster."""
    attribute: str
    value: object
