"""Attempts: what a replay in memory comes to, as rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fairlead.balance.times import MICROS
from fairlead.compiled.intake.accepted import Accepted
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.table import attempt_columns
from fairlead.replay.words import AGAIN_CODES
from fairlead.rows import ATTEMPT, DECISION


def attempt_rows(
    messages: Accepted, plan: ClassifiedPlan, attempts: Attempts, *, dated: bool
) -> pa.Table:
    """The attempts as rows: the messages' own columns, the decision, and what the attempt was.

    In the order of messages, attempts and destinations. `dated`: times are dates, not seconds.
    """
    order = np.lexsort((attempts.label, attempts.attempt, attempts.message))
    attempts = Attempts(*(column[order] for column in attempts))
    label = pa.array(
        np.where(attempts.label == NONE, 0, attempts.label), mask=attempts.label == NONE
    )
    added = attempt_columns(plan.codes, attempts, label, lambda times: _moments(times, dated=dated))
    added |= {name: added[name].cast(pa.int32()) for name in ("attempt", "reader")}
    table = messages.table.take(pa.array(attempts.message))
    for name in (*DECISION, *ATTEMPT):
        table = table.append_column(name, added[name])
    return table


def _moments(times: Int64s, *, dated: bool) -> pa.Array:
    mask = times == NEVER
    if dated:
        return pa.array(times, mask=mask).cast(pa.timestamp("us", "UTC"))
    return pa.array(times / MICROS, mask=mask)


def late_of(messages: Accepted, every: Attempts, limit: float) -> Attempts:
    """Those that count and waited longer than a limit (seconds)."""
    counts = ~np.isin(every.outcome, AGAIN_CODES) & (every.start != NEVER)
    since = np.where(every.attempt > 1, messages.times[every.message], every.since)
    late = counts & (every.start - since > round(limit * MICROS))
    return Attempts(*(column[late] for column in every))
