"""MSMQ's weighted round robin: among the enabled machines, the one served least for its weight.

Source: the stored procedure of "T-SQL Weighted Round Robin Algorithm". Its prose says "the higher
ratio", its ORDER BY takes the lowest, and only that gives the totals it prints; so the lowest
wins. Choosing and counting are one step here, which in the procedure are two.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from fairlead.balance.objects import FileTable, Ref, Weight
from fairlead.balance.policies.destinations import (
    ABSENT,
    DISABLED,
    DRAINING,
    KIND,
    WEIGHT_ZERO,
    Affinity,
    Destination,
    DestinationDescription,
    DestinationState,
    ListTables,
)
from fairlead.balance.policy import Policy
from fairlead.balance.rules import least_served
from fairlead.balance.rules.least_served import LeastServed

NEWCOMERS = {
    True: "starts level with the others, so that it gets no burst",
    False: "gets everything until its ratio has caught up",
}


class MachineRow(Destination, frozen=True, kw_only=True):
    """A row of the procedure's table."""

    weight: Weight
    enabled: bool = True
    draining: bool = False
    # Nobody is ever busy under this policy, so a limit would be ignored.
    capacity: Annotated[int, Meta(ge=0, le=0)] = 0


class MsmqOptions(FileTable, frozen=True, kw_only=True):
    """`catch-up`: a newcomer gets everything until its ratio has caught up; `level`: no burst."""

    newcomer: Literal["catch-up", "level"] = "catch-up"
    affinity: Affinity = "none"


class MsmqTables(ListTables, frozen=True, kw_only=True):
    """A cluster file with `policy = "msmq"`."""

    options: MsmqOptions = MsmqOptions()
    destination: list[MachineRow] = []


class MsmqState(DestinationState[MsmqTables]):
    """Lowest sent/weight; ties to the heavier, then by name."""

    def __init__(self, policy: Policy, tables: MsmqTables) -> None:
        """Nobody has been sent anything yet."""
        super().__init__(policy, tables)
        self.level = tables.options.newcomer == "level"
        self.rule = LeastServed([machine.weight for machine in self.listed])

    def ordered(self, refs: list[Ref]) -> list[Ref]:
        return sorted(refs, key=lambda ref: ref.name)

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        i = self.index[ref]
        state = self.rule.state
        if after.weight != before.weight:
            least_served.reweigh(state, i, after.weight)
        if after.present and not before.present:
            state.count[i] = 0
        arrived = not self.passes(before) or after.weight != before.weight
        if self.level and arrived and self.passes(after):
            others = [j for j, machine in enumerate(self.listed) if j != i and self.passes(machine)]
            least_served.level(state, i, others)

    def weights(self) -> dict[str, int]:
        return {
            machine.name: machine.weight
            for machine in self.objects.values()
            if self.passes(machine)
        }

    def reset(self) -> None:
        least_served.reset(self.rule.state)


class MsmqDescription(DestinationDescription[MsmqState]):
    """In the procedure's words."""

    def effective(self) -> list[str]:
        newcomer = NEWCOMERS[self.state.level]
        return [
            *self.eliminations(),
            "choose least-served: the lowest sent/weight; ties to the heavier, then by name",
            f"a destination that is added, enabled again or re-weighted {newcomer}",
            *self.affine(),
        ]


MSMQ: Final = Policy(
    name="msmq",
    about="weighted round robin: the machine with the lowest sent/weight",
    choose_when="shares must follow the weights at every moment, not only on average",
    choose_when_not="machines fail without being disabled, or are busy for unequal times",
    tables=MsmqTables,
    kinds={KIND: MachineRow},
    eliminations=(ABSENT, DISABLED, DRAINING, WEIGHT_ZERO),
    state=MsmqState,
    description=MsmqDescription,
)
