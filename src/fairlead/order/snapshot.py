"""What readers of an agenda hold; and all that waits or is held as plain data, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from fairlead.order.key import Entry
from fairlead.order.waiting import Group, Item
from fairlead.order.work_order import WorkOrder


class Hold:
    """A group, or an item without one, in the hands of a reader."""

    __slots__ = ("attempt", "given", "member", "number", "priority", "taken")

    def __init__(self, number: int, member: Item | Group[Item], taken: int) -> None:
        """`number`: of the event; `taken`: when, in microseconds."""
        self.number = number
        self.member = member
        self.taken = taken
        self.priority = member.was.priority if isinstance(member, Group) else member.raised
        self.attempt = member.releases + 1
        self.given: list[Item] = []
        """What the reader has been given."""


def dump(order: WorkOrder[Item], holds: Iterable[Hold]) -> dict[str, Any]:
    """Everything that later takes depend on, as plain data; the items are apart."""
    contents: list[Any] = []

    def bare(items: Iterable[Item]) -> list[list[Any]]:
        batch = list(items)
        contents.extend(item.content for item in batch)
        return [
            [item.tenant, item.cost, item.arrived, item.number, item.raised, item.releases]
            for item in batch
        ]

    plain = {
        "now": order.now,
        "number": order.number,
        "clock": order.clock,
        "tenants": [list(charge) for charge in order.charges()],
        "lone": bare(sorted(order.lone_items(), key=attrgetter("number"))),
        "groups": [
            [group.name, group.tenant, list(group.entry), group.releases, group.lasts, waiting]
            for group in order.groups.values()
            for waiting in [bare(group.items)]
        ],
        "holds": [_bare_hold(hold, bare) for hold in holds],
    }
    return {**plain, "items": contents, "kept": len(contents)}


def _bare_hold(hold: Hold, bare: Any) -> list[Any]:  # noqa: ANN401 - a function of `dump`
    member = hold.member
    if isinstance(member, Group):
        name, entry, items = member.name, list(member.was), hold.given
    else:
        name, entry, items = "", [], [member]
    return [hold.number, name, entry, member.was_turn, hold.taken, len(hold.given), bare(items)]


def load(order: WorkOrder[Item], plain: Mapping[str, Any]) -> list[Hold]:
    """Take over what `dump` gave, where nothing waits; what readers hold."""
    contents = iter(plain["items"])
    order.now, order.number, order.clock = plain["now"], plain["number"], plain["clock"]
    lone = [_item("", next(contents), *row) for row in plain["lone"]]
    groups: dict[str, Group[Item]] = {}
    for name, tenant, entry, releases, lasts, rows in plain["groups"]:
        group = groups[name] = Group(name, tenant)
        group.entry, group.releases, group.lasts = Entry(*entry), releases, lasts
        for row in rows:
            item = _item(name, next(contents), *row)
            item.in_group = group
            group.items.append(item)
            group.cost += item.cost
    holds, held = [], []
    for number, name, entry, turn, taken, given, rows in plain["holds"]:
        items = [_item(name, next(contents), *row) for row in rows]
        member: Item | Group[Item] = groups[name] if name else items[0]
        member.was_turn = turn
        if isinstance(member, Group):
            member.locked, member.was = True, Entry(*entry)
        else:
            held.append(member)
        hold = Hold(number, member, taken)
        hold.given = items[:given]
        holds.append(hold)
    order.bring([*lone, *groups.values()], held, plain["tenants"])
    return holds


def _item(
    group: str,
    content: object,
    tenant: str,
    cost: int,
    arrived: int,
    number: int,
    raised: int,
    releases: int,
) -> Item:
    item = Item(content, group, tenant, cost)
    item.arrived, item.number, item.raised, item.releases = arrived, number, raised, releases
    return item
