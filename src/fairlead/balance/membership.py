"""Destinations that no file listed: a cluster with one more, or one less, in the same state.

A cluster with a new destination is as if its file had listed that one from the beginning, as not
present; so what joins and leaves is the same as in every other engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.balance.changes import targets_of
from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import Ref, listed, shown
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError


class Changed(NamedTuple):
    """A cluster with other destinations, and its state."""

    cluster: Cluster
    state: AnyState

    def carry(self, old: AnyState) -> AnyState:
        """Another state of the cluster as it was, with these destinations."""
        return _carried(self.cluster, old).state


def with_destination(cluster: Cluster, state: AnyState, *tables: Mapping[str, Any]) -> Changed:
    """The cluster with one more destination, or several, which are not present yet.

    `tables`: a `[[destination]]` (with `smartsockets`: a `[[subscriber]]`) each, as the file would
    say it. Raises ChangeError, ConfigError.
    """
    plain = _file(cluster, state)
    known = set(state.objects)
    for table in tables:
        ref = joining_ref(state, table)
        if all(isinstance(part, str) for part in ref):  # the cluster itself refuses any other
            if ref in known:
                raise ChangeError(
                    f"{ref.kind}: found {shown(ref.name)} twice in cluster {cluster.name!r}, "
                    "allowed: once"
                )
            known.add(ref)
        plain[ref.kind].append({**table, "present": False})
    return _carried(Cluster.from_dict(plain, default_name=cluster.name), state)


def without_destination(cluster: Cluster, state: AnyState, *gone: str) -> Changed:
    """The cluster without a destination that has left, or without several.

    `gone`: each by its name; where several have it, as `subscriber:NAME@SUBJECT`. Raises
    ChangeError, and ConfigError if none is left where there must be one.
    """
    plain = _file(cluster, state)
    leaving = {leaving_ref(state, name) for name in gone}
    kind = state.joining[0]
    plain[kind] = [
        destination for destination in plain[kind] if joining_ref(state, destination) not in leaving
    ]
    return _carried(Cluster.from_dict(plain, default_name=cluster.name), state)


def joining_ref(state: AnyState, table: Mapping[str, Any]) -> Ref:
    """What an object that joins is called. `table`: as the file would say it, not checked."""
    kind, *owner = state.joining
    return Ref(kind, *(table.get(key, "") for key in ("name", *owner)))


def leaving_ref(state: AnyState, name: str) -> Ref:
    """The one destination of this name. Raises ChangeError if there is none, or if there are two.

    `name`: as `without_destination` takes it.
    """
    kind = state.joining[0]
    refs = [ref for ref in targets_of(state, name) if ref.kind == kind]
    if len(refs) == 1:
        return refs[0]
    if refs:
        raise ChangeError(
            f"{kind}: found {shown(name)}, which is ambiguous, allowed: {listed(map(str, refs))}"
        )
    names = dict.fromkeys(ref.name for ref in state.objects if ref.kind == kind)
    raise ChangeError(f"{kind}: found {shown(name)}, allowed: {listed(names)}")


def _file(cluster: Cluster, state: AnyState) -> dict[str, Any]:
    if not state.joining:
        raise ChangeError(
            f"cluster {cluster.name!r}: found the policy {state.policy.name}, whose objects depend "
            "on each other, allowed: to list them all in its file, those that join later with "
            "present = false"
        )
    return cluster.to_dict()


def _carried(cluster: Cluster, old: AnyState) -> Changed:
    """The state of a cluster whose destinations are others now."""
    new = cluster.start()
    before_at = {old.object_of(i): i for i in old.destinations()}
    refs = ((i, new.object_of(i)) for i in new.destinations())
    places = {i: before_at[ref] for i, ref in refs if ref in before_at}
    plain, before = new.dump(), old.dump()
    objects = {Ref(*ref): attributes for ref, attributes in before["objects"]}
    plain["objects"] = [
        [ref, objects.get(Ref(*ref), attributes)] for ref, attributes in plain["objects"]
    ]
    plain["rule"] = new.rule.carried(before["rule"], places)
    plain["version"] = old.version
    for name in before.keys() - {"objects", "rule", "version"}:
        plain[name] = [entry for entry in before[name] if Ref(*entry[0]) in new.objects]
    new.load(plain)
    return Changed(cluster, new)
