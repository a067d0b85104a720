"""What came before the messages of a table: nothing, or the micro-batches of a stream before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.router import EARLIEST, Carried, Router


@dataclass(frozen=True)
class Since:
    """Where a table begins."""

    carried: Carried = field(default_factory=Carried)
    """Where clusters and streams stand."""
    clock: int = EARLIEST
    """The latest time of any row so far that was a message, or one again; in microseconds."""
    ids: DataFrame | None = None
    """The ids that are remembered: HASH, ID, and AT, the clock when it was seen.

    Of one id there may be several rows.
    """
    groups: DataFrame | None = None
    """The bindings that are remembered: BIND, HOME, WORD, MEMBER, AT."""

    def start(self, plan: ClassifiedPlan) -> Mapping[str, object]:
        """The router's state before the first message."""
        router = Router(plan)
        router.resume(self.carried)
        return router.dump()


BEGINNING: Final = Since()
