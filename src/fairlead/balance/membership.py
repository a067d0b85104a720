"""Destinations that no file listed: a cluster with one more, or one less, in the same state.

A cluster with a new destination is as if its file had listed that one from the beginning, as not
present; so what joins and leaves is the same as in every other engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import Ref, listed, shown
from fairlead.balance.policies.destinations import KIND, DestinationState
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError

NAME: Final = "name"


class Changed(NamedTuple):
    """A cluster with other destinations, and its state."""

    cluster: Cluster
    state: AnyState


def with_destination(cluster: Cluster, state: AnyState, *tables: Mapping[str, Any]) -> Changed:
    """The cluster with one more destination, or several, which are not present yet.

    `tables`: a `[[destination]]` each, as the file would say it. Raises ChangeError, ConfigError.
    """
    plain = _file(cluster, state)
    names = {each.get(NAME) for each in plain[KIND]}
    for table in tables:
        name = table.get(NAME)
        if isinstance(name, str):  # the cluster itself refuses any other
            if name in names:
                raise ChangeError(
                    f"destination: found {shown(name)} twice in cluster {cluster.name!r}, "
                    "allowed: once"
                )
            names.add(name)
        plain[KIND].append({**table, "present": False})
    return _carried(Cluster.from_dict(plain, default_name=cluster.name), state)


def without_destination(cluster: Cluster, state: AnyState, *gone: str) -> Changed:
    """The cluster without a destination that has left, or without several.

    Raises ChangeError, and ConfigError if none is left.
    """
    plain = _file(cluster, state)
    names = [each[NAME] for each in plain[KIND]]
    for name in gone:
        if name not in names:
            raise ChangeError(f"destination: found {shown(name)}, allowed: {listed(names)}")
    plain[KIND] = [each for each in plain[KIND] if each[NAME] not in gone]
    return _carried(Cluster.from_dict(plain, default_name=cluster.name), state)


def _file(cluster: Cluster, state: AnyState) -> dict[str, Any]:
    if not isinstance(state, DestinationState):
        raise ChangeError(
            f"cluster {cluster.name!r}: found the policy {state.policy.name}, whose objects depend "
            "on each other, allowed: to list them all in its file, those that join later with "
            "present = false"
        )
    return cluster.to_dict()


def _carried(cluster: Cluster, old: AnyState) -> Changed:
    """The state of a cluster whose destinations are others now."""
    new = cluster.start()
    places = {new.members.index(name): i for i, name in enumerate(old.members) if name in new.named}
    plain, before = new.dump(), old.dump()
    objects = {Ref(*ref): each for ref, each in before["objects"]}
    plain["objects"] = [[ref, objects.get(Ref(*ref), each)] for ref, each in plain["objects"]]
    plain["rule"] = new.rule.carried(before["rule"], places)
    plain["version"] = old.version
    for name in before.keys() - {"objects", "rule", "version"}:
        plain[name] = [each for each in before[name] if each[0][1] in new.named]
    new.load(plain)
    return Changed(cluster, new)
