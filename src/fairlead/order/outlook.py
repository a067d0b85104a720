"""What would be taken next, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, nsmallest
from itertools import pairwise
from typing import Any, NamedTuple

from fairlead.balance.times import in_seconds, micros, seconds
from fairlead.order.key import UNRAISED, Entry, charged
from fairlead.order.waiting import Group, Item, Tenant
from fairlead.text import dated, moment


class Standing(NamedTuple):
    """One waiting group's place."""

    group: str
    """Its name; "" for an item that arrived without a group."""
    item: Any
    """The first item of it that waits."""
    items: int
    """How many wait."""
    tenant: str
    """Whose it is."""
    priority: int | None
    """None if nobody has raised it."""
    since: float
    """When it was entered at its priority, or, if nobody has raised it (and wherever there is
    ageing), when its first item arrived; seconds."""
    id: str = ""
    """The first item's, in a store; "" where items have none."""

    def __str__(self) -> str:
        items = "1 item" if self.items == 1 else f"{self.items} items"
        raised = "not raised" if self.priority is None else f"priority {self.priority}"
        owner = f", tenant {self.tenant}" if self.tenant else ""
        since = moment(micros(self.since) or 0)
        return f"{self.name}: {items}, {raised}, since {since}{owner}"

    @property
    def name(self) -> str:
        """The group's name; where it has none, its item's id, else the item itself."""
        return self.group or (f"message {self.id}" if self.id else repr(self.item))


class Outlook(NamedTuple):
    """What would be taken next if nothing more happened; as a text, the lines that say it."""

    ranks: list[Standing]
    """The groups in the order in which they would be taken."""
    decided: str
    """Why the first comes before the second; "" where there is no second."""
    waiting: int
    """How many groups could be taken."""
    working: int
    """How many are in the hands of readers."""

    def __str__(self) -> str:
        lines = [f"{self.waiting} waiting, {self.working} worked on"]
        lines += [f"  {place}. {standing}" for place, standing in enumerate(self.ranks, 1)]
        return "\n".join([*lines, dated(self.decided)] if self.decided else lines)


Turn = tuple[Item | Group[Any], Entry, Tenant[Any], int]
"""An item or a group, what it stands with, its tenant and the tenant's tag at that moment."""


def look_ahead(tenants: Iterable[Tenant[Any]], step: int, most: int, working: int) -> Outlook:
    """The next groups, at most so many; `step` as in `key`."""
    every = list(tenants)
    turns = _turns(every, step, max(most, 2))
    ranks = [_standing(member, entry) for member, entry, _, _ in turns[:most]]
    waiting = sum(1 for tenant in every for member in tenant.places if _items(member))
    decided = _why(turns[0], turns[1], step) if len(turns) > 1 else ""
    return Outlook(ranks, decided, waiting, working)


def ranks_with_reasons(
    tenants: Iterable[Tenant[Any]], step: int, most: int
) -> list[tuple[Standing, str]]:
    """The next groups, at most so many, each with why it goes before the next one.

    "": there is no next one.
    """
    turns = _turns(list(tenants), step, most + 1)
    reasons = [_why(first, second, step) for first, second in pairwise(turns)]
    ranks = [_standing(member, entry) for member, entry, _, _ in turns]
    return [*zip(ranks, [*map(dated, reasons), ""], strict=False)][:most]


def _items(member: Item | Group[Any]) -> Sequence[Item]:
    return member.items if isinstance(member, Group) else (member,)


def _turns(tenants: list[Tenant[Any]], step: int, most: int) -> list[Turn]:
    """The next takes, each accepted before the next."""
    lines = {}
    for tenant in tenants:
        ready = (member.place for member in tenant.places if _items(member) and member.place)
        lines[tenant.name] = iter(nsmallest(most, ready))
    tags = [(tenant.tag, tenant.turn, tenant.name, tenant) for tenant in tenants]
    heapify(tags)
    number = max((tenant.turn for tenant in tenants), default=0)
    turns: list[Turn] = []
    while tags and len(turns) < most:
        tag, _, name, tenant = heappop(tags)
        place = next(lines[name], None)
        if place is None:
            continue
        member: Item | Group[Any] = place[-1]
        turns.append((member, member.standing(step), tenant, tag))
        number += 1
        heappush(tags, (charged(tag, member.cost, tenant.share), number, name, tenant))
    return turns


def _standing(member: Item | Group[Any], entry: Entry) -> Standing:
    name = member.name if isinstance(member, Group) else ""
    priority = None if entry.priority == UNRAISED else entry.priority
    items = _items(member)
    since, first = seconds(entry.entered), items[0]
    return Standing(name, first.shown(), len(items), member.tenant, priority, since, first.id)


def _why(first: Turn, second: Turn, step: int) -> str:
    """The comparison by which the first comes before the second."""
    member, one, tenant, tag = first
    other, two, other_tenant, other_tag = second
    a, b = _standing(member, one).name, _standing(other, two).name
    if tenant is not other_tenant:
        x, y = tenant.name or "without a name", other_tenant.name or "without a name"
        if tag != other_tag:
            return f"{a} before {b}: tenant {x} has been charged less than {y}: {tag} < {other_tag}"
        return (
            f"{a} before {b}: tenants {x} and {y} are charged alike; "
            f"{x} was served, or began to wait, less recently"
        )
    return compared(a, one, b, two, step)


def compared(a: str, one: Entry, b: str, two: Entry, step: int) -> str:
    """The comparison by which group `a`, which stands with `one`, comes before `b` with `two`."""
    if step:
        return f"{a} before {b}: {_aged(one, step)} before {_aged(two, step)}"
    if one.priority != two.priority:
        if two.priority == UNRAISED:
            return f"{a} before {b}: {a} was raised, {b} was not"
        return f"{a} before {b}: the higher priority: {one.priority} > {two.priority}"
    earlier, later = in_seconds(one.entered), in_seconds(two.entered)
    when = f": {earlier} s < {later} s" if earlier != later else ", in the same microsecond"
    if one.priority == UNRAISED:
        return f"{a} before {b}: neither was raised; it arrived earlier{when}"
    return f"{a} before {b}: both at priority {one.priority}; it was entered earlier{when}"


def _aged(entry: Entry, step: int) -> str:
    entered, stride, aged = map(
        in_seconds, (entry.entered, step, entry.entered - entry.priority * step)
    )
    return f"{entered} s - {entry.priority} * {stride} s = {aged} s"
