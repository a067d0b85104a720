"""Block states: the state at the start of each block, and which messages follow earlier ones.

By arithmetic where counts are enough; else in one pass in order; with groups that can lose their
destination, in a pass that remembers where they went.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.router import Router
from fairlead.pipeline.columns import FREE
from fairlead.pipeline.progress import Progress
from fairlead.pipeline.routing import affinity
from fairlead.pipeline.routing.class_counts import Counts, Survey, recount, sizes, states
from fairlead.pipeline.routing.in_order import states_in_order
from fairlead.pipeline.routing.rebind import rebound
from fairlead.pipeline.routing.route import States

IN_ORDER = "route in order"


class Begun(NamedTuple):
    """A table of which each block can be routed by itself."""

    rows: DataFrame
    """With FREE and BOUND where messages can be bound."""
    states: States
    """The state at the start of each block."""
    kept: tuple[DataFrame, ...] = ()
    """What Spark keeps, because the rows are made of it; to be unpersisted when they are read."""


def begin(
    rows: DataFrame, plan: ClassifiedPlan, found: Survey, columns: Sequence[str], progress: Progress
) -> Begun:
    """Look at the messages in order, as far as their order decides where they go.

    `rows`: accepted rows with BLOCK, VERSION and CLASS; `columns`: what the table itself has.
    """
    if not affinity.can_bind(plan, columns):
        return Begun(rows, _states(rows, plan, found, found.counts, progress))
    keyed = affinity.keyed(rows, plan)
    if affinity.ends(plan):
        with progress(IN_ORDER):
            settled, in_order, kept = rebound(keyed, plan, found.blocks)
        return Begun(settled, _with_streams(plan, found, in_order), (kept,))
    free = keyed.where(FREE)
    counts = recount(free)
    states = _states(free, plan, found, counts, progress)
    of_blocks = sizes(counts, len(found.blocks))
    return Begun(affinity.bound(keyed, plan, states, found.blocks, of_blocks), states)


def _states(
    free: DataFrame, plan: ClassifiedPlan, found: Survey, counts: Counts, progress: Progress
) -> States:
    """By arithmetic, or else by a pass over the messages that are chosen for."""
    known = states(plan, found.counts, counts, len(found.blocks))
    if known is not None:
        return known
    with progress(IN_ORDER):
        return _with_streams(plan, found, states_in_order(plan, free, found.blocks))


def _with_streams(plan: ClassifiedPlan, found: Survey, in_order: States) -> States:
    """States of the choices, with the streams counted."""
    router = Router(plan)
    whole = []
    for block, state in enumerate(in_order):
        whole.append({**state, "upcoming": router.upcoming.tolist()})
        for counts in found.counts.get(block, {}).values():
            router.skip(counts)
    return whole
