"""Overrides: clusters as if their files said something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairlead.balance.change import Change
from fairlead.balance.changes import addressee
from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import hint, listed
from fairlead.balance.policy import ClusterTables
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError, ConfigError

OPTIONS: Final = "options"
ORDER: Final = "order"
NAME: Final = "name"

States = Mapping[str, AnyState]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of one cluster's file, and where it is overridden."""

    cluster: str
    place: tuple[str | int, ...]
    """As keys and list indexes."""
    where: str
    """What error lines call it: file, line and key of the scenario file."""


def key_of(
    clusters: Sequence[Cluster], states: States, target: str, attribute: str, where: str
) -> Key:
    """The key that a target and an attribute mean. Raises ConfigError.

    A target is what it is in a change, or `options`, or `options@CLUSTER`.
    """
    if target == OPTIONS or target.startswith(f"{OPTIONS}@"):
        return Key(_owner(list(states), target, where), (OPTIONS, attribute), where)
    try:
        name, state, ref = addressee(states, Change(target, attribute, where=where))
    except ChangeError as error:
        raise ConfigError(f"{error}{hint(target, [OPTIONS])}") from None
    if attribute == NAME:
        raise ConfigError(f"{where}.attribute: found 'name', allowed: any other; names are fixed")
    tables = next(cluster.tables for cluster in clusters if cluster.name == name)
    return Key(name, (*_place(tables, state.objects[ref]), attribute), where)


def _owner(names: Sequence[str], target: str, where: str) -> str:
    """The cluster whose options are meant."""
    _, at, owner = target.partition("@")
    known = [f"{OPTIONS}@{name}" for name in names]
    if at and owner in names:
        return owner
    if not at and len(names) == 1:
        return names[0]
    raise ConfigError(
        f"{where}.target: found {target!r}, allowed: {listed(known)}{hint(target, known)}"
    )


def _place(tables: ClusterTables, wanted: object) -> tuple[str | int, ...]:
    """Where in the file an object's table stands."""
    for field in tables.__struct_fields__:
        value = getattr(tables, field)
        if value is wanted:
            return (field,)
        for k, table in enumerate(value if isinstance(value, list) else ()):
            if table is wanted:
                return (field, k)
    raise AssertionError(f"{wanted!r} stands in none of the tables")


def overridden(
    clusters: Iterable[Cluster], values: Iterable[tuple[Key, object]], where: str
) -> tuple[Cluster, ...]:
    """The clusters with other values for some keys; each cluster is checked as a whole.

    `where`: what error lines call all of it. Raises ConfigError.
    """
    every = list(values)
    results = []
    for cluster in clusters:
        edits = [(key, value) for key, value in every if key.cluster == cluster.name]
        results.append(_rebuilt(cluster, edits, where) if edits else cluster)
    return tuple(results)


def _rebuilt(cluster: Cluster, values: Sequence[tuple[Key, object]], where: str) -> Cluster:
    plain = cluster.to_dict()
    for key, value in values:
        table: Any = plain
        for part in key.place[:-1]:
            table = table[part]
        table[key.place[-1]] = value
    try:
        return Cluster.from_dict(plain, default_name=cluster.name)
    except ConfigError as error:
        place = tuple(error.place)
        named = (key.where for key, _ in values if place and key.place[: len(place)] == place)
        raise ConfigError(f"{next(named, where)}: cluster {cluster.name!r}: {error}") from None
