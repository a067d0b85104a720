"""Recommend: the whole flow. split → search on the earlier traffic → verify on the later."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.balance.times import MICROS
from fairlead.errors import MessageError
from fairlead.memory.prepared import PreparedMessages
from fairlead.recommend.ahead import Alone, trials
from fairlead.recommend.goal import Cost, Target
from fairlead.recommend.search import Search, Try
from fairlead.recommend.space import Space, idle_values
from fairlead.recommend.trial import part, trial
from fairlead.recommend.verify import Verified, more_traffic, one_down, without_one
from fairlead.results.recommendation import Held, Recommendation, TriedCluster
from fairlead.results.summary import Made
from fairlead.runs.progress import Progress, quiet
from fairlead.text import length

log = logging.getLogger("fairlead")

SEARCHED: Final = 2 / 3
"""The part of the time that the search sees."""
FEWEST: Final = 20
"""Messages that each part must have."""
RECOMMENDED, NEAREST = "recommended", "the nearest"
"""What is called so that meets the target, or does not."""
MORE: Final = 10
"""Per cent of traffic more, which the recommended cluster is tried with."""


@dataclass(frozen=True)
class SearchRequest:
    """What to search for."""

    space: Space
    target: Target
    cost: Cost
    changes: Sequence[Change] = field(default_factory=tuple)
    budget: int = 200
    """Clusters that are tried beside the one of the file."""


@dataclass(frozen=True)
class SearchResult:
    """What a search has found: the recommendation, and its cluster."""

    recommendation: Recommendation
    cluster: Cluster
    """The recommended one; where nothing meets the target, the nearest; or the file's own."""


def recommend(
    ready: PreparedMessages,
    request: SearchRequest,
    *,
    where: str = "messages",
    made: Made | None = None,
    progress: Progress = quiet,
) -> SearchResult:
    """Search on the earlier two thirds of the traffic, and verify on the rest.

    `ready`: the traffic; `where`: what errors call it. Raises MessageError for too little traffic.
    """
    began = time.monotonic()
    earlier, later = split(ready, where)
    space, target, cost = request.space, request.target, request.cost
    with progress("search") as tell:
        now = trial(earlier, space.cluster, request.changes, target)
        alone = Alone(earlier, request.changes, target, now.unserved)
        with trials(alone, min(space.size, request.budget)) as runner:
            search = Search(
                space,
                cost,
                target,
                runner,
                budget=request.budget,
                unserved=now.unserved,
                ahead=runner.ahead,
                tell=tell,
            )
            best = search.run()
        tried = len(search.tried)
        broken_off = sum(not result.outcome.whole for result in search.tried)
    with progress("finish what a chart needs"):
        search.finish(best, lambda cluster: trial(earlier, cluster, request.changes, target))
        if not best.met:  # what a chart needs may have found what the search did not
            best = search.best
    with progress("verify"):
        verified = Verified(later, request.changes, target, cost)
        present, before = verified.held("as in the file", space.cluster)
        unserved = before.unserved
        then, outcome = verified.held(RECOMMENDED, best.cluster, unserved=unserved)
        baseline = search.tried[0]
        notes = _notes(tried, broken_off, len(search.tried) - 1, request)
        if best is not baseline and _worse(then, present, own_met=baseline.met):
            notes.insert(0, _not_better(space.said(best.point), then, present, target))
            best = baseline
            then, outcome = verified.held(RECOMMENDED, best.cluster, unserved=unserved)
        met = best.met and then.met
        if not met:
            then = replace(then, name=NEAREST)
        if best.met and not then.met:
            notes.insert(0, "record more traffic, or search for a stricter target")
        sure, tenths = verified.certainty(outcome)
        why = [
            verified.held(name, cluster, unserved=unserved)[0]
            for name, cluster in without_one(space, best.point)
        ]
    with progress("look for what breaks it"):
        breaks = [
            verified.held(name, best.cluster, more=[change], unserved=unserved)[0]
            for name, change in one_down(best.cluster)
        ]
        traffic = more_traffic(later, MORE)
        name = f"{MORE} % more traffic"
        breaks.append(
            verified.held(
                name, best.cluster, ready=traffic, unserved=unserved + unserved * MORE // 100
            )[0]
        )
    recommendation = Recommendation(
        target=target.text,
        limit=target.limit / MICROS,
        found=best.met,
        said=space.said(best.point),
        space=space.size,
        budget=request.budget,
        tried=_tried(search, space),
        searched=len(earlier.messages.times),
        held_out=len(later.messages.times),
        now=present,
        then=then,
        sure=sure,
        tenths=tenths,
        why=why,
        breaks=breaks,
        seconds=round(time.monotonic() - began, 3),
        made=made,
        notes=notes,
    )
    log.info(
        "recommended", extra={"found": recommendation.found, "tried": len(recommendation.tried)}
    )
    return SearchResult(recommendation, best.cluster)


