"""Facts: what a report shows of a run beyond the summary's counts, as plain data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Final

from fairlead.balance.change import Change
from fairlead.balance.words.effective_policy import InWords, in_words
from fairlead.compiled.plan import NO_STREAM, ClassifiedPlan, Plan
from fairlead.results.summary import Changes, ChangeStep, Made, Policies, StreamCounts, Streams

MAX_STREAMS: Final = 20
MAX_STEPS: Final = 50
MAX_CHANGES: Final = 8
MAX_CLUSTERS: Final = 20
MAX_DESTINATIONS: Final = 50


def made(messages: str, command: str, spark: str = "") -> Made:
    """What this process is. `spark`: its version, where it took part."""
    python = ".".join(map(str, sys.version_info[:3]))
    return Made(messages, command, version("fairlead"), spark, python)


def changes(made: Iterable[Change]) -> Changes:
    """What was changed, by its time, in words."""
    in_order = sorted(made, key=lambda change: change.micros)
    steps = []
    for time, together in groupby(in_order, key=lambda change: change.micros):
        words = [_change_in_words(change) for change in together]
        steps.append(ChangeStep(time, words[:MAX_CHANGES], max(0, len(words) - MAX_CHANGES)))
    return Changes(len(in_order), len(steps), steps[:MAX_STEPS])


def _change_in_words(change: Change) -> str:
    value = "" if change.value is None else f" → {_shown(change.value)}"
    return f"{change.target} {change.attribute}{value}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def streams(plan: ClassifiedPlan, messages: Mapping[int, int]) -> Streams:
    """The busiest streams. `messages`: how many of each class, by its code."""
    totals: dict[int, int] = {}
    for code, n in messages.items():
        place = plan.stream_of[code]
        totals[place] = totals.get(place, 0) + n
    totals.pop(NO_STREAM, None)
    all_streams = [
        StreamCounts("/".join(part for part in plan.streams[place] if part), n)
        for place, n in totals.items()
    ]
    all_streams.sort(key=lambda stream: (-stream.messages, stream.name))
    return Streams(len(all_streams), all_streams[:MAX_STREAMS])


def policies(plan: Plan) -> Policies:
    """What the cluster files mean."""
    shown: Sequence[InWords] = [in_words(cluster) for cluster in plan.clusters[:MAX_CLUSTERS]]
    return Policies(
        len(plan.clusters),
        [_cut(policy) for policy in shown],
        [len(policy.destinations) for policy in shown],
    )


def _cut(words: InWords) -> InWords:
    return InWords(**{**vars(words), "destinations": words.destinations[:MAX_DESTINATIONS]})
