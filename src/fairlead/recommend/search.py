"""Search: the points of a space, the promising ones first, within a budget of trials.

A space that the budget covers is tried as a whole, the cheapest points first; what costs more than
the cheapest that meets the target is left out. Of a larger one the search takes some points by lot
(always the same), and then goes from the best one by one knob at a time, to whatever is better,
and on from the next best. Why not a general optimiser: here one trial is exact and repeatable, most
points can be broken off early, cost is known before a trial, and knobs act one by one; a model of
the noise, which is what such optimisers bring, would have nothing to model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Final

from fairlead.balance.cluster import Cluster
from fairlead.recommend.goal import Cost, Target
from fairlead.recommend.space import Point, Space
from fairlead.recommend.trial import TrialOutcome
from fairlead.runs.progress import Tell

SEED: Final = 20_261_125
BY_LOT: Final = 3
"""One of so many trials of a large space is taken by lot."""
CHARTED: Final = 24
"""Clusters of other costs, and so many near the best, are tried to the end for a chart."""
NEAR: Final = 12
"""Values of a knob that are tried in one step, where it has many."""

AHEAD: Final = 3
"""So many points are told ahead of the one that is tried."""

Trial = Callable[[Cluster], TrialOutcome]
Ahead = Callable[[Cluster], object]


def nobody_ahead(_: Cluster) -> None:
    """Nobody does anything ahead."""


@dataclass(frozen=True)
class Try:
    """A point that was tried."""

    point: Point
    cluster: Cluster
    cost: float
    outcome: TrialOutcome
    met: bool
    value: float

    @property
    def rank(self) -> tuple[object, ...]:
        """The smaller the better: what meets the target, then cheap; else what came furthest."""
        if self.met:
            return (0, self.cost, self.value)
        return (1, -self.outcome.seen, self.value, self.cost)


class Search:
    """Tries points, each cluster once."""

    def __init__(
        self,
        space: Space,
        cost: Cost,
        target: Target,
        trial: Trial,
        *,
        budget: int,
        unserved: int,
        ahead: Ahead = nobody_ahead,
        tell: Tell = lambda _done, _all: None,
    ) -> None:
        """`unserved`: so many messages may never start, as in the cluster as it is.

        `ahead`: is told of clusters that are likely to be tried next; what is found does not depend
        on it. `tell`: is told how many were tried, and of how many at most.
        """
        self.ahead = ahead
        self.space, self.cost, self.target, self.trial = space, cost, target, trial
        self.budget, self.unserved = budget, unserved
        self._known: dict[str, Try] = {}
        self.tell = tell

    def run(self) -> Try:
        """Search; returns the best."""
        self.look_at(self.space.present)
        if self.space.size <= self.budget:
            self._everywhere()
        else:
            self._by_lot()
            self._step_by_step()
        return self.best

    @property
    def best(self) -> Try:
        """The best by now."""
        return min(self.tried, key=lambda each: each.rank)

    def spent(self) -> bool:
        """Whether the budget is."""
        return len(self.tried) > self.budget

    def look_at(self, point: Point) -> Try | None:
        """Try a point; None where it is no cluster, costs too much, or the budget is spent."""
        cluster = self.space.cluster_at(point)
        if cluster is None:
            return None
        name = str(cluster.to_dict())
        if name in self._known:
            return self._known[name]
        if self.spent():
            return None
        result = self._known[name] = self._judged(point, cluster, self.trial(cluster))
        self.tell(len(self._known), min(self.space.size, self.budget) + 1)
        return result

    def _in_turn(self, points: Iterable[Point]) -> Iterator[Point]:
        """The points, the next ones told ahead before each."""
        coming: deque[Point] = deque()
        for point in points:
            coming.append(point)
            cluster = self.space.cluster_at(point)
            if cluster is not None and str(cluster.to_dict()) not in self._known:
                self.ahead(cluster)
            if len(coming) > AHEAD:
                yield coming.popleft()
        yield from coming

    @property
    def tried(self) -> list[Try]:
        """In the order in which they were tried."""
        return [*self._known.values()]

    def _judged(self, point: Point, cluster: Cluster, outcome: TrialOutcome) -> Try:
        served = outcome.whole and outcome.unserved <= self.unserved
        value = self.target.value(outcome.waits)
        met = served and self.target.met(outcome.waits)
        return Try(point, cluster, self.cost.of(cluster), outcome, met, value)

    def finish(self, best: Try, whole: Trial) -> None:
        """Try to the end what a chart of cost against wait needs.

        That is the best of each cost, and what differs from `best` in one knob. `whole`: a trial
        that is not broken off.
        """
        by_cost: dict[float, Try] = {}
        for result in sorted(self.tried, key=lambda each: each.rank):
            by_cost.setdefault(result.cost, result)
        costs = sorted(by_cost)
        spread = [by_cost[costs[len(costs) * k // CHARTED]] for k in range(CHARTED)]
        points = [self.space.present, best.point, *(result.point for result in spread)]
        near = list(self._neighbours(best.point))[:CHARTED]
        for point in dict.fromkeys([*points, *near]):
            cluster = self.space.cluster_at(point)
            if cluster is not None:
                name = str(cluster.to_dict())
                known = self._known.get(name)
                if known is None or not known.outcome.whole:
                    self._known[name] = self._judged(point, cluster, whole(cluster))

    def _everywhere(self) -> None:
        points = [*product(*(knob.values for knob in self.space.knobs))]
        clusters = ((point, self.space.cluster_at(point)) for point in points)
        costs = [(self.cost.of(c), k, p) for k, (p, c) in enumerate(clusters) if c is not None]
        cheapest = None
        cost_of = {point: cost for cost, _, point in costs}
        ordered = [point for _, _, point in sorted(costs, key=lambda each: each[:2])]
        for point in self._in_turn(ordered):
            cost = cost_of[point]
            if cheapest is not None and cost > cheapest:
                return
            result = self.look_at(point)
            if result is not None and result.met and cheapest is None:
                cheapest = cost

    def _by_lot(self) -> None:
        random = Random(SEED)  # noqa: S311 - it only has to be the same each time
        drawn = (
            tuple(random.choice(knob.values) for knob in self.space.knobs)
            for _ in range(self.budget)
        )
        for point in self._in_turn(drawn):
            if len(self.tried) > self.budget // BY_LOT:
                return
            self.look_at(point)

    def _step_by_step(self) -> None:
        done: set[Point] = set()
        while not self.spent():
            left = [result for result in self.tried if result.point not in done]
            if not left:
                return
            here = min(left, key=lambda each: each.rank)
            done.add(here.point)
            for point in self._in_turn(self._neighbours(here.point)):
                result = self.look_at(point)
                if self.spent():
                    return
                if result is not None and result.rank < here.rank:
                    break

    def _neighbours(self, point: Point) -> Iterator[Point]:
        """Points that differ in one knob: the values beside it first, the others ever further."""
        for k, knob in enumerate(self.space.knobs):
            values = list(knob.values)
            at = values.index(point[k]) if point[k] in values else len(values) // 2
            near = sorted(range(len(values)), key=lambda each: (abs(each - at), each))
            for place in near[: NEAR + 1]:
                if values[place] != point[k]:
                    yield (*point[:k], values[place], *point[k + 1 :])
