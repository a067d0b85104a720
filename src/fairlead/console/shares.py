"""What the destinations of a cluster got of its last choices, against what they should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.console.rates import points
from fairlead.store.clusters.shares import MachineShare, PoolShares
from fairlead.store.journal.events import Event
from fairlead.store.store import Store

LOOK: Final = 20_000
"""So many events are looked at for the last choices."""
BINS: Final = 30


class LastShare(NamedTuple):
    """What one destination got."""

    name: str
    got: int
    since: int
    """Of these, since the cluster is as it is now."""
    should: float | None
    """What its weight gives it of all since then; None: weights do not decide."""
    line: str
    """Over time: the points of a line."""


class LastChoices(NamedTuple):
    """The last choices of a cluster."""

    messages: int
    first: float
    """The time of the first of them, in seconds since 1970."""
    last: float
    since: int
    """So many of them since the cluster is as it is now."""
    nobody: int
    """Choices for which nobody was there."""
    destinations: list[LastShare]


class ClusterView(NamedTuple):
    """A cluster as it is now, and what it has chosen last."""

    pool: PoolShares
    last: LastChoices | None
    """None: nothing, as far as was looked."""


def by_target(pool: PoolShares) -> dict[str, MachineShare]:
    """The destinations by what changes call them: by name, where no other has the same."""
    counts = Counter(machine.name for machine in pool.machines)
    return {
        machine.name if counts[machine.name] == 1 else machine.ref: machine
        for machine in pool.machines
    }


def cluster_view(store: Store, name: str, most: int) -> ClusterView:
    """A cluster, and at most so many of its last choices. Raises MessageError."""
    pool = store.pool(name)
    page = store.journal_back(None, most, LOOK, cluster=name, kind="decided")
    return ClusterView(pool, last_choices(page.events[::-1], pool))


def last_choices(events: Sequence[Event], pool: PoolShares) -> LastChoices | None:
    """What was chosen, of events in their order."""
    if not events:
        return None
    first, last = events[0].time, events[-1].time
    got = Counter(event.destination or "" for event in events)
    present = [event for event in events if event.version == pool.version]
    since = Counter(event.destination or "" for event in present)
    lines = _lines(events, first, last)
    expected = {machine.name: machine.expected for machine in pool.machines}
    total = since.total() - since[""]
    shares = []
    for name in dict.fromkeys([*expected, *(name for name in got if name)]):
        part = expected.get(name)
        should = None if part is None else part * total
        line = lines.get(name, points([0] * BINS, 1))
        shares.append(LastShare(name, got[name], since[name], should, line))
    return LastChoices(_messages(events), first, last, _messages(present), got[""], shares)


def _messages(events: Sequence[Event]) -> int:
    """How many these decisions are about: one that goes to several has an event for each."""
    return len({(event.stream, event.sequence) for event in events})


def _lines(events: Sequence[Event], first: float, last: float) -> Mapping[str, str]:
    counts: dict[str, list[int]] = {}
    width = (last - first) / BINS or 1.0
    for event in events:
        if event.destination:
            bins = counts.setdefault(event.destination, [0] * BINS)
            bins[min(int((event.time - first) / width), BINS - 1)] += 1
    highest = max((max(bins) for bins in counts.values()), default=1)
    return {name: points(bins, highest) for name, bins in counts.items()}
