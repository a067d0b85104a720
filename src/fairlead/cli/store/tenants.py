"""A tenant that nobody has heard of is most often misspelt."""

from __future__ import annotations

import sys

from fairlead.balance.objects import hint, on_one_line, repr_of
from fairlead.store.store import Store


def unknown(store: Store, queue: str, tenant: str | None) -> str:
    """A line that says that nothing of a tenant is in a queue; "" where something is."""
    if not tenant:
        return ""
    known = {row.tenant for row in store.queues_by_tenant() if row.queue == queue}
    known |= {*store.off_tenants(queue)}
    if tenant in known:
        return ""
    return f"nothing of tenant {repr_of(tenant)} is in {queue}{hint(tenant, sorted(known))}"


def say(line: str) -> None:
    """On stderr, if there is something to say."""
    if line:
        sys.stdout.flush()
        print(on_one_line(line), file=sys.stderr)
