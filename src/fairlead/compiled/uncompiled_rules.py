"""Users' own choice rules that Numba cannot compile: they are interpreted."""

from __future__ import annotations

import logging
from types import ModuleType

from fairlead.balance.own import OwnChoice

log = logging.getLogger("fairlead")


INTERPRETED: set[OwnChoice] = set()
"""Rules that Numba cannot compile; each is warned of once."""


def cannot_compile(module: ModuleType, error: Exception) -> None:
    """From now on the rule is interpreted; the first time with a warning."""
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
