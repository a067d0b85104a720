"""Whose a queue's messages are, what share each tenant has, and what its limits let through."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from starlette.responses import Response

from fairlead.console.counted import Counted
from fairlead.console.pages.queue_head import queue_head
from fairlead.console.state import TENANTS, ConsoleState
from fairlead.console.visit import Route, Visit
from fairlead.store.admin.queues import Metrics, TenantMetrics

PATIENCE: Final = 1.0
MOST: Final = 200


class TenantShare(NamedTuple):
    """A tenant of a queue."""

    counted: TenantMetrics
    weight: int
    share: float | None
    """Its part of what is taken while all of those wait of which something waits now."""


async def _tenants(visit: Visit) -> Response:
    head = await queue_head(visit)
    counted = await visit.wait_for(_counted, visit.state)
    if counted is None:
        return visit.page("counting.html", what="What each tenant has")
    every = [tenant for tenant in counted.value if tenant.queue == head.name]
    shares = tenant_shares(every, head.counted, head.off_tenants)
    limits = await visit.look(visit.store.limits, head.name)
    shown = {"head": head, "tab": "tenants", "counted": counted, "limits": limits}
    return visit.page(
        "tenants.html", **shown, shares=shares[:MOST], cut=len(shares) > MOST, most=MOST
    )


def _counted(state: ConsoleState) -> Counted[list[TenantMetrics]] | None:
    return state.counts.get(TENANTS, state.store.queues_by_tenant, PATIENCE)


def tenant_shares(
    every: list[TenantMetrics], queue: Metrics | None, off: Sequence[str]
) -> list[TenantShare]:
    """With the share that its weight gives each one now; `off`: those that are switched off."""
    weights = {} if queue is None else queue.weights
    waiting = [tenant for tenant in every if tenant.ready and tenant.tenant not in off]
    total = sum(weights.get(tenant.tenant, 1) for tenant in waiting)
    return [
        TenantShare(
            tenant,
            weights.get(tenant.tenant, 1),
            float(Fraction(weights.get(tenant.tenant, 1), total)) if tenant in waiting else None,
        )
        for tenant in every
    ]


ROUTES: Final = (Route("/queue/tenants", _tenants),)
