"""Waits: count what a replay wrote, by reading it again."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.balance.message import RELEASED, ROUTED
from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.pipeline.columns import PREFIX, SCENARIO, looked_up
from fairlead.pipeline.intake.validate import text, time_of
from fairlead.pipeline.measure.bins import over
from fairlead.pipeline.measure.tally import MASK
from fairlead.pipeline.routing.blocks import version
from fairlead.replay.words import AGAIN
from fairlead.results.comparison import Longest, Queue, Scenario, Waits, Worker
from fairlead.rows import ATTEMPT, DECISION

EXACT: Final = 10
"""Waits are told apart by so many leading bits."""
NEARLY: Final = 1 - 1e-9
MAX_BITS: Final = 63
HALF: Final = 32
"""Of the bits of a wait."""
BIN: Final = PREFIX + "bin"
WAIT: Final = PREFIX + "wait"
ALL: Final = "all"
KINDS: Final = ("destination", "priority", "tenant")
MAX_NAMES: Final = 1_000
QUANTILES: Final = (0.5, 0.9, 0.99)
NOTHING: Final = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


def micros(column: str, *, dated: bool) -> Column:
    """A time that was written, in whole microseconds."""
    found = F.col(column)
    return F.unix_micros(found) if dated else in_micros(found)


def in_micros(seconds: Column) -> Column:
    """Seconds that are whole microseconds but for what floating point left, as these."""
    return F.rint(seconds * MICROS).cast("long")


def binned(wait: str) -> Column:
    """A number that is the same for waits (microseconds) that share their leading bits."""
    shift = version([1 << bits for bits in range(EXACT, MAX_BITS)], wait)
    return shift * (1 << EXACT) + F.call_function("shiftright", wait, shift)


def last_attempts(written: DataFrame) -> DataFrame:
    """The attempts that count: after which a message does not go on."""
    return written.where(~F.col("outcome").isin(*AGAIN))


def started(written: DataFrame, *, dated: bool) -> DataFrame:
    """The attempts that count, with WAIT: from the message's time until they were started.

    So what failures and rollbacks cost is in the wait.
    """
    counts = last_attempts(written).where(F.col("start").isNotNull())
    whole = micros("start", dated=dated) - time_of(written.schema["time"].dataType)
    first = in_micros(F.col("wait"))
    return counts.withColumn(WAIT, F.when(F.col("attempt") > 1, whole).otherwise(first))


def waits_of(attempts: DataFrame) -> dict[tuple[int, str], list[Waits]]:
    """By scenario and kind of name: the waits of those that were started."""
    kinds = [kind for kind in KINDS if kind in attempts.columns]
    names = [F.struct(F.lit(ALL).alias("kind"), F.lit("").alias("name"))]
    names += [
        F.struct(F.lit(kind).alias("kind"), text(attempts, kind).alias("name")) for kind in kinds
    ]
    # Rows that are alike in all of it are counted together before they stand for each of it.
    alike = (
        attempts.select(SCENARIO, WAIT, binned(WAIT).alias(BIN), *kinds)
        .groupBy(SCENARIO, BIN, *kinds)
        .agg(
            F.count(F.lit(1)).alias("n"),
            # Their sum may need more than 64 bits; a decimal that has them takes long.
            F.sum(F.shiftright(WAIT, HALF)).alias("high"),
            F.sum(F.col(WAIT).bitwiseAND(F.lit((1 << HALF) - 1))).alias("low"),
            F.max(WAIT).alias("max"),
        )
    )
    counted = (
        alike.select("*", F.explode(F.array(*names)).alias("of"))
        .groupBy(SCENARIO, "of.kind", "of.name", BIN)
        .agg(*(F.sum(each).alias(each) for each in ("n", "high", "low")), F.max("max").alias("max"))
    )
    whole = Window.partitionBy(SCENARIO, "kind", "name")
    upto = whole.orderBy(BIN).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = counted.withColumns({"upto": F.sum("n").over(upto), "all": F.sum("n").over(whole)})
    quantile = [
        F.min(F.when(F.col("upto") >= F.ceil(F.col("all") * q), F.col("max"))).alias(f"q{k}")
        for k, q in enumerate(QUANTILES)
    ]
    rows = (
        ranked.groupBy(SCENARIO, "kind", "name")
        .agg(
            *(F.sum(each).alias(each) for each in ("n", "high", "low")),
            F.max("max").alias("max"),
            *quantile,
        )
        .withColumn("rank", F.row_number().over(_most_first()))
        .where(F.col("rank") <= MAX_NAMES)
        .collect()
    )
    found: dict[tuple[int, str], list[Waits]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        n = row["n"]
        p50, p90, p99 = (row[f"q{k}"] / MICROS for k in range(len(QUANTILES)))
        mean = float((row["high"] << HALF) + row["low"]) / n / MICROS
        each = Waits(row["name"], n, mean, p50, p90, p99, row["max"] / MICROS)
        found.setdefault((row[SCENARIO], row["kind"]), []).append(each)
    return found


def longest_of(attempts: DataFrame, most: Mapping[int, float]) -> dict[int, Longest]:
    """By scenario: the message that waited longest, the first by id of equals.

    `most`: by scenario, the longest wait in seconds.
    """
    if not most:
        return {}
    # Few rows are left, of which the longest is one whatever the seconds lost of it.
    least = [int(most.get(k, 0.0) * MICROS * NEARLY) for k in range(max(most) + 1)]
    attempts = attempts.where(F.col(WAIT) >= looked_up(least, F.col(SCENARIO), "bigint"))
    latest = F.min_by(
        F.struct("id", text(attempts, "group").alias("group"), "destination", WAIT),
        F.struct(-F.col(WAIT), F.col("id").cast("string")),
    )
    rows = attempts.groupBy(SCENARIO).agg(latest.alias("it")).collect()
    return {
        row[SCENARIO]: Longest(
            str(row["it"]["id"]),
            row["it"]["group"],
            row["it"]["destination"],
            row["it"][WAIT] / MICROS,
        )
        for row in rows
    }


def _most_first() -> Any:  # noqa: ANN401 - Spark's
    return Window.partitionBy(SCENARIO, "kind").orderBy(F.desc("n"), "name")


class End(NamedTuple):
    """Rows of one scenario, outcome and destination. Times in microseconds."""

    scenario: int
    outcome: str
    cluster: str
    destination: str | None
    rows: int
    waiting: int
    redeliveries: int
    started: int
    busy: int | None
    last: int | None
    """When the last one was finished."""
    xor: int
    sum: int
    """`xor` and `sum` of the rows' hashes, whatever their order."""


