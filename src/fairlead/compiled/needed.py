"""Which columns a table must have, so that the clusters' policies can do what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.balance.objects import listed
from fairlead.compiled.router import Plan
from fairlead.errors import MessageError


def check_columns(plan: Plan, columns: Sequence[str], where: str, advice: str = "") -> None:
    """Refuse a table without a column that a policy needs. Raises MessageError.

    `where`: what error lines call the table; `advice`: how to get a column, `{}` being its name.
    """
    for name, why in _needed(plan):
        if name not in columns:
            raise MessageError(
                f"{where}: no column {name!r}, found: {listed(columns)}; {why}{advice.format(name)}"
            )


def _needed(plan: Plan) -> Iterator[tuple[str, str]]:
    """Column, and why it is needed."""
    if len(plan.clusters) > 1:
        yield "cluster", "with several clusters each message names its own"
    for cluster, timed in plan.timed.items():
        if timed:
            who_is_busy = "completions decide (a capacity, or the fewest pending)"
            yield "service_time", f"in cluster {cluster} {who_is_busy}, and it says when one is due"
    for cluster in plan.stays:
        yield "group", f'affinity = "group" of cluster {cluster} follows it'
    for cluster, name in plan.keyed.items():
        yield name, f"cluster {cluster} chooses by it"
