"""Many choices of a rule as the engines for tables make them."""

from collections.abc import Sequence

import numpy as np

from fairlead.balance.procedure import NONE
from fairlead.balance.rules.rule import Rule
from fairlead.compiled.choices import closed_form, flat
from fairlead.compiled.decide import EMPTY, Block, DecisionTable, decide

Sets = Sequence[Sequence[int]]


def one_after_another(
    rule: Rule,
    sets: Sets,
    which: Sequence[int],
    *,
    numbers: Sequence[int] = (),
    times: Sequence[int] = (),
    services: Sequence[int] = (),
) -> list[int]:
    """One choice for each entry of `which`, among the members of sets[which[k]]; NONE: nobody."""
    starts, among = flat(sets)
    nothing = np.full(len(sets), NONE, np.int64)
    n = 1 + max(among)
    table = DecisionTable(
        among=among,
        start=starts[:-1],
        stop=starts[1:],
        preselected=nothing,
        unserved=nothing,
        copies=np.zeros(len(sets), np.int64),
        label=np.arange(n),
        holds=np.ones(n, np.bool_),
        speed=np.array(rule.state.speed, np.int64) if times else EMPTY,
    )
    columns = {"numbers": numbers, "times": times, "services": services}
    block = Block(
        np.array(which, np.int32),
        **{name: np.array(column, np.int64) for name, column in columns.items()},
    )
    return decide(rule, table, block).tolist()


def among(rule: Rule, members: Sequence[int], n: int) -> list[int]:
    """The next n choices among the same members, in the shortest way."""
    found = closed_form(rule, members, n)
    return one_after_another(rule, [members], [0] * n) if found is None else found.tolist()
