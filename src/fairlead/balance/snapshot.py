"""Snapshots: state as plain data, with a seal by which what was cut or changed is refused.

A state is full of numbers that belong together; no check of each could tell that they still do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from fairlead.balance.objects import repr_of
from fairlead.errors import ConfigError

FORMAT: Final = 1
ASIDE: Final = ("format", "seal", "items")
"""What the seal does not hold; items of work may be anything."""


def sealed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of this state."""
    return {"format": FORMAT, **plain, "seal": _seal(plain)}


def opened(snapshot: object) -> Mapping[str, Any]:
    """A snapshot that is as `sealed` made it. Raises ConfigError for anything else."""
    if not isinstance(snapshot, Mapping):
        raise ConfigError(f"snapshot: found {repr_of(snapshot)}, allowed: what snapshot gave")
    number = snapshot.get("format")
    if not (isinstance(number, int) and number == FORMAT):
        raise ConfigError(f"snapshot: found format {repr_of(number)}, allowed: {FORMAT}")
    try:
        whole = snapshot.get("seal") == _seal(snapshot)
    except (TypeError, ValueError, RecursionError):  # it holds what no snapshot does
        whole = False
    if whole is not True:
        raise ConfigError(
            "snapshot: found one that was cut or changed, allowed: what snapshot gave, whole"
        )
    return snapshot


def _seal(plain: Mapping[str, Any]) -> str:
    held = {name: value for name, value in plain.items() if name not in ASIDE}
    text = json.dumps(held, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
