"""Queues over time, and how much the readers of each destination worked."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.balance.message import ROUTED
from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.pipeline.columns import SCENARIO
from fairlead.pipeline.intake.validate import time_of
from fairlead.pipeline.measure.attempts import End, in_micros, micros
from fairlead.pipeline.measure.bins import over
from fairlead.results.comparison import Queue, Worker


def queues_of(
    written: DataFrame, scenarios: Iterable[int], first: int, last: int, *, dated: bool
) -> dict[int, Queue]:
    """By scenario: how many waited over time, from the first time to the last."""
    bins = over(first, last)
    until = F.coalesce(micros("start", dated=dated), micros("finish", dated=dated))
    since = until - in_micros(F.col("wait"))
    still = until.isNull() & (F.col("outcome") == ROUTED)
    # What still waits does so to the end.
    waited = written.where(until.isNotNull() | still).select(
        SCENARIO,
        F.coalesce(since, time_of(written.schema["time"].dataType)).alias("since"),
        F.coalesce(until, F.lit(bins.end)).alias("until"),
    )

    def at(column: str) -> Column:
        inside = F.least(F.greatest(F.col(column), F.lit(bins.start)), F.lit(bins.end))
        return inside - F.lit(bins.start)

    placed = waited.select(SCENARIO, at("since").alias("since"), at("until").alias("until"))
    moves = F.array(
        *(
            F.struct(
                F.expr(f"{name} div {bins.width}L").alias("bin"),
                F.lit(sign).alias("more"),
                (F.col(name) % bins.width * sign).alias("after"),
            )
            for name, sign in (("since", 1), ("until", -1))
        )
    )
    rows = (
        placed.select(SCENARIO, F.explode(moves).alias("move"))
        .groupBy(SCENARIO, "move.bin")
        .agg(F.sum("move.more").alias("more"), F.sum("move.after").alias("after"))
        .collect()
    )
    # One place more is for what goes at the very end.
    more = {scenario: [0] * (bins.number + 1) for scenario in scenarios}
    after = {scenario: [0] * (bins.number + 1) for scenario in more}
    for row in rows:
        more[row[SCENARIO]][row["bin"]] = row["more"]
        after[row[SCENARIO]][row["bin"]] = row["after"]
    return {
        scenario: Queue(
            bins.start,
            bins.width,
            [
                # Whoever comes inside a bin waits for the part of it that is left.
                (waiting * bins.width - late) / bins.width
                for waiting, late in list(zip(accumulate(own), after[scenario], strict=True))[:-1]
            ],
        )
        for scenario, own in more.items()
    }


def workers_of(plan: Plan, ends: Iterable[End], first: int, last: int) -> list[Worker]:
    """How much each destination of one scenario worked."""
    worked: dict[tuple[str, str | None], list[End]] = {}
    for each in ends:
        worked.setdefault((each.cluster, each.destination), []).append(each)
    only = len(plan.clusters) == 1
    found = []
    for (cluster, destination), seconds in available(plan, first, last).items():
        # Where there is one cluster, a message need not name it.
        names = ("", cluster) if only else (cluster,)
        own = [each for name in names for each in worked.get((name, destination), [])]
        busy = sum(each.busy or 0 for each in own) / MICROS
        used = busy / seconds if seconds else None
        found.append(Worker(cluster, destination, sum(each.started for each in own), busy, used))
    return found


def available(plan: Plan, first: int, last: int) -> dict[tuple[str, str], float | None]:
    """By cluster and destination: seconds of its readers; None where several share readers."""
    found: dict[tuple[str, str], float | None] = {}
    times = [first, *(min(max(time, first), last) for time in plan.times), last]
    for at, policies in plan.versions():
        start, end = (first if at == 0 else times[at]), times[at + 1]
        for cluster, policy in policies.items():
            whom: dict[Any, set[str]] = {}
            for member, name in enumerate(policy.members):
                whom.setdefault(policy.queue_owner(member), set()).add(name)
            for worker, names in whom.items():
                for name in names:
                    key = (cluster, name)
                    if len(names) > 1:
                        found[key] = None
                        continue
                    seconds = policy.objects[worker].readers * (end - start) / MICROS
                    found[key] = (found.get(key) or 0.0) + seconds
    return found
