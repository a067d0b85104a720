"""Levels of destinations with weights inside: the next level helps before the first is all gone.

How much each level gets follows Envoy's priority levels: a level that has lost some of its
destinations still takes everything as long as it is healthy enough for `overprovisioning`; then
the rest spills to the next level, in whole per cents. Inside a level, shares follow the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import gcd, lcm
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.elimination import Elimination, drop_where
from fairlead.balance.objects import Ref, Weight
from fairlead.balance.policies.destinations import (
    ABSENT,
    DISABLED,
    DRAINING,
    KIND,
    WEIGHT_ZERO,
    Affinity,
    Destination,
    ListTables,
)
from fairlead.balance.policies.returning import ReturningDescription, ReturningState
from fairlead.balance.policies.slow_start import SlowStarting
from fairlead.balance.policy import Policy
from fairlead.balance.rules.least_served import UNIT, LeastServed, keep_leads
from fairlead.balance.rules.paced import WHOLE as WHOLE_WEIGHT
from fairlead.balance.rules.rule import Otherwise, Weighing
from fairlead.errors import ConfigError

WHOLE = 100
THOUSANDTHS = 1000
OVERPROVISIONING = 140
PANIC_THRESHOLD = 50
IN_SERVICE = (ABSENT, DISABLED, WEIGHT_ZERO)


class LevelServer(Destination, frozen=True, kw_only=True):
    """A destination on a level."""

    priority: Annotated[int, Meta(ge=0, le=127)] = 0
    """0 is the best level."""
    weight: Weight = 1
    enabled: bool = True
    state: Literal["up", "down"] = "up"
    draining: bool = False


class FailoverOptions(SlowStarting, frozen=True, kw_only=True):
    """How a level that is not whole shares with the next one."""

    spill: Literal["gradual", "none"] = "gradual"
    """`none`: a level gets everything as long as anybody there is up."""
    overprovisioning: Annotated[int, Meta(ge=100, le=1000)] | UnsetType = UNSET
    """Per cent: 140 means that a level takes everything until less than 1/1.4 of it is up."""
    panic_threshold: Annotated[int, Meta(ge=0, le=100)] | UnsetType = UNSET
    """Per cent: where all levels together are not healthy enough, one that is healthy by less
    than this uses everybody, also those that are down; 0: never."""
    failback_delay: Decimal | UnsetType = UNSET
    """Seconds for which one that is up again still counts as down."""
    affinity: Affinity = "none"


class FailoverTables(ListTables, frozen=True, kw_only=True):
    """A cluster file with `policy = "priority-failover"`."""

    options: FailoverOptions = FailoverOptions()
    destination: list[LevelServer] = []


class LevelShare(NamedTuple):
    """What a level gets."""

    share: int
    """Per cent."""
    panic: bool
    """Whether those that are down are used, too."""


class Health(NamedTuple):
    """What a level's share is worked out from."""

    up: int
    total: int


