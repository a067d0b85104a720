"""Which tenant is next: what each was charged, as `order.key` decides it.

Only readers write these rows, one reader of a queue at a time (`queue_locked`). What others do that
charges a tenant, they leave in pending updates: a reader acts on these, in their order, before it
takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fairlead.order.key import charged, joined, restored, taken
from fairlead.store.database.port import Database, Row
from fairlead.store.queues.settings import FAIR, Queue

DIGITS: Final = 40
BIAS: Final = 10 ** (DIGITS - 1)
LOOKED_AT: Final = 1000
"""So many events tell what a queue's only tenant was charged, when others join it."""


class ChargedTenant:
    """What a tenant was charged."""

    __slots__ = ("backlogged", "in_service", "name", "tag", "turn")

    def __init__(
        self, name: str, tag: int, turn: int = 0, in_service: int = 0, backlogged: int = 0
    ) -> None:
        """`in_service`: how many groups of it are held. `backlogged`: one of it can be taken."""
        self.name = name
        self.tag = tag
        self.turn = turn
        self.in_service = in_service
        self.backlogged = bool(backlogged)


class TenantLine:
    """The tenants of a queue, while one reader has the right to change them."""

    def __init__(self, database: Database, queue: Queue) -> None:
        """As the rows say."""
        self._database = database
        self._queue = queue
        columns = queue.columns
        self.clock = tag_of(columns.virtual_time)
        self.off = queue.off_tenants
        self._backlogged = columns.backlogged
        self._in_service = columns.in_service
        self._tenants: dict[str, ChargedTenant] = {}
        self._stored: set[str] = set()
        self._emptied = False

    # -------- what pending updates say

    def join(self, name: str, number: int) -> None:
        """A group of the tenant can be taken, unless the tenant is switched off."""
        tenant = self._get(name)
        if not tenant.backlogged and name not in self.off:
            tenant.tag, tenant.turn = joined(tenant.tag, self.clock, number)
            self._set_backlogged(tenant, backlogged=True)

    def charge(self, name: str, cost: int) -> None:
        """A message came for a group that is worked on."""
        tenant = self._get(name)
        tenant.tag = charged(tenant.tag, cost, self._queue.share(name))

    def settle(self, name: str, number: int, left: int, *, placed: bool) -> None:
        """A group was settled; `left`: what remains of it costs so much."""
        tenant = self._get(name)
        self._end_work(tenant)
        if left:
            tenant.tag = charged(tenant.tag, -left, self._queue.share(name))
        if placed:
            self.join(name, number)
        self._forget_if_idle()

    def release(self, name: str, number: int, cost: int, turn: int, *, placed: bool) -> None:
        """A group was given back."""
        tenant = self._get(name)
        self._end_work(tenant)
        if placed:
            self.join(name, number)
        tenant.tag, tenant.turn = restored(
            tenant.tag, tenant.turn, turn, cost, self._queue.share(name)
        )

    # -------- what an operator does

    def switch_off(self, name: str) -> None:
        """Nothing of the tenant is given, as if nothing of it waited."""
        self.off |= {name}
        tenant = self._get(name)
        if tenant.backlogged:
            self._set_backlogged(tenant, backlogged=False)
        self._forget_if_idle()

    def switch_on(self, name: str, number: int) -> None:
        """It joins the others with what waits: time that it did not use is not saved up."""
        self.off -= {name}
        if self._has_ready(name):
            self.join(name, number)

    # -------- what a reader does

    def next(self, besides: Sequence[str]) -> ChargedTenant | None:
        """Who is next, of those that are backlogged."""
        self.write()
        rows = self._database.run("next_tenant", queue=self._queue.id, besides=list(besides))
        return self._known(rows[0]) if rows else None

    def tenant(self, name: str) -> ChargedTenant:
        """What one tenant was charged, and how much of it is in service."""
        return self._get(name)

    def take(self, tenant: ChargedTenant, cost: int, number: int) -> None:
        """A group of this cost was taken."""
        self.clock, tenant.tag, tenant.turn = taken(
            tenant.tag, self.clock, cost, self._queue.share(tenant.name), number
        )
        tenant.in_service += 1
        self._in_service += 1

    def unline_if_through(self, tenant: ChargedTenant) -> None:
        """The tenant may have nothing more that can be taken."""
        if tenant.backlogged and not self._has_ready(tenant.name):
            self._set_backlogged(tenant, backlogged=False)

    def forget_if_idle(self) -> None:
        """Where nothing waits and nobody works, nobody has been charged anything."""
        self._forget_if_idle()

    def write(self) -> None:
        """Write what has changed."""
        if self._emptied:
            self._database.run("drop_tenants", queue=self._queue.id)
            self._emptied = False
        rows = []
        for tenant in self._tenants.values():
            if tenant.backlogged or tenant.in_service or tenant.tag > self.clock:
                rows.append(
                    (
                        *(tenant.name, tag_text(tenant.tag)),
                        *(tenant.turn, tenant.in_service, int(tenant.backlogged)),
                    )
                )
            elif tenant.name in self._stored:
                self._database.run("drop_tenant", queue=self._queue.id, name=tenant.name)
        if rows:
            self._database.many("set_tenant", rows, queue=self._queue.id)
        self._stored |= {row[0] for row in rows}
        self._database.run(
            "set_line",
            queue=self._queue.id,
            virtual_time=tag_text(self.clock),
            backlogged=self._backlogged,
            in_service=self._in_service,
        )

    # -------- how it begins

    def begin(self) -> None:
        """Line up all tenants, because a second one has come."""
        queue = self._queue
        self._database.run("mark_fair", queue=queue.id)
        self._database.run("drop_tenant_updates", queue=queue.id)
        events = self._database.run("charges", queue_name=queue.name, most=LOOKED_AT)
        for name, in_service in self._database.run("held_of_tenants", queue=queue.id):
            self._get(name).in_service = in_service
            self._in_service += in_service
        for name, number in self._database.run("ready_tenants", queue=queue.id):
            tenant = self._get(name)
            tenant.turn = number
            if name not in self.off:
                self._set_backlogged(tenant, backlogged=True)
        before = charged_so_far(events, queue.share)
        for tenant in self._tenants.values():
            tenant.tag += before.get(tenant.name, 0)
        queue.fair = FAIR

    def _get(self, name: str) -> ChargedTenant:
        tenant = self._tenants.get(name)
        if tenant is None:
            rows = (
                []
                if self._emptied
                else self._database.run("tenants", queue=self._queue.id, names=[name])
            )
            tenant = self._known(rows[0]) if rows else ChargedTenant(name, self.clock)
            self._tenants[name] = tenant
        return tenant

    def _has_ready(self, name: str) -> bool:
        return bool(self._database.run("ready_of_tenant", queue=self._queue.id, tenant=name))

    def _known(self, row: Row) -> ChargedTenant:
        name, tag, turn, in_service, backlogged = row
        if name not in self._tenants:
            self._tenants[name] = ChargedTenant(name, tag_of(tag), turn, in_service, backlogged)
            self._stored.add(name)
        return self._tenants[name]

    def _set_backlogged(self, tenant: ChargedTenant, *, backlogged: bool) -> None:
        tenant.backlogged = backlogged
        self._backlogged += 1 if backlogged else -1

    def _end_work(self, tenant: ChargedTenant) -> None:
        tenant.in_service -= 1
        self._in_service -= 1

    def _forget_if_idle(self) -> None:
        if self._backlogged == 0 and self._in_service == 0:
            self._tenants.clear()
            self._stored.clear()
            self._emptied = True


def charged_so_far(events: Sequence[Row], share: Callable[[str], int]) -> Mapping[str, int]:
    """What each tenant was charged beyond the clock, as takes and releases tell.

    An event: its kind, the tenant and the cost. Events that are missing at the beginning make no
    difference as soon as a tenant is served that had nothing left. What was settled only in part
    counts as if it had been settled.
    """
    tags: dict[str, int] = {}
    clock = 0
    for kind, tenant, cost in events:
        tag = tags.get(tenant, clock)
        if kind == "taken":
            clock, tags[tenant], _ = taken(tag, clock, cost, share(tenant), 0)
        else:
            tags[tenant] = charged(tag, -cost, share(tenant))
    return {name: tag - clock for name, tag in tags.items() if tag > clock}


def tag_text(tag: int) -> str:
    """A whole number as a text that sorts like it."""
    return f"{tag + BIAS:0{DIGITS}d}"


def tag_of(text: str) -> int:
    """The number that `tag_text` wrote; 0 where there is none."""
    return int(text) - BIAS if text else 0
