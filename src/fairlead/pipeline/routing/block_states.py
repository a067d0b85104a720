"""Block states: the state at the start of each block, and which messages follow earlier ones.

By arithmetic where counts are enough; else in one pass in order; with groups that can lose their
destination, in a pass that remembers where they went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.router import Router
from fairlead.pipeline.routing import affinity
from fairlead.pipeline.routing.class_counts import Counts, Survey, added, recount, sizes, states
from fairlead.pipeline.routing.in_order import states_in_order
from fairlead.pipeline.routing.rebind import rebound
from fairlead.pipeline.routing.route import States
from fairlead.pipeline.routing.since import BEGINNING, Since
from fairlead.runs.progress import Progress

IN_ORDER = "route in order"


class Begun(NamedTuple):
    """A table of which each block can be routed by itself."""

    rows: DataFrame
    """With FREE and BOUND where messages can be bound."""
    states: States
    """The state at the start of each block, and after the last."""
    members: DataFrame | None = None
    """To whom groups are bound at the end: BIND, WHOSE, WORD, MEMBER."""
    kept: tuple[DataFrame, ...] = ()
    """What Spark keeps, because the rows are made of it; to be unpersisted when they are read."""


def begin(
    rows: DataFrame,
    plan: ClassifiedPlan,
    survey: Survey,
    columns: Sequence[str],
    progress: Progress,
    since: Since = BEGINNING,
    horizon: int | None = None,
) -> Begun:
    """Look at the messages in order, as far as their order decides where they go.

    `rows`: accepted rows with BLOCK, VERSION and CLASS, and with a horizon AT; `columns`: what the
    table itself has.
    """
    start = since.start(plan)
    if not affinity.can_bind(plan, columns):
        return Begun(rows, _states(rows, plan, survey, survey.counts, progress, start))
    known = affinity.known(since.groups, plan) if since.groups is not None else None
    keyed = affinity.keyed(rows, plan, known, horizon)
    firsts = affinity.firsts(keyed).persist()
    alone = affinity.unbound(keyed)
    counts, of_firsts = recount(alone), recount(firsts)
    groups = sum(sizes(of_firsts, len(survey.blocks)))
    chosen_for = firsts.unionByName(alone) if counts else firsts
    if known is not None or affinity.ends(plan):
        before = None if known is None else affinity.still_bound(known, keyed, horizon)
        with progress(IN_ORDER):
            settled, in_order, members, cache = rebound(
                keyed, chosen_for, firsts, groups, plan, survey.blocks, start, before
            )
        return Begun(
            settled, _with_streams(plan, survey, in_order, start), members, (firsts, cache)
        )
    free = added(counts, of_firsts)
    states = _states(chosen_for, plan, survey, free, progress, start)
    of_blocks = sizes(free, len(survey.blocks))
    settled = affinity.bound(keyed, chosen_for, groups, plan, states, survey.blocks, of_blocks)
    return Begun(settled, states, kept=(firsts,))


def _states(
    free: DataFrame,
    plan: ClassifiedPlan,
    survey: Survey,
    counts: Counts,
    progress: Progress,
    start: Mapping[str, object],
) -> States:
    """By arithmetic, or else by a pass over the messages that are chosen for."""
    known = states(plan, survey.counts, counts, len(survey.blocks), start)
    if known is not None:
        return known
    with progress(IN_ORDER):
        in_order = states_in_order(plan, free, survey.blocks, start)
    return _with_streams(plan, survey, in_order, start)


def _with_streams(
    plan: ClassifiedPlan, survey: Survey, in_order: States, start: Mapping[str, object]
) -> States:
    """States of the choices, with the streams counted."""
    router = Router(plan)
    router.load(start)
    whole = []
    for block, state in enumerate(in_order):
        whole.append({**state, "upcoming": router.upcoming.tolist()})
        for counts in survey.counts.get(block, {}).values():
            router.skip(counts)
    return whole