def ends_of(written: DataFrame, *, dated: bool) -> list[End]:
    """How it ended with the rows, all counted in one pass."""
    row = F.xxhash64(F.col("id").cast("string"), *DECISION, *ATTEMPT)
    has_started = F.col("start").isNotNull()
    finish = micros("finish", dated=dated)
    rows = (
        written.groupBy(
            F.col(SCENARIO).alias("scenario"),
            "outcome",
            text(written, "cluster").alias("cluster"),
            "destination",
        )
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(~has_started & (F.col("outcome") == ROUTED)).alias("waiting"),
            F.count_if(F.col("attempt") > 1).alias("redeliveries"),
            F.count_if(has_started).alias("started"),
            F.sum(finish - micros("start", dated=dated)).alias("busy"),
            F.max(finish).alias("last"),
            F.bit_xor(row).alias("xor"),
            F.sum(F.shiftrightunsigned(row, 33)).alias("sum"),
        )
        .collect()
    )
    return [End(**each.asDict()) for each in rows]


def digest_of(ends: Iterable[End]) -> str:
    """One word for the rows, the same however they were partitioned."""
    xor = reduce(operator.xor, (each.xor for each in ends), 0)
    return f"{xor & MASK:016x}{sum(each.sum for each in ends) & MASK:016x}"


