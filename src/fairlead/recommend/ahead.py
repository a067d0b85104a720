"""Trials ahead: other processes try what a search is likely to ask for next.

A trial is a function of its cluster alone, so the search finds the same, only sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.memory.prepared import PreparedMessages
from fairlead.memory.processes import ReplayProcesses, at_once, processes
from fairlead.recommend.goal import Target
from fairlead.recommend.trial import TrialOutcome, trial


class Trials(Protocol):
    """Trials of one recording."""

    def ahead(self, cluster: Cluster) -> object:
        """This cluster is likely to be tried soon."""

    def __call__(self, cluster: Cluster) -> TrialOutcome:
        """Replay the messages with a cluster, and measure the waits."""


class Alone:
    """Trials in this process, each when it is asked for."""

    def __init__(
        self, ready: PreparedMessages, changes: Sequence[Change], target: Target, unserved: int
    ) -> None:
        """`unserved`: so many messages may never start."""
        self.ready, self.changes = ready, changes
        self.target, self.unserved = target, unserved

    def ahead(self, cluster: Cluster) -> None:
        """It is tried when it is asked for."""

    def __call__(self, cluster: Cluster) -> TrialOutcome:
        """Replay the messages with a cluster, and measure the waits."""
        return trial(self.ready, cluster, self.changes, self.target, unserved=self.unserved)


class Ahead(Alone):
    """Trials in other processes."""

    def __init__(self, alone: Alone, others: ReplayProcesses) -> None:
        """`alone`: what is tried."""
        super().__init__(alone.ready, alone.changes, alone.target, alone.unserved)
        self._others = others
        self._coming: dict[str, Future[TrialOutcome]] = {}

    def ahead(self, cluster: Cluster) -> None:
        """Let another process try it."""
        name = str(cluster.to_dict())
        if name not in self._coming:
            arguments = (cluster, self.changes, self.target, self.unserved)
            self._coming[name] = self._others.submit(tried, *arguments)

    def __call__(self, cluster: Cluster) -> TrialOutcome:
        """What another process has found."""
        self.ahead(cluster)
        return self._coming.pop(str(cluster.to_dict())).result()


def tried(
    ready: PreparedMessages,
    cluster: Cluster,
    changes: Sequence[Change],
    target: Target,
    unserved: int,
) -> TrialOutcome:
    """`trial`, as another process is asked for it."""
    return trial(ready, cluster, changes, target, unserved=unserved)


@contextmanager
def trials(alone: Alone, most: int) -> Iterator[Trials]:
    """Trials in as many processes as pay for at most so many."""
    number = at_once(len(alone.ready.messages.times), most)
    if number == 1:
        yield alone
        return
    with processes(alone.ready, number) as others:
        yield Ahead(alone, others)
