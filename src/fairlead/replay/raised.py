"""Raised: what must be so that raising a group changes anything."""

from __future__ import annotations

from fairlead.compiled.plan import Plan
from fairlead.errors import UserError


def refuse_fifo(plan: Plan) -> None:
    """Refuse a scenario in which a raise would change nothing. Raises UserError."""
    for cluster in plan.clusters:
        if cluster.tables.order.discipline == "fifo":
            raise UserError(
                f"{cluster.name}: order.discipline: found fifo, allowed: priority; "
                "first come, first served, no group can be raised"
            )