def split(ready: PreparedMessages, where: str) -> tuple[PreparedMessages, PreparedMessages]:
    """The earlier two thirds of the time, and the rest. Raises MessageError."""
    times = ready.messages.times
    if len(times):
        first, last = int(times.min()), int(times.max())
        late = times >= first + int((last - first) * SEARCHED)
        parts = [np.flatnonzero(~late), np.flatnonzero(late)]
        if min(map(len, parts)) >= FEWEST:
            earlier, later = (part(ready, rows) for rows in parts)
            return earlier, later
    raise MessageError(
        f"{where}: found {len(times)} messages, allowed: at least {FEWEST} in the first two thirds "
        "of the time, and in the last third"
    )


def _tried(search: Search, space: Space) -> list[TriedCluster]:
    best: float | None = None
    frontier: set[int] = set()
    whole = [result for result in search.tried if result.outcome.whole]
    for result in sorted(whole, key=lambda each: (each.cost, each.value)):
        if best is None or result.value < best:
            frontier.add(id(result))
            best = result.value
    return [_plain(result, space, frontier=id(result) in frontier) for result in search.tried]


def _plain(each: Try, space: Space, *, frontier: bool) -> TriedCluster:
    settings = space.said(each.point)
    return TriedCluster(
        settings, each.cost, each.value, each.met, round(each.outcome.seen, 4), frontier
    )


def _worse(then: Held, now: Held, *, own_met: bool) -> bool:
    """Whether what was found does worse than the file's own, on the held-out traffic.

    `own_met`: whether the file's own meets the target on the traffic of the search; where it does
    not, what meets it on both may cost more.
    """
    if then.met and not own_met:
        return False
    if then.met and now.met:
        return (then.cost, then.value) > (now.cost, now.value)
    return (not then.met, then.unserved, then.value) > (not now.met, now.unserved, now.value)


def _not_better(said: Sequence[str], then: Held, now: Held, target: Target) -> str:
    waits = f"{length(then.value)} instead of {length(now.value)}"
    return (
        f"what came first in the search ({', '.join(said)}) is not recommended: on the traffic "
        f"that it never saw it is worse than the file, cost {then.cost:g} instead of "
        f"{now.cost:g}, {target.measure} {waits}"
    )


def _notes(tried: int, broken_off: int, points: int, request: SearchRequest) -> list[str]:
    """`tried`, `broken_off`: clusters in the search, the one of the file among them.

    `points`: how many were tried, for a chart too.
    """
    notes = []
    if request.space.size > request.budget:
        notes.append(
            f"{points:,} of {request.space.size:,} points were tried: there may be better ones; a "
            "larger --budget tries more"
        )
    notes += idle_values(request.space)
    if request.target.part is None:
        notes.append("of a mean, the tenths and samples look at the median instead")
    if broken_off:
        notes.append(
            f"of {tried:,} clusters {broken_off:,} were broken off when it was clear that they "
            "miss the target"
        )
    return notes
