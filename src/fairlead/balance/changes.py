"""Changes resolved: which cluster and which object each one means, and what follows from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from fairlead.balance.change import ALL_CLUSTERS, FAILED, RESET, STATE, UP, Change, ResolvedChange
from fairlead.balance.objects import Ref, converted, hint, listed, shown
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError, ConfigError

KEYS: Final = ("time", "target", "attribute", "value")
"""Of a change that is given as a dict; `value` may be missing."""
GivenChanges: TypeAlias = Change | Mapping[str, object] | Iterable[Change | Mapping[str, object]]
"""One change or several, each a Change or a dict of KEYS."""


def resolve_one(state: AnyState, change: Change) -> ResolvedChange:
    """Whom and what a change means; refused if it can mean nothing, or two things."""
    if change.attribute == RESET:
        if change.value not in (None, "", True, "true"):
            raise ChangeError(
                f"{change.where}: value of a reset: found {shown(change.value)}, "
                "allowed: nothing, or true"
            )
        if not state.policy.counts:
            raise ChangeError(
                f"{change.where}: reset: the policy {state.policy.name} counts nothing "
                "that could be reset"
            )
        return ResolvedChange(None, RESET, None)
    change = state.translated(change)
    ref = target_of(state, change)
    table = type(state.objects[ref])
    stateless = STATE not in table.__struct_fields__
    can_fail = state.policy.can_fail
    if change.attribute == STATE and change.value in (FAILED, *(UP if stateless else ())):
        if can_fail and ref.kind not in can_fail:
            raise ChangeError(
                f"{change.where}: attribute: found {STATE!r}, allowed for a {listed(can_fail)}"
            )
        return ResolvedChange(ref, STATE, change.value)
    known = [name for name in table.__struct_fields__ if name != "name"]
    if change.attribute not in known:
        raise ChangeError(
            f"{change.where}: attribute: found {change.attribute!r}, allowed for {ref}: "
            f"{', '.join(known)}{hint(change.attribute, known)}"
        )
    reason = state.refusal(change.attribute)
    if reason:
        raise ChangeError(f"{change.where}: attribute {change.attribute}: {reason}")
    try:
        value = converted(table, change.attribute, change.value)
        msgspec.structs.replace(state.objects[ref], **{change.attribute: value})
    except (ConfigError, ValueError) as error:
        raise ChangeError(f"{change.where}: {ref} {change.attribute}: {error}") from None
    return ResolvedChange(ref, change.attribute, value)


def targets_of(state: AnyState, target: str) -> list[Ref]:
    """All objects that a target's text can mean: by name alone, else `kind:name@owner`."""
    named = state.named.get(target, [])
    if named or ":" not in target:
        return named
    kind, _, name = target.partition(":")
    full_name = f"{state.policy.also_called.get(kind, kind)}:{name}"
    return [ref for ref in state.objects if full_name in {str(ref), f"{ref.kind}:{ref.name}"}]


def target_of(state: AnyState, change: Change) -> Ref:
    """The one object that a change speaks of. Raises ChangeError if there is none, or two."""
    refs = targets_of(state, change.target)
    if len(refs) == 1:
        return refs[0]
    if refs:
        raise ChangeError(
            f"{change.where}: target {change.target!r} is ambiguous, "
            f"allowed: {listed(map(str, refs))}"
        )
    if change.target == ALL_CLUSTERS:
        raise ChangeError(
            f"{change.where}: attribute: found {change.attribute!r}, "
            f"allowed for {ALL_CLUSTERS!r}: {RESET}"
        )
    names = [ref.name for ref in state.objects]
    raise ChangeError(
        f"{change.where}: target: found {change.target!r}, "
        f"allowed: {listed(dict.fromkeys(names)) or 'nothing: the file lists nothing'}"
        f"{hint(change.target, names)}"
    )


def resolve(
    states: Mapping[str, AnyState], changes: Change | Iterable[Change]
) -> list[tuple[int, str, list[ResolvedChange]]]:
    """The changes as steps (time, cluster, changes), one for each time and cluster touched."""
    steps: dict[tuple[int, str], list[ResolvedChange]] = {}
    for change in sorted(changes_in(changes), key=lambda change: change.micros):
        for name, local_change in _addressed(states, change):
            steps.setdefault((change.micros, name), []).append(
                resolve_one(states[name], local_change)
            )
    return [(time, name, resolved) for (time, name), resolved in steps.items()]


def with_follow_ups(
    state: AnyState, steps: Sequence[tuple[int, list[ResolvedChange]]]
) -> list[tuple[int, list[ResolvedChange]]]:
    """The steps of a cluster at its beginning, and a step wherever something follows of itself.

    The state makes them all on the way.
    """
    if not state.follows_up:
        return list(steps)
    all_steps: list[tuple[int, list[ResolvedChange]]] = []
    waiting = deque(steps)
    while waiting or state.follow_ups.next is not None:
        due = state.follow_ups.next
        first = bool(waiting) and (due is None or waiting[0][0] <= due)
        time, resolved = waiting.popleft() if first else (due or 0, [])
        state.apply(resolved, time)
        all_steps.append((time, resolved))
    return all_steps


def changes_in(value: object) -> list[Change]:
    """One change or several, as a list. Raises ChangeError for anything else."""
    every: list[object] = [value]
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        every = list(value)
    return [_change(change) for change in every]


def _change(value: object) -> Change:
    if isinstance(value, Change):
        return value
    if not isinstance(value, Mapping):
        raise ChangeError(
            f"change: found {shown(value)}, allowed: a fairlead.Change, or a dict of "
            f"{', '.join(KEYS)}"
        )
    for name in value:
        if name not in KEYS:
            raise ChangeError(
                f"change: found the key {shown(name)}, allowed: {', '.join(KEYS)}"
                f"{hint(str(name), KEYS)}"
            )
    for name in KEYS[:-1]:
        if name not in value:
            raise ChangeError(f"change: found no {name} in {shown(dict(value))}, allowed: with it")
    return Change(**value)


def _addressed(states: Mapping[str, AnyState], change: Change) -> list[tuple[str, Change]]:
    """The clusters that a change speaks of, each with the change as that cluster knows it.

    Of several clusters that have a target, `target@CLUSTER` names one. Refused if it could mean
    more than one.
    """
    if change.attribute == RESET:
        return [(name, change) for name in _reset(states, change)]
    holding = [name for name, state in states.items() if targets_of(state, change.target)]
    target, _, owner = change.target.rpartition("@")
    if not holding and owner in states and targets_of(states[owner], target):
        return [(owner, replace(change, target=target))]
    if len(holding) > 1:
        raise ChangeError(
            f"{change.where}: target {change.target!r} is ambiguous, it stands in the clusters "
            f"{listed(holding)}, allowed: {change.target}@CLUSTER"
        )
    return [(name, change) for name in holding or list(states)[:1]]


def _reset(states: Mapping[str, AnyState], change: Change) -> list[str]:
    if change.target == ALL_CLUSTERS:
        return list(states)
    if change.target in states:
        return [change.target]
    known = [ALL_CLUSTERS, *states]
    raise ChangeError(
        f"{change.where}: target of a reset: found {change.target!r}, "
        f"allowed: {listed(known)}{hint(change.target, known)}"
    )


def addressee(states: Mapping[str, AnyState], change: Change) -> tuple[str, AnyState, Ref]:
    """The one object that a change speaks of, and whose it is: the cluster's name, the cluster.

    Raises ChangeError if there is no such object, or if several could be meant.
    """
    ((name, local_change),) = _addressed(states, change)
    return name, states[name], target_of(states[name], local_change)
