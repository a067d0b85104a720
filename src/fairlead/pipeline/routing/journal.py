"""What a journal's rows have that decisions do not: place, cluster, version and stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.journal import streams
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.pipeline.columns import CLASS, NUMBER, VERSION, looked_up
from fairlead.pipeline.routing.blocks import with_version
from fairlead.rows import OWN

PLACES: Final = ("position", "cluster", "version", "stream")
"""What `with_places` adds."""


def others(names: Sequence[str]) -> list[str]:
    """The columns of messages that are none of a journal's."""
    return [name for name in names if name not in OWN]


def with_places(
    rows: DataFrame,
    plans: Sequence[ClassifiedPlan],
    codes: Sequence[Sequence[int]],
    scenario: Column,
    time: str,
) -> DataFrame:
    """Rows with NUMBER and CLASS, and the columns that a journal adds to what was decided.

    `codes`: for each plan, what CLASS stands for there; `scenario`: which plan; `time`: the column
    that says when it was decided, in microseconds.
    """
    times = sorted({moment for plan in plans for moment in plan.times})
    places = [{name: k for k, name in enumerate(plan.steps, 1)} for plan in plans]
    classes = [
        [plan.classes[code] for code in plan_codes]
        for plan, plan_codes in zip(plans, codes, strict=True)
    ]
    names = [[message_class.cluster for message_class in plan_classes] for plan_classes in classes]
    named = [streams(plan) for plan in plans]
    place = [
        [
            0 if message_class.control else known.get(message_class.cluster, 0)
            for message_class in plan_classes
        ]
        for known, plan_classes in zip(places, classes, strict=True)
    ]
    seen = [[[0] * (len(times) + 1), *_seen(plan, times)] for plan in plans]

    def found(words: Sequence[Sequence[object]], kind: str = "string") -> Column:
        return F.element_at(looked_up(words, scenario, f"array<{kind}>"), F.col(CLASS) + 1)

    of_cluster = looked_up(seen, scenario, "array<array<int>>")
    so_far = F.element_at(of_cluster, found(place, "int") + 1)
    added = {
        "position": F.col(NUMBER),
        "cluster": found(names),
        "version": F.element_at(so_far, F.col(VERSION) + 1),
        "stream": found(
            [
                [plan_streams[c] for c in code]
                for plan_streams, code in zip(named, codes, strict=True)
            ]
        ),
    }
    return with_version(rows, times, time).withColumns(added)


def _seen(plan: Plan, times: Sequence[int]) -> list[list[int]]:
    """For each cluster: how many steps it has seen, before all these times and at each of them."""
    return [
        [0, *np.searchsorted([at for at, _ in steps], times, "right").tolist()]
        for steps in plan.steps.values()
    ]
