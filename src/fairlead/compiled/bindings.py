"""Messages bound to the destination of an earlier one: by the one that opened, or by the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.balance.message import BINDS, ON_GROUP, ON_OPEN
from fairlead.compiled.kernels import Int64s

NO_KEY = -1
NOT_SAID = 0


@dataclass(frozen=True, slots=True)
class Bindings:
    """For each message how it is bound, and the keys under which it would be."""

    said: NDArray[np.int8]
    """What the message itself says, as `code`; NOT_SAID: its queue decides."""
    by_opener: Int64s
    """NO_KEY for a message that cannot be bound."""
    by_group: Int64s
    """NO_KEY for a message without a group, too."""
    bound: Int64s
    """The member that each key is bound to, or NONE; kept up to date while routing."""
    free: NDArray[np.bool_]
    """Filled in while routing: which messages were chosen for, not bound."""

    @staticmethod
    def code(bind: str) -> int:
        """A kind of binding as a number."""
        return BINDS.index(bind) + 1 if bind else NOT_SAID

    def at(self, places: Any) -> Bindings:  # noqa: ANN401 - a slice or an array of places
        """The same for some of the messages."""
        return Bindings(
            self.said[places],
            self.by_opener[places],
            self.by_group[places],
            self.bound,
            self.free[places],
        )

    def keys(self, default: NDArray[np.int8]) -> Int64s:
        """The key that binds each message, given what its queue says; NO_KEY for none."""
        kind = np.where(self.said == NOT_SAID, default, self.said)
        grouped = np.where(kind == self.code(ON_GROUP), self.by_group, NO_KEY)
        return np.where(kind == self.code(ON_OPEN), self.by_opener, grouped)
