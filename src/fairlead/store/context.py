"""What a transaction has from its store."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.store.clusters.memory import Memory
from fairlead.store.dialogs.declared import DialogContext


@dataclass(frozen=True, kw_only=True)
class Context(DialogContext):
    """All of it."""

    memory: Memory
    """What the store remembers of its clusters."""
