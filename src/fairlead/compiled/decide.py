"""Who gets each of many messages, one after another, while the cluster does not change.

`decide_all` and what it calls are in the part of Python that Numba compiles; `chosen` and
`completed` are the choice rule's.
"""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from fairlead.balance.procedure import BINDING, NONE, PRESELECTION, RULE, what_decides
from fairlead.balance.rules.due import HEAP, Due, nothing_due, pop, push, work
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.balance.rules.own_rule import nonsense
from fairlead.balance.rules.rule import Rule
from fairlead.compiled.bindings import NO_KEY
from fairlead.compiled.engine import engine, plain
from fairlead.compiled.kernels import Int32s, Int64s, as_arrays
from fairlead.compiled.numba_views import borrowed, lent, state_of
from fairlead.compiled.uncompiled_rules import cannot_compile, is_interpreted

NOT_A_MEMBER: Final = -2
"""Instead of a member, where a user's own rule has chosen none of those that it was given."""
EMPTY: Final = np.empty(0, np.int64)


class DecisionTable(NamedTuple):
    """A cluster as it is now."""

    among: Int64s
    """The members that can be chosen, those of one class after those of another."""
    start: Int64s
    """By class: where its members begin there."""
    stop: Int64s
    preselected: Int64s
    """By class: a member, or NONE."""
    unserved: Int64s
    """By class: the code of a message that nobody gets."""
    copies: Int64s
    """By class: what is added to the code because others get the message as well."""
    label: Int32s
    """By member: the code of a message that it gets."""
    holds: NDArray[np.bool_]
    """By member: whether it still gets what is bound to it."""
    speed: Int64s = EMPTY
    """By member, in thousandths of the nominal speed; where completions decide who is busy."""


class Block(NamedTuple):
    """Messages in order. What nothing depends on is empty."""

    classes: Int32s
    keys: Int64s = EMPTY
    """What each may be bound by, as a place in `bound`; NO_KEY: nothing."""
    bound: Int64s = EMPTY
    """The member that each key is bound to, or NONE; kept up to date."""
    free: NDArray[np.bool_] = np.empty(0, np.bool_)
    """Filled in where there are keys: False for a message that went where its key is bound."""
    numbers: Int64s = EMPTY
    """What a keyed rule chooses by."""
    times: Int64s = EMPTY
    """Microseconds, never falling; where completions decide who is busy."""
    services: Int64s = EMPTY
    """Microseconds."""


def chosen(r: Any, among: Indexes, start: int, stop: int, _: int, wrong: Ints) -> int:  # noqa: ANN401, ARG001
    """Ask the rule for one of the members from `start` to `stop`."""
    return choose(state_of(r), among, start, stop)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(r: Any, among: Indexes, start: int, stop: int, key: int, wrong: Ints) -> int:  # noqa: ANN401, ARG001
    """Ask a rule that looks at a number of the message."""
    return choose(state_of(r), among, start, stop, key)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_own(r: Any, among: Indexes, start: int, stop: int, _: int, wrong: Ints) -> int:  # noqa: ANN401
    """Ask a user's own rule; what it chooses is looked for among those that it was given."""
    i = choose(state_of(r), among, start, stop)  # type: ignore[name-defined]  # noqa: F821
    for k in range(start, stop):
        if among[k] == i:
            served(state_of(r), i)  # type: ignore[name-defined]  # noqa: F821
            return int(i)
    wrong[0] = i
    return NOT_A_MEMBER


def finish_until(r: Any, d: Any, time: int) -> None:  # noqa: ANN401
    """Let all completions up to and at this time happen."""
    due = state_of(d)
    while due.size[0] > 0 and due.at[0] <= time:
        i = due.who[0]
        pop(due)
        completed(state_of(r), i)  # type: ignore[name-defined]  # noqa: F821


