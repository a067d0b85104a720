"""Scenario files: the ways in which recorded traffic could have been handled, in TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import prod
from pathlib import Path
from typing import Final

from msgspec import UNSET

from fairlead.balance.change import Change
from fairlead.balance.changes import resolve
from fairlead.balance.cluster import Cluster
from fairlead.config.changes import load_changes
from fairlead.config.differences import differences, said
from fairlead.config.outages import outage_changes
from fairlead.config.overrides import ORDER, Key, key_of, overridden
from fairlead.config.scenario_file import (
    SCENARIO,
    ScenarioFile,
    ScenarioTable,
    Set,
    Sweep,
    more_of_it,
    read,
)
from fairlead.config.sweeps import ListedValues, NumberRange, swept, without_repetition
from fairlead.errors import ChangeError, ConfigError

MAX_SCENARIOS: Final = 1_000
"""Scenarios of one file."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way in which the recorded traffic could have been handled."""

    name: str
    clusters: tuple[Cluster, ...]
    """With everything that the scenario sets."""
    changes: tuple[Change, ...]
    """What happens to them: of one time, the scenario's outages, then those of all scenarios, then
    its own."""
    scale_rate: Decimal = Decimal(1)
    """How often each message is there, on average."""
    seed: int = 0
    """Which messages those are."""
    differs: tuple[str, ...] = ()
    """What it differs by from the cluster file and the recorded traffic, in words."""


def load_scenarios(
    path: str | Path,
    clusters: Sequence[Cluster],
    changes: Sequence[Change] = (),
    *,
    read_changes: Callable[[Path], list[Change]] = load_changes,
) -> list[Scenario]:
    """The scenarios of a file, in its order; a sweep gives one for each of its values.

    `clusters` and `changes`: what the scenarios differ from. `read_changes` reads what a scenario
    names as its own changes, a file beside the scenario file. Everything is checked, the changes
    against the clusters of each scenario, too. Raises ConfigError or ChangeError with one line that
    names file, line, scenario, key, what was found and what is allowed.
    """
    source, entries = read(path)
    sweeps = [
        [swept(source, (SCENARIO, k, "sweep", n), sweep) for n, sweep in enumerate(entry.sweep)]
        for k, entry in enumerate(entries)
    ]
    total = sum(prod(axis.number for axis in axes) for axes in sweeps)
    if total > MAX_SCENARIOS:
        raise ConfigError(f"{path}: found {total:,} scenarios, allowed: at most {MAX_SCENARIOS:,}")
    by_name: dict[str, Scenario] = {}
    for k, (entry, axes) in enumerate(zip(entries, sweeps, strict=True)):
        reader = _ScenarioReader(source, k, entry, clusters, changes, read_changes)
        for scenario in reader.scenarios(axes):
            if scenario.name in by_name:
                raise ConfigError(
                    f"{source.where(SCENARIO, k)}: found a second scenario that is called "
                    f"{scenario.name!r}, allowed: one"
                )
            by_name[scenario.name] = scenario
    return list(by_name.values())


class _ScenarioReader:
    """What becomes of one `[[scenario]]`."""

    def __init__(
        self,
        source: ScenarioFile,
        number: int,
        entry: ScenarioTable,
        clusters: Sequence[Cluster],
        changes: Sequence[Change],
        read_changes: Callable[[Path], list[Change]],
    ) -> None:
        """Check what is the same for all values of its sweeps."""
        self.source, self.number, self.entry = source, number, entry
        self.clusters = clusters
        self.where = source.where(SCENARIO, number)
        self.scale_rate, self.seed = more_of_it(source, number, entry)
        self.others = [*changes]
        if entry.changes is not UNSET:
            try:
                self.others += read_changes(source.path.parent / entry.changes)
            except ChangeError as error:
                raise ChangeError(f"{self._where('changes')}: {error}") from None
        set_, self.swept = self._keys("set", entry.set_), self._keys("sweep", entry.sweep)
        self._once([*set_, *self.swept])
        self.fixed = [
            *zip(set_, (edit.value for edit in entry.set_), strict=True),
            *(
                (Key(cluster.name, (ORDER, key), self._where(ORDER, key)), value)
                for key, value in entry.order.items()
                for cluster in clusters
            ),
        ]

    def _keys(self, table: str, edits: Sequence[Set | Sweep]) -> list[Key]:
        states = {cluster.name: cluster.start() for cluster in self.clusters}
        return [
            key_of(self.clusters, states, edit.target, edit.attribute, self._where(table, n))
            for n, edit in enumerate(edits)
        ]

    def _where(self, *place: str | int) -> str:
        return self.source.where(SCENARIO, self.number, *place)

    def _once(self, keys: Sequence[Key]) -> None:
        """Refuse two values for one key."""
        known: dict[tuple[str, tuple[str | int, ...]], Key] = {}
        for key in keys:
            other = known.setdefault((key.cluster, key.place), key)
            if other is not key:
                raise ConfigError(
                    f"{key.where}: found the {key.place[-1]} again that {other.where} gives, "
                    "allowed: once in a scenario"
                )

    def scenarios(self, sweeps: Sequence[ListedValues | NumberRange]) -> Iterator[Scenario]:
        """One for each combination of the values, those of the last sweep the fastest."""
        every = [sweep.values for sweep in sweeps]
        for n, values in enumerate(every):
            without_repetition(self.source, (SCENARIO, self.number, "sweep", n), values)
        for values in product(*every):
            yield self._scenario(values)

    def _scenario(self, values: Sequence[object]) -> Scenario:
        varied = list(zip(self.swept, values, strict=True))
        clusters = overridden(self.clusters, [*self.fixed, *varied], self.where)
        states = {cluster.name: cluster.start() for cluster in clusters}
        outages = outage_changes(states, self.entry.down, self.others, self.source, self.number)
        # At the end of an outage another change may begin, so outages come first.
        changes = (*outages, *self.others)
        try:
            resolve(states, changes)
        except ChangeError as error:
            raise ChangeError(f"{self.where}: {error}") from None
        return Scenario(
            self._name(values),
            clusters,
            changes,
            self.scale_rate,
            self.seed,
            tuple(differences(self.entry, values, self.scale_rate, self.seed)),
        )

    def _name(self, values: Sequence[object]) -> str:
        if not values:
            return self.entry.name
        varied = [
            f"{sweep.target} {sweep.attribute} {said(value)}"
            for sweep, value in zip(self.entry.sweep, values, strict=True)
        ]
        # Of one sweep the scenario's own name says what varies, and the value is enough.
        in_words = ", ".join(varied) if len(varied) > 1 else said(values[0])
        return f"{self.entry.name}: {in_words}"
