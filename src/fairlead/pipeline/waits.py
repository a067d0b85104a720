"""Waits: count what a replay wrote, by reading it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.balance.message import DECISION, ROUTED, WORKED
from fairlead.comparison import Queue, Scenario, Waits, Worker
from fairlead.compiled.router import Plan
from fairlead.config.changes import MICROS
from fairlead.pipeline.accept import text, time_of
from fairlead.pipeline.bins import over
from fairlead.pipeline.columns import PREFIX, SCENARIO
from fairlead.pipeline.measure import MASK
from fairlead.replay.words import AGAIN

EXACT: Final = 10
"""Waits are told apart by so many leading bits."""
BIN: Final = PREFIX + "bin"
WAIT: Final = PREFIX + "wait"
ALL: Final = "all"
KINDS: Final = ("destination", "priority", "tenant")
MOST_NAMES: Final = 1_000
QUANTILES: Final = (0.5, 0.9, 0.99)


def micros(column: str, *, dated: bool) -> Column:
    """A time that was written, in whole microseconds."""
    found = F.col(column)
    return F.unix_micros(found) if dated else F.round(found * MICROS).cast("long")


def binned(wait: Column) -> Column:
    """A number that is the same for waits (microseconds) that share their leading bits."""
    shift = F.greatest(F.length(F.bin(wait)) - EXACT, F.lit(0))
    return shift * (1 << EXACT) + F.call_function("shiftright", wait, shift.cast("int"))


def waits_of(written: DataFrame) -> dict[tuple[int, str], list[Waits]]:
    """By scenario and kind of name: the waits of those that were begun with."""
    begun = written.where(F.col("wait").isNotNull() & ~F.col("outcome").isin(*AGAIN))
    wait = F.round(F.col("wait") * MICROS).cast("long")
    names = [F.struct(F.lit(ALL).alias("kind"), F.lit("").alias("name"))]
    names += [
        F.struct(F.lit(kind).alias("kind"), text(written, kind).alias("name"))
        for kind in KINDS
        if kind in written.columns
    ]
    counted = (
        begun.select(SCENARIO, wait.alias(WAIT), F.explode(F.array(*names)).alias("of"))
        .groupBy(SCENARIO, "of.kind", "of.name", binned(F.col(WAIT)).alias(BIN))
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.sum(F.col(WAIT).cast("decimal(38,0)")).alias("sum"),
            F.max(WAIT).alias("max"),
        )
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
        .agg(F.sum("n").alias("n"), F.sum("sum").alias("sum"), F.max("max").alias("max"), *quantile)
        .withColumn("rank", F.row_number().over(_most_first()))
        .where(F.col("rank") <= MOST_NAMES)
        .collect()
    )
    found: dict[tuple[int, str], list[Waits]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        n = row["n"]
        p50, p90, p99 = (row[f"q{k}"] / MICROS for k in range(len(QUANTILES)))
        mean = float(row["sum"]) / n / MICROS
        each = Waits(row["name"], n, mean, p50, p90, p99, row["max"] / MICROS)
        found.setdefault((row[SCENARIO], row["kind"]), []).append(each)
    return found


def _most_first() -> Any:  # noqa: ANN401 - Spark's
    return Window.partitionBy(SCENARIO, "kind").orderBy(F.desc("n"), "name")


def ends_of(written: DataFrame) -> dict[int, dict[str, Any]]:
    """By scenario: rows by outcome, and what else counts rows."""
    row = F.xxhash64(F.col("id").cast("string"), *DECISION, *WORKED)
    again = F.col("outcome").isin(*AGAIN)
    waiting = (F.col("outcome") == ROUTED) & F.col("start").isNull()
    rows = (
        written.groupBy(SCENARIO, "outcome")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(waiting).alias("waiting"),
            F.count_if(F.col("attempt") > 1).alias("redeliveries"),
            F.count_if(~again & (F.col("attempt") == 1)).alias("at_once"),
            F.bit_xor(row).alias("xor"),
            F.sum(F.shiftrightunsigned(row, 33)).alias("sum"),
        )
        .collect()
    )
    found: dict[int, dict[str, Any]] = {}
    for each in sorted(rows, key=lambda each: each["outcome"]):
        here = found.setdefault(
            each[SCENARIO],
            {"outcomes": {}, "waiting": 0, "redeliveries": 0, "xor": 0, "sum": 0},
        )
        here["outcomes"][each["outcome"]] = each["rows"]
        for name in ("waiting", "redeliveries", "sum"):
            here[name] += each[name]
        here["xor"] ^= each["xor"]
    return found


def digest_of(ends: Mapping[str, Any]) -> str:
    """One word for the rows, the same however they were partitioned."""
    return f"{ends['xor'] & MASK:016x}{ends['sum'] & MASK:016x}"


def groups_of(written: DataFrame) -> dict[int, tuple[int, int]]:
    """By scenario: how many groups, and in how many the order was not kept."""
    if "group" not in written.columns:
        return {}
    whose = [text(written, name).alias(name) for name in ("cluster", "group")]
    work = written.where((text(written, "group") != "") & F.col("start").isNotNull())
    key = F.col("position").cast("long") if "position" in written.columns else None
    place = time_of(written.schema["time"].dataType) if key is None else key
    begun = work.where(~F.col("outcome").isin(*AGAIN)).select(
        SCENARIO, place.alias("place"), F.col("id").cast("string").alias("id"), *whose, "start"
    )
    # A message for several destinations has begun when the first of them has.
    each = begun.groupBy(SCENARIO, "cluster", "group", "place", "id").agg(
        F.min("start").alias("start")
    )
    order = Window.partitionBy(SCENARIO, "cluster", "group").orderBy("place", "id")
    before = F.max("start").over(order.rowsBetween(Window.unboundedPreceding, -1))
    late = each.withColumn("overtaken", F.col("start") < before)
    rows = (
        late.groupBy(SCENARIO, "cluster", "group")
        .agg(F.coalesce(F.max("overtaken"), F.lit(False)).alias("torn"))
        .groupBy(SCENARIO)
        .agg(F.count(F.lit(1)).alias("n"), F.count_if("torn").alias("torn"))
        .collect()
    )
    return {row[SCENARIO]: (row["n"], row["torn"]) for row in rows}


def queues_of(
    written: DataFrame, period: tuple[int, int], *, dated: bool
) -> tuple[dict[int, Queue], dict[int, int]]:
    """By scenario: how many waited over time; and when the last one was finished."""
    finish = micros("finish", dated=dated)
    ends = {
        row[SCENARIO]: row["last"] if row["last"] is not None else period[1]
        for row in written.groupBy(SCENARIO).agg(F.max(finish).alias("last")).collect()
    }
    found = {}
    last = max([period[1], *ends.values()])
    stretch = over(period[0], last)
    start = micros("start", dated=dated)
    since = start - F.round(F.col("wait") * MICROS).cast("long")
    unbegun = F.col("start").isNull() & (F.col("outcome") == ROUTED)
    waited = written.where(F.col("start").isNotNull() | unbegun).select(
        SCENARIO,
        F.coalesce(since, time_of(written.schema["time"].dataType)).alias("since"),
        start.alias("start"),
    )

    def place(column: str) -> Column:
        return F.floor((F.col(column) - stretch.start) / stretch.width).cast("int")

    moves = F.array(
        F.struct(place("since").alias("at"), F.lit(1).alias("more")),
        F.struct(place("start").alias("at"), F.lit(-1).alias("more")),
    )
    rows = (
        waited.select(SCENARIO, F.explode(moves).alias("move"))
        .where(F.col("move.at").isNotNull())
        .groupBy(SCENARIO, "move.at")
        .agg(F.sum("move.more").alias("more"))
        .collect()
    )
    for scenario in ends:
        more = [0] * stretch.number
        for row in rows:
            if row[SCENARIO] == scenario:
                more[min(max(row["at"], 0), stretch.number - 1)] += row["more"]
        waiting, counts = 0, []
        for each in more:
            waiting += each
            counts.append(waiting)
        found[scenario] = Queue(stretch.start, stretch.width, counts)
    return found, ends


def workers_of(
    written: DataFrame, plans: Sequence[Plan], first: int, ends: Mapping[int, int], *, dated: bool
) -> dict[int, list[Worker]]:
    """By scenario: how much each destination worked."""
    took = micros("finish", dated=dated) - micros("start", dated=dated)
    cluster = text(written, "cluster")
    rows = (
        written.where(F.col("start").isNotNull())
        .groupBy(SCENARIO, cluster.alias("cluster"), "destination")
        .agg(F.count(F.lit(1)).alias("n"), F.sum(took).alias("busy"))
        .collect()
    )
    worked = {(row[SCENARIO], row["cluster"], row["destination"]): row for row in rows}
    found: dict[int, list[Worker]] = {}
    for scenario, plan in enumerate(plans):
        every = available(plan, first, ends.get(scenario, first))
        only = len(plan.clusters) == 1
        for (name, destination), seconds in every.items():
            row = worked.get((scenario, name, destination)) or (
                worked.get((scenario, "", destination)) if only else None
            )
            busy = (row["busy"] or 0) / MICROS if row else 0.0
            used = busy / seconds if seconds else None
            found.setdefault(scenario, []).append(
                Worker(name, destination, row["n"] if row else 0, busy, used)
            )
    return found


def available(plan: Plan, first: int, last: int) -> dict[tuple[str, str], float | None]:
    """By cluster and destination: seconds of its readers; None where several share readers."""
    found: dict[tuple[str, str], float | None] = {}
    times = [first, *(min(max(time, first), last) for time in plan.times), last]
    for at, policies in plan.versions():
        begun, ended = (first if at == 0 else times[at]), times[at + 1]
        for cluster, policy in policies.items():
            whom: dict[Any, set[str]] = {}
            for member, name in enumerate(policy.members):
                whom.setdefault(policy.worker(member), set()).add(name)
            for worker, names in whom.items():
                for name in names:
                    key = (cluster, name)
                    if len(names) > 1:
                        found[key] = None
                        continue
                    seconds = policy.objects[worker].readers * (ended - begun) / MICROS
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
    ends, waits, groups = ends_of(written), waits_of(written), groups_of(written)
    queues, last = queues_of(written, period, dated=dated) if period else ({}, {})
    first = period[0] if period else 0
    workers = workers_of(written, plans, first, last, dated=dated)
    nothing = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    found = []
    for k, name in enumerate(names):
        end = ends.get(k, {"outcomes": {}, "waiting": 0, "redeliveries": 0, "xor": 0, "sum": 0})
        outcomes = end["outcomes"]
        number, torn = groups.get(k, (0, 0))
        found.append(
            Scenario(
                name=name,
                messages=sum(n for outcome, n in outcomes.items() if outcome not in AGAIN),
                outcomes=outcomes,
                waiting=end["waiting"],
                redeliveries=end["redeliveries"],
                failovers=outcomes.get(AGAIN[1], 0),
                waits=waits.get((k, ALL), [nothing])[0],
                by_destination=waits.get((k, "destination"), []),
                by_priority=waits.get((k, "priority"), []),
                by_tenant=waits.get((k, "tenant"), []),
                workers=workers.get(k, []),
                queue=queues.get(k),
                groups=number,
                groups_out_of_order=torn,
                digest=digest_of(end),
            )
        )
    return found
