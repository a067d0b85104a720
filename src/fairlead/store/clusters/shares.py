"""A cluster as an operator looks at it: destinations, what they were sent, and their shares."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.balance.objects import shown
from fairlead.store.clusters.state import (
    NOBODY,
    SENT,
    ClusterRow,
    Version,
    counted,
    read_choice_run,
    read_row,
    read_version,
)
from fairlead.store.database.port import Database

PENDING: Final = "pending"
"""What rules that weigh what their members hold call it."""

USUAL: Final = {"present": True, "enabled": True, "state": "up", "draining": False}
"""Attributes of a destination that gets messages."""


class MachineShare(NamedTuple):
    """A destination, as it is now."""

    name: str
    address: str | None
    sent: int
    """Messages since the last reset."""
    share: float
    """The part of all messages since then; 0 where there were none."""
    expected: float | None
    """The part that its weight gives it now; None where weights do not decide."""
    candidate: bool
    """Whether a message that says nothing can go there now."""
    attributes: dict[str, Any]
    """What else the file would say of it."""
    pending: int | None = None
    """Messages that it had not completed when the cluster chose last; None: nobody counts them."""
    ref: str = ""
    """What no other object of the cluster is called, such as `subscriber:NAME@SUBJECT`."""

    @property
    def queue(self) -> str:
        """The queue of what is published to it."""
        return self.attributes.get("queue") or self.name

    @property
    def why_not(self) -> str:
        """What keeps messages from it, as far as its own attributes say; "" where nothing does."""
        if self.candidate:
            return ""
        odd = [
            f"{name} is {shown(self.attributes[name])}".replace("'", "")
            for name, value in USUAL.items()
            if self.attributes.get(name, value) != value
        ]
        if self.attributes.get("weight") == 0:
            odd.append("weight is 0")
        return ", ".join(odd) or "not a candidate"


class SinceFile(NamedTuple):
    """An attribute that is not as the file says, as `Change` takes it."""

    target: str
    attribute: str
    value: Any


class PoolShares(NamedTuple):
    """A cluster, as it is now."""

    name: str
    policy: str
    allocation: str
    version: int
    choices: int
    """All that were made."""
    rule: str
    """By which plain SQL can choose; "" for any other."""
    machines: list[MachineShare]
    file: dict[str, Any]
    """As a file would list it: who was added since is there as not present."""
    reads: list[str]
    """The attributes of a message that can make a difference."""
    since_file: list[SinceFile]
    """What makes the cluster of its file the one of now."""


def pool(database: Database, name: str) -> PoolShares:
    """A cluster as it is now. Raises MessageError."""
    row = counted(database, read_row(database, name, "cluster"))
    version = read_version(database, row)
    state = version.start.cluster
    if row.state is not None:
        sent = Counter(dict(json.loads(row.state)[SENT]))
    else:
        run = read_choice_run(database, row, row.first)
        made_since = (run.choices or [])[: row.taken]
        sent = Counter(dict(run.state[SENT])) + Counter(made_since)
        del sent[NOBODY]
    total = sum(sent.values())
    expected = state.expected()
    pending = _pending(row, version)
    members = set() if state.policy.reads else {*state.eligible(()).members}
    machines = []
    for member in state.destinations():
        destination = state.objects.get(state.object_of(member))
        ways = (
            slice(member, None, len(state.destinations()))
            if state.joining
            else slice(member, member + 1)
        )
        count = sum(sent[id_] for id_ in version.ids[ways])
        attributes = {} if destination is None else msgspec.to_builtins(destination)
        named = state.members[member]
        machines.append(
            MachineShare(
                *(named, state.address(member), count, count / total if total else 0.0),
                expected.get(named, 0.0) if expected else None,
                member in members,
                {k: v for k, v in attributes.items() if k not in {"name", "address"}},
                sum(pending[i] for i in range(len(pending))[ways]) if pending else None,
                str(state.object_of(member)),
            )
        )
    file = version.cluster.to_dict()
    return PoolShares(
        *(name, state.policy.name, row.allocation, row.version, row.turn, row.rule, machines, file),
        reads=sorted(state.relevant_attributes()),
        since_file=_since_file(version),
    )


def _pending(row: ClusterRow, version: Version) -> list[int]:
    """By member what it held when the cluster chose last; none where the rule does not count it."""
    if row.state is None or not version.start.cluster.rule.weighs_held:
        return []
    held = [rule.get(PENDING) or () for _, rule in json.loads(row.state)["rules"]]
    return [sum(parts) for parts in zip(*held, strict=False)]


def _since_file(version: Version) -> list[SinceFile]:
    """Attributes of objects that differ from the file's."""
    begun, differing = version.cluster.start(), []
    for ref, settled in version.start.cluster.objects.items():
        listed = msgspec.to_builtins(begun.objects[ref])
        differing += [
            SinceFile(str(ref), name, value)
            for name, value in msgspec.to_builtins(settled).items()
            if listed.get(name) != value
        ]
    return differing