def decide_all(s: Any, due: Due, t: DecisionTable, b: Block, out: Any, wrong: Ints) -> int:  # noqa: ANN401, C901
    """Write each message's code into `out`; returns how many there are.

    It stops early at a choice that is none of the members, with that in `wrong`.
    """
    r, d, among = lent(s), lent(due), borrowed(t.among)
    start, stop, preselected, unserved = t.start, t.stop, t.preselected, t.unserved
    label, copies, speed = t.label, t.copies, t.speed
    keys, bound, holds, numbers = b.keys, b.bound, t.holds, b.numbers
    times, services = b.times, b.services
    binds, timed, keyed = len(keys) > 0, len(times) > 0, len(numbers) > 0
    for k in range(len(b.classes)):
        if timed:
            finish_until(r, d, times[k])
        c = b.classes[k]
        key = keys[k] if binds else NO_KEY
        member = bound[key] if key != NO_KEY else NONE
        if member != NONE and not holds[member]:
            member = NONE
        decides = what_decides(member, preselected[c], start[c] < stop[c])
        if decides == BINDING:
            b.free[k] = False
        elif decides == PRESELECTION:
            member = preselected[c]
        elif decides == RULE:
            number = numbers[k] if keyed else 0
            member = chosen(r, among, start[c], stop[c], number, wrong)
            if member == NOT_A_MEMBER:
                return k
        if member == NONE:
            out[k] = unserved[c]
            continue
        out[k] = label[member] + copies[c]
        if key != NO_KEY:
            bound[key] = member
        if timed:
            push(state_of(d), times[k] + work(services[k], speed[member]), member)
    return len(b.classes)


# What the engine binds to a rule.
BASE = (what_decides, *HEAP)
CHOSEN = (chosen, chosen_by_key, chosen_by_own)
OF_A_RULE = (finish_until, decide_all)
_KERNEL = sys.modules[__name__]


def decide(rule: Rule, table: DecisionTable, block: Block) -> Int32s:
    """The code of each message; moves the rule on, and the bindings. Raises RuleError."""
    exact = rule.fits_int64(len(block.classes))
    with rule.guard():
        if exact and not (rule.foreign and is_interpreted(rule.module)):
            try:
                return _compiled(rule, table, block)
            except NumbaError as error:
                if not rule.foreign:
                    raise
                cannot_compile(rule.module, error)
        return _interpreted(rule, table, block)


def _compiled(rule: Rule, table: DecisionTable, block: Block) -> Int32s:
    out, wrong = np.empty(len(block.classes), np.int32), np.zeros(1, np.int64)
    state, due = as_arrays(rule.state), _to_come(rule, block)
    made = engine(_KERNEL, rule).decide_all(state, due, table, block, out, wrong)
    rule.adopt(state)
    _keep(rule, due, block)
    _check(rule, table, block, made, int(wrong[0]))
    return out


def _interpreted(rule: Rule, table: DecisionTable, block: Block) -> Int32s:
    """As `_compiled`, over lists: integers are as large as they get."""
    out, wrong = [0] * len(block.classes), [0]
    t = DecisionTable(*(field.tolist() for field in table))
    b = Block(*(field.tolist() for field in block))
    due = _to_come(rule, block)
    made = plain(_KERNEL, rule).decide_all(rule.state, due, t, b, out, wrong)
    _keep(rule, due, block)
    block.bound[:] = b.bound
    block.free[:] = b.free
    _check(rule, table, block, made, wrong[0])
    return np.array(out, np.int32)


def _to_come(rule: Rule, block: Block) -> Any:  # noqa: ANN401 - a Due over arrays
    """The completions to come, with room for one more a message."""
    if not len(block.times):
        return as_arrays(nothing_due())
    due, room = as_arrays(rule.due), np.zeros(len(block.times), np.int64)
    at, order, who = (np.concatenate([field, room]) for field in due[:3])
    return Due(at, order, who, due.size)


def _keep(rule: Rule, due: Any, block: Block) -> None:  # noqa: ANN401
    """The rule remembers what is still to come."""
    if len(block.times):
        at, order, who = (field[: due.size[0]].tolist() for field in due[:3])
        rule.due = Due(at, order, who, due.size.tolist())


def _check(rule: Rule, table: DecisionTable, block: Block, made: int, wrong: int) -> None:
    if made < len(block.classes):
        c = int(block.classes[made])
        members = table.among[int(table.start[c]) : int(table.stop[c])]
        raise nonsense(rule.name, wrong, members.tolist())