def groups_of(written: DataFrame, *, fans_out: bool) -> dict[int, tuple[int, int]]:
    """By scenario: how many groups, and in how many the order was not kept.

    `fans_out`: whether any message is for several destinations.
    """
    if "group" not in written.columns:
        return {}
    whose = [text(written, name).alias(name) for name in ("cluster", "group")]
    work = last_attempts(written).where((text(written, "group") != "") & F.col("start").isNotNull())
    key = F.col("position").cast("long") if "position" in written.columns else None
    place = time_of(written.schema["time"].dataType) if key is None else key
    each = work.select(
        SCENARIO, place.alias("place"), F.col("id").cast("string").alias("id"), *whose, "start"
    )
    if fans_out:
        # A message for several destinations has started when the first of them has.
        each = each.groupBy(SCENARIO, "cluster", "group", "place", "id").agg(
            F.min("start").alias("start")
        )
    # Sorting is far cheaper where the first column tells nearly all rows apart.
    whole = ("hash", SCENARIO, "cluster", "group")
    each = each.withColumn("hash", F.xxhash64(SCENARIO, "cluster", "group"))
    order = Window.partitionBy(*whole).orderBy("place", "id")
    late = each.withColumn("overtaken", F.col("start") < F.lag("start").over(order))
    rows = (
        late.groupBy(*whole)
        .agg(F.coalesce(F.max("overtaken"), F.lit(False)).alias("torn"))
        .groupBy(SCENARIO)
        .agg(F.count(F.lit(1)).alias("n"), F.count_if("torn").alias("torn"))
        .collect()
    )
    return {row[SCENARIO]: (row["n"], row["torn"]) for row in rows}


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


def compared(
    names: Iterable[str],
    written: DataFrame,
    plans: Sequence[Plan],
    period: tuple[int, int] | None,
    *,
    dated: bool,
) -> list[Scenario]:
    """What became of the messages, scenario by scenario."""
    ends: dict[int, list[End]] = {}
    for end in ends_of(written, dated=dated):
        ends.setdefault(end.scenario, []).append(end)
    attempts = started(written, dated=dated)
    waits = waits_of(attempts)
    longest = longest_of(
        attempts, {k: own[0].max for (k, kind), own in waits.items() if kind == ALL}
    )
    groups = groups_of(written, fans_out=any(plan.fans_out for plan in plans))
    first, latest = period or (0, 0)
    lasts = {
        k: max((each.last for each in own if each.last is not None), default=latest)
        for k, own in ends.items()
    }
    last = max([latest, *lasts.values()])
    queues = queues_of(written, ends, first, last, dated=dated) if ends else {}
    return [
        _scenario(
            name,
            ends.get(k, []),
            {kind: waits.get((k, kind), []) for kind in (ALL, *KINDS)},
            workers_of(plan, ends.get(k, []), first, lasts.get(k, first)),
            queues.get(k),
            groups.get(k, (0, 0)),
            longest.get(k),
        )
        for k, (name, plan) in enumerate(zip(names, plans, strict=True))
    ]


def _scenario(
    name: str,
    ends: Sequence[End],
    waits: Mapping[str, list[Waits]],
    workers: list[Worker],
    queue: Queue | None,
    groups: tuple[int, int],
    longest: Longest | None,
) -> Scenario:
    outcomes: dict[str, int] = {}
    for each in sorted(ends, key=lambda each: each.outcome):
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.rows
    number, torn = groups
    return Scenario(
        name=name,
        messages=sum(n for outcome, n in outcomes.items() if outcome not in AGAIN),
        outcomes=outcomes,
        waiting=sum(each.waiting for each in ends),
        redeliveries=sum(each.redeliveries for each in ends),
        failovers=outcomes.get(RELEASED, 0),
        waits=next(iter(waits[ALL]), NOTHING),
        by_destination=waits["destination"],
        by_priority=waits["priority"],
        by_tenant=waits["tenant"],
        workers=workers,
        queue=queue,
        groups=number,
        groups_out_of_order=torn,
        digest=digest_of(ends),
        longest=longest,
    )
