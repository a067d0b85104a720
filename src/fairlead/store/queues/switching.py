"""A tenant is switched off or on.

So SQLite does it; on PostgreSQL a function of the schema does (`postgresql_functions_tenants.sql`).
"""

from __future__ import annotations

import json
from typing import Final

from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.maintenance import maintained
from fairlead.store.queues.settings import Queue

KINDS: Final = {True: "switched-on", False: "switched-off"}
"""The event, by whether something is on from then on."""


def switch_tenant(
    database: Database,
    queue: Queue,
    tenant: str,
    actor: str,
    reason: str,
    *,
    on: bool,
) -> bool:
    """Switch a tenant on or off; whether it was the other way before.

    What is due is done before, so that the tenant leaves the others, and joins them, as they are.
    """
    if (tenant not in queue.off_tenants) is on:
        return False
    log = Log(database, queue.name, queue.moment, actor)
    queue, line = maintained(database, queue, log)
    (number,) = log.draw()
    log.add(KINDS[on], id=number, tenant=tenant, detail=reason or None)
    now_off = queue.off_tenants ^ {tenant}
    text = json.dumps(sorted(now_off)) if now_off else None
    database.run("set_off_tenants", queue=queue.id, off_tenants=text)
    if line is not None:
        if on:
            line.switch_on(tenant, number)
        else:
            line.switch_off(tenant)
        line.write()
    log.flush()
    return True
