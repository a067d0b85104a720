"""MSMQ's weighted round robin: among the enabled machines, the one served least for its weight.

Source: the stored procedure of "T-SQL Weighted Round Robin Algorithm". Its prose says "the higher
ratio", its ORDER BY takes the lowest, and only that gives the totals it prints; so the lowest
wins. Choosing and counting are one step here, which in the procedure are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from fairlead.balance.elimination import Elimination, drop_where
from fairlead.balance.message import NO_DESTINATION
from fairlead.balance.objects import Object, Ref, Table, Weight, Worker
from fairlead.balance.policy import Policy, Raw, Tables
from fairlead.balance.rules import least_served
from fairlead.balance.rules.least_served import LeastServed
from fairlead.errors import ConfigError


class Machine(Worker, frozen=True, kw_only=True):
    """A row of the procedure's table."""

    address: str = ""
    weight: Weight
    enabled: bool = True
    # Nobody is ever busy under this policy, so a limit would be ignored.
    capacity: Annotated[int, Meta(ge=0, le=0)] = 0


class MsmqOptions(Table, frozen=True, kw_only=True):
    """`catch-up`: a newcomer gets everything until its ratio has caught up; `level`: no burst."""

    newcomer: Literal["catch-up", "level"] = "catch-up"


class MsmqTables(Tables, frozen=True, kw_only=True):
    """A cluster file with `policy = "msmq"`."""

    options: MsmqOptions = MsmqOptions()
    destination: list[Machine] = []


def eligible(machine: Machine) -> bool:
    """Whether a machine can be chosen at all."""
    return machine.present and machine.enabled and machine.weight > 0


ELIMINATIONS: tuple[Elimination[None, Machine], ...] = (
    drop_where(
        "absent",
        "machines that are not in the table are dropped",
        lambda _, c: not c.present,
        lambda _, c: "present is false",
    ),
    drop_where(
        "disabled",
        "machines that are not enabled are dropped",
        lambda _, c: not c.enabled,
        lambda _, c: "enabled is false",
    ),
    drop_where(
        "weight-zero",
        "machines of weight 0 are dropped",
        lambda _, c: c.weight == 0,
        lambda _, c: "weight is 0",
    ),
)


class Msmq(Policy[MsmqTables, None, Machine]):
    """Lowest sent/weight; ties to the heavier, then by name."""

    name = "msmq"
    about = "weighted round robin: the machine with the lowest sent/weight"
    choose_when = "shares must follow the weights at every moment, not only on average"
    choose_when_not = "machines fail without being disabled, or are busy for unequal times"
    tables = MsmqTables
    kinds: ClassVar = {"destination": Machine}

    def __init__(self, tables: MsmqTables) -> None:
        """Nobody has been sent anything yet."""
        super().__init__(tables)
        if not self.objects:
            raise ConfigError("destination: found none, allowed: at least one [[destination]]")
        self.level = tables.options.newcomer == "level"
        self._refs = sorted(self.objects, key=lambda ref: ref.name)
        self._index = {ref: i for i, ref in enumerate(self._refs)}
        self.members = tuple(ref.name for ref in self._refs)
        self.rule = LeastServed([self.objects[ref].weight for ref in self._refs])

    def listing(self, tables: MsmqTables) -> Iterable[tuple[Ref, Object]]:
        return ((Ref("destination", each.name), each) for each in tables.destination)

    def key(self, raw: Raw) -> None:
        return None

    def candidates(self, key: None) -> tuple[list[Machine], str]:
        return list(self.objects.values()), NO_DESTINATION

    def eliminations(self) -> Sequence[Elimination[None, Machine]]:
        return ELIMINATIONS

    def member(self, candidate: Machine) -> int:
        return self._index[Ref("destination", candidate.name)]

    def address(self, member: int) -> str | None:
        address: str = self.objects[self._refs[member]].address
        return address or None

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        i = self._index[ref]
        state = self.rule.state
        if after.weight != before.weight:
            least_served.reweigh(state, i, after.weight)
        if after.present and not before.present:
            state.count[i] = 0
        arrived = eligible(after) and (not eligible(before) or after.weight != before.weight)
        if self.level and arrived:
            others = [
                self._index[each]
                for each in self._refs
                if each != ref and eligible(self.objects[each])
            ]
            least_served.level(state, i, others)

    def weights(self) -> dict[str, int]:
        return {each.name: each.weight for each in self.objects.values() if eligible(each)}

    def reset(self) -> None:
        least_served.reset(self.rule.state)

    def effective(self) -> list[str]:
        newcomer = (
            "starts level with the others, so that it gets no burst"
            if self.level
            else "gets everything until its ratio has caught up"
        )
        return [
            *(f"{e.name}: {e.about}" for e in ELIMINATIONS),
            "choose least-served: the lowest sent/weight; ties to the heavier, then by name",
            f"a machine that is added, enabled again or re-weighted {newcomer}",
        ]
