"""What a store remembers of its clusters. It loads no policy before there is a cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from fairlead.store.database.port import Database

if TYPE_CHECKING:
    from fairlead.store.clusters.state import ChoiceRun, ClusterRow, Running, Version


class ClusterMemory:
    """What one process remembers of clusters; each entry is under a name that is never used twice.

    So an entry is right as long as anybody asks for it, also where a transaction is rolled back.
    """

    MOST: Final = 256

    def __init__(self) -> None:
        """No cluster is remembered yet."""
        self.versions: dict[str, Version] = {}
        self.choice_runs: dict[tuple[str, int], ChoiceRun] = {}
        self.states: dict[int, tuple[int, Running]] = {}
        self.only_here: dict[str, bool] = {}
        """Clusters whose policy the functions of the database do not know."""

    def version(self, database: Database, row: ClusterRow) -> Version:
        """The version that a row names."""
        entry = self.versions.get(row.stamp)
        if entry is None:
            from fairlead.store.clusters.state import read_version

            entry = read_version(database, row)
            self.keep(self.versions, row.stamp, entry)
        return entry

    def choice_run(self, database: Database, row: ClusterRow) -> ChoiceRun:
        """The run that runs."""
        key = row.stamp, row.first
        run = self.choice_runs.get(key)
        if run is None:
            from fairlead.store.clusters.state import read_choice_run

            run = read_choice_run(database, row, row.first)
            self.keep(self.choice_runs, key, run)
        return run

    def running(self, database: Database, row: ClusterRow) -> Running:
        """The cluster as it is, where its row has the state; the caller's own from now on."""
        revision, cluster = self.states.pop(row.id, (None, None))
        if cluster is not None and revision == row.revision:
            return cluster
        from fairlead.store.clusters.state import running

        return running(self.version(database, row), json.loads(row.state or "{}"))

    def remember_rule(self, row: ClusterRow) -> None:
        """Whether the functions of the database can choose in this cluster."""
        if row.rule:
            self.only_here.pop(row.name, None)
        else:
            self.keep(self.only_here, row.name, found=True)

    def keep(self, among: dict[Any, Any], key: object, found: object) -> None:
        """Remember; the oldest is forgotten where there are many."""
        while len(among) >= self.MOST:
            among.pop(next(iter(among)), None)
        among[key] = found
