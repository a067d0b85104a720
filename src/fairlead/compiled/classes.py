"""What tells messages of a table in memory apart: their classes, bindings and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.procedure import NONE
from fairlead.balance.rules.keyed import NO_KEY as WITHOUT
from fairlead.balance.rules.keyed import number_of
from fairlead.compiled.bindings import NO_KEY, NOT_SAID, Bindings
from fairlead.compiled.intake.columns import coded
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan

DENSE = 1 << 20


def classified(
    messages: pa.Table, plan: Plan, first: Sequence[MessageClass] = ()
) -> tuple[ClassifiedPlan, Int32s]:
    """The plan for the classes of these messages, and the class code of each row.

    `first`: classes that have the first codes, whether they occur or not.
    """
    every = dict.fromkeys(("cluster", *plan.reads, "type"))
    names = [name for name in every if name in messages.column_names]
    code = np.zeros(len(messages), np.int64)
    combinations: list[dict[str, str]] = [{}]
    for name in names:
        indices, words = coded(messages, name)
        if name == "type" and name not in plan.reads:
            words, indices = _only_control(words, indices)
        distinct, code = compressed(code * len(words) + indices)
        combinations = [
            {**combinations[c // len(words)], name: words[c % len(words)]}
            for c in distinct.tolist()
        ]
    known = {message_class: code for code, message_class in enumerate(first)}
    recoded = []
    for combination in combinations:
        control = combination.get("type") == SET_PRIORITY
        message_class = plan.message_class(
            combination.get("cluster", ""), combination, control=control
        )
        recoded.append(known.setdefault(message_class, len(known)))
    return plan.classified(known), np.array(recoded, np.int32)[code]


def _only_control(words: list[str], indices: Int64s) -> tuple[list[str], Int64s]:
    """Of all types only the one of control messages matters."""
    control = np.array([word == SET_PRIORITY for word in words], np.int64)
    return ["", SET_PRIORITY], control[indices] if len(words) else indices


def compressed(codes: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct codes, and the codes as places among them."""
    top = int(codes.max()) + 1 if len(codes) else 0
    if top > DENSE:
        distinct, places = np.unique(codes, return_inverse=True)
        return distinct, places
    distinct = np.flatnonzero(np.bincount(codes, minlength=top))
    place = np.zeros(top, np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[codes]


def homes(plan: ClassifiedPlan) -> list[int]:
    """By the class: a number of the cluster, and of what in it binds such messages to each other.

    NO_KEY where they cannot be bound.
    """
    numbers = numbered_homes(plan)
    return [NO_KEY if home is None else numbers[home] for home in map(_home(plan), plan.classes)]


def numbered_homes(plan: ClassifiedPlan) -> dict[tuple[str, ...], int]:
    """By what binds messages to each other, a cluster and attributes in it: its number."""
    numbers: dict[tuple[str, ...], int] = {}
    for home in map(_home(plan), plan.classes):
        if home is not None:
            numbers.setdefault(home, len(numbers))
    return numbers


def _home(plan: ClassifiedPlan) -> Callable[[MessageClass], tuple[str, ...] | None]:
    def home(message_class: MessageClass) -> tuple[str, ...] | None:
        state = plan.states.get(message_class.cluster)
        if state is None or not state.binds or message_class.control:
            return None
        inside = state.home(message_class.values)
        return None if inside is None else (message_class.cluster, *inside)

    return home


def bindings(messages: pa.Table, plan: ClassifiedPlan, codes: Int32s) -> Bindings | None:
    """What each row may be bound by."""
    if not plan.binds or not len(messages):
        return None
    home = np.array(homes(plan), np.int64)[codes]
    bind_codes = np.full(len(messages), NOT_SAID, np.int8)
    if "bind" in plan.relevant_attributes:
        bind, words = coded(messages, "bind")
        bind_codes = np.array([Bindings.code(word) for word in words], np.int8)[bind]
    keys: list[Int64s] = []
    for name in ("producer", "group"):
        indices, words = coded(messages, name)
        _, key = compressed(np.maximum(home, 0) * len(words) + indices)
        key += sum(int(earlier_key.max()) + 1 for earlier_key in keys)
        named = np.array([name == "producer" or bool(word) for word in words], np.bool_)
        keys.append(np.where((home != NO_KEY) & named[indices], key, NO_KEY))
    size = max(int(key.max()) for key in keys) + 1
    free = np.ones(len(messages), np.bool_)
    return Bindings(bind_codes, keys[0], keys[1], np.full(size, NONE, np.int64), free)


def keyed_by(name: str, plan: ClassifiedPlan, codes: Int32s) -> Bools:
    """By the row: whether its cluster chooses by the attribute of this name."""
    flags = [plan.keyed.get(message_class.cluster) == name for message_class in plan.classes]
    return np.array(flags, np.bool_)[codes]


def keys(messages: pa.Table, plan: ClassifiedPlan, codes: Int32s) -> Int64s | None:
    """The number of each row's key, where its cluster chooses by one."""
    if not plan.keyed:
        return None
    key_numbers = np.full(len(messages), WITHOUT, np.int64)
    for name in dict.fromkeys(plan.keyed.values()):
        indices, words = coded(messages, name)
        numbers = np.array([number_of(word, 0) if word else WITHOUT for word in words], np.int64)
        mine = keyed_by(name, plan, codes)
        key_numbers[mine] = numbers[indices[mine]]
    return key_numbers
