"""A live journal, decided again: the same messages, changes and completions, in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from fairlead.balance.balancer import Balancer
from fairlead.balance.change import Change, ResolvedChange
from fairlead.balance.changes import resolve_one
from fairlead.balance.decision import Decision
from fairlead.balance.message import text
from fairlead.balance.times import moment
from fairlead.errors import ChangeError, MessageError
from fairlead.rows import CHANGED, COMPLETED, DECIDED

Row = Mapping[str, Any]
Place = tuple[str, str, object]
"""Cluster, stream and sequence, which only one message has."""


class JournalRerun(Balancer):
    """A balancer that goes through a journal."""

    def decisions(
        self, rows: Iterable[Row], said: Collection[str]
    ) -> Iterator[tuple[list[Row], Decision]]:
        """For each message its rows, one for each destination, and what is decided about it now.

        Of a pool's journal: for each choice its rows, one for each attempt that it was good for.
        `rows`: of a live journal, in their order, from the first on; `said`: the columns that are
        the messages' own. Raises UserError where these clusters cannot have been those.
        """
        heard = self._known & {*said}
        made: dict[Place, Decision] = {}
        for (outcome, _, cluster, _), together in groupby(rows, _together):
            rows_together = list(together)
            if outcome == CHANGED:
                self._make(self._called(cluster), rows_together)
            elif outcome == COMPLETED:
                for row in rows_together:
                    self.completed(_of(made, row), row["destination"])
            else:
                message = {name: rows_together[0][name] for name in heard}
                if DECIDED in rows_together[0]:
                    self._number(message, rows_together[0]["sequence"])
                decision = self.choose(message)
                if decision.destination is not None:
                    made[_place(rows_together[0])] = decision
                yield rows_together, decision

    def _number(self, message: Mapping[str, Any], sequence: int | None) -> None:
        """The next choice is for the message of this place in its stream.

        A pool numbers messages when they come, and may choose for them later, or once more.
        """
        runtime = self._runtimes.get(text(message, "cluster")) or self._only
        if runtime is not None and sequence is not None:
            self._withdraw()
            state = runtime.cluster
            runtime.sequences[state.stream(state.values_of(message))] = sequence

    def _called(self, cluster: str) -> str:
        """What a cluster of the journal is called here: where there is one, as that one."""
        return self._only.name if self._only is not None else cluster

    def _make(self, cluster: str, rows: Iterable[Row]) -> None:
        """Make the step of changes that these rows tell of."""
        if cluster not in self._runtimes:
            raise ChangeError(f"journal: cluster: found {cluster!r}, allowed: one that is given")
        with self._lock:
            self._withdraw()
            state = self._runtimes[cluster].cluster
            changes: list[ResolvedChange] = []
            for row in rows:
                self._now = moment(row["time"], "journal: time", ChangeError)
                if row["target"]:
                    change = Change(row["target"], row["attribute"], row["value"])
                    changes.append(resolve_one(state, change))
            self._step(cluster, changes)


def _together(row: Row) -> tuple[Any, ...]:
    """What rows of one message, or of one step of changes, have in common."""
    outcome = row["outcome"]
    if DECIDED in row:
        happened = outcome if outcome in (CHANGED, COMPLETED) else ""
        return happened, row[DECIDED], row["cluster"], 0
    if outcome in (CHANGED, COMPLETED):
        return outcome, row["position"], row["cluster"], row["version"]
    return "", row["position"], "", 0


def _place(row: Row) -> Place:
    return row["cluster"], row["stream"], row["sequence"]


def _of(made: Mapping[Place, Decision], row: Row) -> Decision:
    """The decision that a completion is about. Raises MessageError."""
    decision = made.get(_place(row))
    if decision is None:
        raise MessageError(
            f"journal: position {row['position']}: found a completion of sequence "
            f"{row['sequence']} of {row['stream']!r}, allowed: one of a message that was routed "
            "before"
        )
    return decision
