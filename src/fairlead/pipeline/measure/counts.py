"""Counts: one aggregation over what was written, put together as the summary and a report ask."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.measure import bins, facts
from fairlead.measure.levels import levels
from fairlead.measure.over_time import busiest
from fairlead.measure.tally import DecisionCount, rows
from fairlead.pipeline.columns import TIME
from fairlead.pipeline.intake.validate import micros, text
from fairlead.pipeline.measure import tally
from fairlead.pipeline.measure.groups import groups
from fairlead.pipeline.measure.over_time import BIN, CLOSE, bin_of, over_time
from fairlead.pipeline.measure.tally import counted, finest
from fairlead.pipeline.routing.blocks import with_version
from fairlead.pipeline.routing.class_counts import Survey
from fairlead.results.summary import Made, OverTime, Period, ReportFacts


def count(written: DataFrame, plan: Plan) -> list[DecisionCount]:
    """The decisions that were written, counted."""
    return counted(by_all(written, plan))


def messages(written: DataFrame, plan: Plan, counts: Iterable[DecisionCount]) -> dict[int, int]:
    """How many messages were decided, by version."""
    if not plan.fans_out:
        return rows(counts)
    return tally.messages(_timed(written, plan), plan)


def count_for_report(
    written: DataFrame, plan: ClassifiedPlan, survey: Survey, made: Made
) -> tuple[list[DecisionCount], ReportFacts]:
    """The same, and what a report needs; the rows are read once more only for their groups.

    Bins without any decision, such as around changes in a quiet time, are left out.
    """
    whole = bins.over(*survey.period) if survey.period else None
    close = bins.around(plan.times, whole) if whole else None
    columns = {BIN: whole, CLOSE: close}
    also = [bin_of(span, TIME).alias(name) for name, span in columns.items() if span]
    counts = by_all(written, plan, *also).persist()
    try:
        totals = counted(counts)
        top, on = busiest(totals, plan), levels(plan, totals)
        seen: dict[str, OverTime] = {
            name: over_time(counts, name, span, top, on, plan)
            for name, span in columns.items()
            if span
        }
        seen = {name: series for name, series in seen.items() if series.outcomes}
    finally:
        counts.unpersist()
    return totals, ReportFacts(
        made=made,
        period=Period(*survey.period) if survey.period else None,
        over_time=seen.get(BIN),
        around_changes=seen.get(CLOSE),
        changes=facts.changes(plan.changes),
        streams=facts.streams(plan, survey.messages),
        groups=groups(written, plan),
        policies=facts.policies(plan),
    )


def by_all(written: DataFrame, plan: Plan, *also: Column) -> DataFrame:
    """The finest counts of decisions; `also`: what else tells them apart."""
    only = plan.clusters[0].name if len(plan.clusters) == 1 else ""
    named = text(written, "cluster")
    cluster = F.when(named == "", F.lit(only)).otherwise(named)
    return finest(_timed(written, plan), cluster, _subject(written, cluster, plan), *also)


def _timed(written: DataFrame, plan: Plan) -> DataFrame:
    """Decisions with TIME and VERSION."""
    return with_version(written.withColumn(TIME, micros(written)), plan.times, TIME)


def _subject(written: DataFrame, cluster: Column, plan: Plan) -> Column:
    """What each row's destination belongs to; null where there is none, or it is in no subject.

    So there are no more of them than destinations, whatever subjects messages name.
    """
    subjects = {name: state.subjects for name, state in plan.states.items() if state.subjects}
    if not subjects:
        return F.lit(None).cast("string")
    word = subject = text(written, "subject")
    only = {name: choices[0] for name, choices in subjects.items() if len(choices) == 1}
    if only:
        filled = F.create_map(*(F.lit(part) for pair in only.items() for part in pair))
        subject = F.when(word != "", word).otherwise(F.try_element_at(filled, cluster))
    return F.when(F.col("destination").isNotNull() & cluster.isin(list(subjects)), subject)