def shares(
    levels: Sequence[Health], overprovisioning: int, panic_threshold: int
) -> list[LevelShare]:
    """What each level gets, the best one first; in whole per cents, as Envoy does.

    >>> [level.share for level in shares([Health(1, 4), Health(1, 4), Health(4, 4)], 140, 50)]
    [35, 35, 30]
    """
    health = [min(WHOLE, overprovisioning * up // total) for up, total in levels]
    together = min(WHOLE, sum(health))
    if not together:
        return _nobody_up(levels, panic_threshold)
    left = WHOLE
    portions = []
    for percentage in health:
        share = min(left, percentage * WHOLE // together)
        portions.append(share)
        left -= share
    portions[next(k for k, percentage in enumerate(health) if percentage)] += left
    return [
        LevelShare(share, together < WHOLE and up * WHOLE < panic_threshold * total)
        for share, (up, total) in zip(portions, levels, strict=True)
    ]


def _nobody_up(levels: Sequence[Health], panic_threshold: int) -> list[LevelShare]:
    """Nobody is up: everybody is used, each level by its size; or nobody, where that is off."""
    everybody = sum(total for _, total in levels)
    if not panic_threshold or not levels:
        return [LevelShare(0, panic=False) for _ in levels]
    portions = [WHOLE * total // everybody for _, total in levels]
    portions[0] += WHOLE - sum(portions)
    return [LevelShare(share, panic=True) for share in portions]


class ByShare(LeastServed):
    """The rule over shares, which nobody sets: they follow from who is up.

    Counts are kept in thousandths of a message: so much is rounded away when shares change.
    """

    def __init__(self, shares: list[int]) -> None:
        """Nobody has been sent anything yet."""
        super().__init__(shares)
        self.state.setting[UNIT] = THOUSANDTHS

    def compare(self, members: Sequence[int]) -> Weighing:
        return super().compare(members)._replace(otherwise=Otherwise())


class PriorityFailoverState(ReturningState[FailoverTables]):
    """Level shares by health, then the lowest sent/weight."""

    def __init__(self, policy: Policy, tables: FailoverTables) -> None:
        """Nobody has been sent anything yet."""
        super().__init__(policy, tables)
        options = tables.options
        self.gradual = options.spill == "gradual"
        for name in ("overprovisioning", "panic_threshold"):
            if getattr(options, name) is not UNSET and not self.gradual:
                raise ConfigError(
                    f'options.{name}: found {getattr(options, name)}, with spill = "none" it '
                    "would be ignored; allowed: leave it out",
                    ["options", name],
                )
        self.overprovisioning = _or(options.overprovisioning, OVERPROVISIONING)
        self.panic_threshold = _or(options.panic_threshold, PANIC_THRESHOLD)
        self.can_panic = self.gradual and self.panic_threshold > 0
        self._look()
        self.rule = ByShare(self._weights)

    def ordered(self, refs: list[Ref]) -> list[Ref]:
        return sorted(refs, key=lambda ref: ref.name)

    def _look(self) -> None:
        """Work out what each level and each destination gets."""
        serving = [c for c in self.listed if all(s.keep(None, [c]) for s in IN_SERVICE)]
        self.levels = self._shared(serving)
        used = [
            c
            for c in serving
            if self.levels[c.priority].share and self._usable(c) and not c.draining
        ]
        weight = {c.name: c.weight * self._pace(c) for c in used}
        inside: dict[int, int] = {}
        for c in used:
            inside[c.priority] = inside.get(c.priority, 0) + weight[c.name]
        whole = lcm(*inside.values())
        raw = {
            c.name: self.levels[c.priority].share * weight[c.name] * (whole // inside[c.priority])
            for c in used
        }
        common = gcd(*raw.values()) or 1
        self._got = {name: weight // common for name, weight in raw.items()}
        self._weights = [self._got.get(name, 0) for name in self.members]

    def _shared(self, serving: Sequence[LevelServer]) -> dict[int, LevelShare]:
        priorities = sorted({c.priority for c in serving})
        on = {p: [c for c in serving if c.priority == p] for p in priorities}
        health = [Health(sum(map(_healthy, on[p])), len(on[p])) for p in priorities]
        if self.gradual:
            levels = shares(health, self.overprovisioning, self.panic_threshold)
            return dict(zip(priorities, levels, strict=True))
        first = next((p for p, (up, _) in zip(priorities, health, strict=True) if up), None)
        return {p: LevelShare(WHOLE if p == first else 0, panic=False) for p in priorities}

    def _pace(self, c: LevelServer) -> int:
        """Nobody starts slowly where everybody is needed."""
        if self.levels[c.priority].panic:
            return WHOLE_WEIGHT
        return self.paces.get(Ref(KIND, c.name), WHOLE_WEIGHT)

    def passes(self, value: Any) -> bool:  # noqa: ANN401 - one of ours
        """Whether a destination is in service, and up."""
        return _healthy(value) and all(step.keep(None, [value]) for step in IN_SERVICE)

    def would_pass(self, value: Any, every: Sequence[Any]) -> bool:  # noqa: ANN401
        """A level of which one more does not drain may get more."""
        twin = msgspec.structs.replace(value, draining=False)
        others = [twin if other is value else other for other in every]
        serving = [c for c in others if all(step.keep(None, [c]) for step in IN_SERVICE)]
        level = self._shared(serving).get(twin.priority)
        return (
            level is not None
            and bool(level.share)
            and any(c is twin for c in serving)
            and (twin.state == "up" or level.panic)
        )

    def peers(self, i: int) -> list[int]:
        return [j for j in super().peers(i) if self.listed[j].priority == self.listed[i].priority]

    def _usable(self, c: LevelServer) -> bool:
        return c.state == "up" or self.levels[c.priority].panic

    def eliminations(self) -> Sequence[Elimination[None, Any]]:
        levels = self.levels
        unless = ", unless their level is in panic" if self.can_panic else ""
        return (
            *IN_SERVICE,
            drop_where(
                "down",
                f"destinations that are down are dropped{unless}",
                lambda _, c: not self._usable(c),
                lambda _, c: f"state is {c.state}",
            ),
            drop_where(
                "no-share",
                "destinations on a level that gets nothing now are dropped",
                lambda _, c: not levels[c.priority].share,
                lambda _, c: f"priority {c.priority} gets 0 % now",
            ),
            DRAINING,
        )

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        """Everything else is looked at when the step is complete."""
        if after.present and not before.present:
            self.rule.state.count[self.index[ref]] = 0
        self.moved(ref, passed=self.passes(before), passes=self.passes(after))

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        """Where the shares are others now, who is ahead or behind stays so by as many messages."""
        super().stepped(before)
        weights = self._weights
        self._look()
        if weights != self._weights:
            keep_leads(self.rule.state, self._weights)

    def load(self, plain: Mapping[str, Any]) -> None:
        super().load(plain)
        self._look()

    def weights(self) -> dict[str, int]:
        return {server.name: server.weight for server in self.listed if server.name in self._got}

    def in_effect(self) -> dict[str, int]:
        return dict(self._got)

    def reset(self) -> None:
        self.rule = ByShare(self._weights)


def _healthy(server: LevelServer) -> bool:
    """Whether new work can start there."""
    return server.state == "up" and not server.draining


def _or(value: int | UnsetType, default: int) -> int:
    return default if value is UNSET else value


class PriorityFailoverDescription(ReturningDescription[PriorityFailoverState]):
    """With what each level gets now."""

    def effective(self) -> list[str]:
        state, lines = self.state, self.eliminations()
        if state.gradual:
            lines.append(
                f"a level takes everything until less than {WHOLE}/{state.overprovisioning} of it "
                "is up; then the rest spills to the next level"
            )
            if state.can_panic:
                lines.append(
                    "where all levels together cannot take everything, a level of which less than "
                    f"{state.panic_threshold} % is up uses all destinations on it"
                )
        else:
            lines.append("the best level with a destination that is up gets everything")
        lines.append(
            "choose least-served: the lowest sent/share; ties to the heavier, then by name"
        )
        lines.append(
            "when the shares change, each keeps its lead in messages; who had none starts level"
        )
        lines += [*self.returning(), *self.affine()]
        for priority, level in sorted(state.levels.items()):
            panic = ", all are used" if level.panic else ""
            lines.append(f"now priority {priority} gets {level.share} %{panic}")
        return lines


PRIORITY_FAILOVER: Final = Policy(
    name="priority-failover",
    about="levels of destinations: the best one first, the next helps when it is not whole",
    choose_when="one site is preferred, and must not be overrun when half of it is gone",
    choose_when_not="all destinations are as good as each other (weighted)",
    tables=FailoverTables,
    kinds={KIND: LevelServer},
    state=PriorityFailoverState,
    description=PriorityFailoverDescription,
)
