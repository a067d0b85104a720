"""What a transaction has from its store: all that its calls need."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.store.backends.port import Backend
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.dialogs.declared import DialogContext


@dataclass(frozen=True, kw_only=True)
class Context(DialogContext):
    """With what the store remembers of its clusters and of what is declared."""

    memory: ClusterMemory
    """What the store remembers of its clusters."""
    backend: Backend
    """What it has of its database."""
