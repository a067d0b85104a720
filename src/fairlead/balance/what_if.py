"""What would have been chosen, had something been otherwise: the cluster is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairlead.balance.change import Change
from fairlead.balance.changes import resolve_one
from fairlead.balance.history import UNKNOWN, DecisionPoint
from fairlead.balance.message import AttributeValues
from fairlead.balance.rules.rule import Rule
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError, ConfigError

NOBODY: Final = -1
REFUSED: Final = -2
"""The cluster's file could not say so."""


class WhatIf:
    """A cluster just before one choice; each question is asked of a copy."""

    def __init__(self, moment: DecisionPoint, values: AttributeValues) -> None:
        """`values`: what the policy reads of the message."""
        self._moment = moment
        self._values = values

    def without(self, member: int) -> int:
        """Who would have been chosen if a member had left just before."""
        return self._changed(member, "present", value=False)

    def weighing(self, member: int, weight: int) -> int:
        """Who would have been chosen if a member had got another weight just before."""
        return self._changed(member, "weight", value=weight)

    def rule_with(self, edit: Callable[[Rule], None]) -> int:
        """Who would have been chosen if the rule had counted otherwise."""
        rule = self._moment.rule().copy()
        edit(rule)
        eligible, _ = self._moment.eliminate(self._values)
        return rule.choose(eligible.members)

    def _changed(self, member: int, attribute: str, value: object) -> int:
        cluster = self._moment.frame.cluster.frozen()
        cluster.rule = self._moment.rule().copy()
        try:
            change = resolve_one(cluster, Change(str(cluster.object_of(member)), attribute, value))
            cluster.apply([change], cluster.now)
        except (ChangeError, ConfigError):
            return REFUSED
        chosen = self._chosen_of(cluster)
        if chosen >= 0 and cluster.describe.undeliverable_reason(chosen):
            return NOBODY
        return chosen

    def _chosen_of(self, cluster: AnyState) -> int:
        """Whom a cluster chooses, or to whom what it belongs to comes back."""
        binding = self._moment.binding
        if binding is not None and cluster.rebinds:
            if binding.before >= 0 and cluster.keeps(binding.before, self._values):
                return binding.before
            was = self._moment.frame.cluster.holding(self._values)
            if binding.before == UNKNOWN and not cluster.holding(self._values) <= was:
                return NOBODY  # it may be at one that would not have dropped out
        eligible = cluster.eligible(self._values)
        if eligible.preselected >= 0:
            return eligible.preselected
        if not eligible.members:
            return NOBODY
        return cluster.rule.choose(eligible.members)
