"""The page that Prometheus reads: what a store holds, and what a worker has done."""

from __future__ import annotations

from fairlead.errors import StoreError
from fairlead.prometheus import Exposition
from fairlead.store.admin import metrics
from fairlead.store.store import Store
from fairlead.store.workers.counting import Counts


def page(store: Store, counts: Counts | None = None) -> str:
    """What a store holds, and with `counts` what this process has done. Raises StoreError.

    A worker whose database is gone says that, and what it has done before.
    """
    found, up = Exposition(), 1
    try:
        queues, pools = store.queues(), [store.pool(name) for name in store.clusters()]
    except StoreError:
        if counts is None:
            raise
        up = 0
    else:
        metrics.write(found, queues, pools)
    if counts is not None:
        found.add("fairlead_store_up", "gauge", {}, up, meaning="1: the database answers.")
        counts.write(found)
    return str(found)
