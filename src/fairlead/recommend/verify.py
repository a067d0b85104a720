"""Verify: what a search has found, held against traffic that it never saw, and against trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import numpy as np
import pyarrow as pa

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.balance.policies.destinations import KIND
from fairlead.compiled import hashes
from fairlead.compiled.kernels import Int64s
from fairlead.memory.prepared import PreparedMessages
from fairlead.recommend.goal import Cost, Target
from fairlead.recommend.search import SEED
from fairlead.recommend.space import Point, Space
from fairlead.recommend.trial import TrialOutcome, conversations, part, trial
from fairlead.results.recommendation import Held

TENTHS: Final = 10
SAMPLES: Final = 1_000
GAPS: Final = 10
"""A copy of a conversation comes later by up to so many mean gaps between conversations."""
BEGINNING: Final = -4_000_000_000
"""Seconds; before any traffic."""


class Verified:
    """How clusters do on held-out traffic."""

    def __init__(
        self, ready: PreparedMessages, changes: Sequence[Change], target: Target, cost: Cost
    ) -> None:
        self.ready, self.changes, self.target, self.cost = ready, changes, target, cost

    def held(
        self,
        name: str,
        cluster: Cluster,
        *,
        more: Sequence[Change] = (),
        ready: PreparedMessages | None = None,
        unserved: int | None = None,
    ) -> tuple[Held, TrialOutcome]:
        """How a cluster does. `unserved`: so many messages may never start.

        `more`: changes instead of those that were recorded of their targets.
        """
        traffic = self.ready if ready is None else ready
        gone = {change.target for change in more}
        rest = [change for change in self.changes if _name(change.target) not in gone]
        outcome = trial(traffic, cluster, [*more, *rest], self.target)
        waits = outcome.waits
        met = self.target.met(waits) and (unserved is None or outcome.unserved <= unserved)
        result = Held(
            name=name,
            cost=self.cost.of(cluster),
            value=self.target.value(waits),
            p50=waits.p50,
            p99=waits.p99,
            max=waits.max,
            messages=len(traffic.messages.times),
            unserved=outcome.unserved,
            met=met,
        )
        return result, outcome

    def certainty(self, outcome: TrialOutcome) -> tuple[float, int]:
        """Of samples of the held-out time the part that meets the target, and of its tenths.

        The time is cut into ten equal parts, in which messages wait for each other; samples of ten
        parts each, drawn with replacement, say how much the result depends on which there were
        (a bootstrap by blocks; Künsch 1989).
        """
        times = self.ready.messages.times
        first, last = int(times.min()), int(times.max())
        tenth = np.minimum((times - first) * TENTHS // max(1, last - first + 1), TENTHS - 1)
        every = np.bincount(tenth, minlength=TENTHS)
        late = np.bincount(tenth[outcome.late], minlength=TENTHS)
        part = 0.5 if self.target.part is None else self.target.part
        passes = [late[k] <= (1 - part) * every[k] for k in range(TENTHS)]
        random = Random(SEED)  # noqa: S311 - it only has to be the same each time
        fine = 0
        for _ in range(SAMPLES):
            drawn = [random.randrange(TENTHS) for _ in range(TENTHS)]
            messages, passed = sum(every[k] for k in drawn), sum(late[k] for k in drawn)
            fine += bool(passed <= (1 - part) * messages)
        return fine / SAMPLES, int(sum(passes))


def without_one(space: Space, point: Point) -> Iterator[tuple[str, Cluster]]:
    """The cluster of a point with one setting as in the file, for each setting."""
    for k in space.sets(point):
        cluster = space.cluster_at((*point[:k], None, *point[k + 1 :]))
        if cluster is not None:
            yield f"{space.knobs[k].label} as in the file", cluster


def _name(target: str) -> str:
    """The name in a target such as `queue:ORDERS@QM1`."""
    return target.rpartition(":")[2].partition("@")[0]


def one_down(cluster: Cluster) -> Iterator[tuple[str, Change]]:
    """Each destination away from the beginning."""
    names = [destination["name"] for destination in cluster.to_dict()[KIND]]
    for name in names if len(names) > 1 else ():
        yield f"{name} is away", Change(name, "present", False, BEGINNING)


def more_traffic(ready: PreparedMessages, percent: int) -> PreparedMessages:
    """The traffic, and `percent` of its conversations once more, a little later.

    Which these are, and how much later, a hash of the conversation's number decides.
    """
    whose = conversations(ready)
    hashed = hashes.with_longs(hashes.new(len(whose)), whose.astype(np.int64))
    again = np.flatnonzero(hashed % np.uint64(100) < np.uint64(percent))
    times = ready.messages.times
    different = max(1, len(np.unique(whose)))
    most = GAPS * (int(times.max()) - int(times.min())) // different if len(times) else 0
    shift = (hashed >> np.uint64(8)) % np.uint64(most + 1)
    later: Int64s = times[again] + shift[again].astype(np.int64)
    rows = np.concatenate([np.arange(len(times)), again])
    when = np.concatenate([times, later])
    order = np.argsort(when, kind="stable")
    traffic = part(ready, rows[order])
    copied = (rows != np.arange(len(rows)))[order]
    messages = type(traffic.messages)(
        traffic.messages.table, when[order], traffic.messages.services
    )
    return PreparedMessages(messages, _renamed(traffic.read, copied), traffic.dated)


def _renamed(read: pa.Table, copied: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Table:
    """Copies of a group are a group of their own."""
    if "group" not in read.column_names:
        return read
    group = read.column("group").to_pylist()
    names = [
        f"{name}~1" if copy and name else name for name, copy in zip(group, copied, strict=True)
    ]
    place = read.column_names.index("group")
    return read.set_column(place, "group", pa.array(names, pa.string()))
