"""A cluster as it is kept: its row, its versions, and runs of choices.

A *version* is the cluster between two changes. A *run* is the state at one turn and, where the
rule can make its choices ahead, the choices that follow: then a choice is a place in the run,
and the only thing that a choice writes is a number. Otherwise the row has the state.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import Ref, hint, listed, repr_of
from fairlead.balance.rules.rule import ScheduledRule
from fairlead.balance.runtime import ClusterRuntime
from fairlead.balance.state import AnyState
from fairlead.errors import MessageError
from fairlead.store.database.port import Database

AHEAD: Final = 256
"""So many choices are made ahead."""
LOGGED: Final = 1024
"""After so many choices that were not made ahead the state is written down."""
NOBODY: Final = 0
"""Instead of a destination's id."""
EXACT: Final = "exact"
TICKET: Final = "ticket"
SENT: Final = "sent"
NO_PART: Final = "[]"
"""Of a cluster whose messages share one state: which of its states."""

State = dict[str, Any]
"""Everything that later choices depend on, besides the version: plain data."""


class ClusterRow(NamedTuple):
    """Where a cluster stands."""

    id: int
    name: str
    allocation: str
    rule: str
    """By which plain SQL can choose; "" for any other."""
    reset_every: int
    reset_due: int | None
    due: int | None
    """When something happens to it of itself."""
    version: int
    stamp: str
    first: int
    taken: int
    revision: int
    state: str | None
    server_time: int

    @property
    def turn(self) -> int:
        """The turn of the next choice, before it is counted."""
        return self.first + self.taken


class ChoiceRun(NamedTuple):
    """Choices from one turn on."""

    first: int
    version: int
    number: int
    """The event with which it began; 0 where the turns alone say what happened since."""
    state: State
    choices: Sequence[int] | None
    """Ids of destinations, NOBODY where nobody could be chosen; None: not made ahead."""


class Version:
    """A cluster between two changes. It stays as it is; what is made of it is independent."""

    def __init__(self, name: str, version: int, definition: Mapping[str, Any]) -> None:
        """`definition`: as `version_of` made it."""
        self.number = version
        self.definition = definition
        self.cluster = Cluster.from_dict(definition["file"], default_name=name)
        self.made_ahead: bool = definition["ahead"]
        """Whether its choices can be made ahead, as they are the same whatever messages say."""
        self.ids: list[int] = definition["ids"]
        """Member → the id of its destination."""
        self.member_of = {id_: i for i, id_ in enumerate(self.ids)}

    @cached_property
    def start(self) -> ClusterRuntime:
        """The cluster with its objects as they are; whatever its rule remembers is not this."""
        runtime = ClusterRuntime(self.cluster.name, self.cluster.start())
        plain = {**self.definition["shared"], "rule": runtime.cluster.rule.dump()}
        runtime.cluster.load(plain)
        return runtime

    @cached_property
    def to_all(self) -> tuple[tuple[tuple[str, str | None], ...], tuple[tuple[int, str], ...]]:
        """Where every message goes, if to several: names with addresses, and what completes it."""
        state = self.start.cluster
        also = sorted(state.eligible(()).recipients, key=lambda i: state.members[i].encode())
        copies = tuple((state.members[i], state.address(i)) for i in also)
        return copies, tuple((self.ids[i], NO_PART) for i in also)

    def runtime(self, state: State) -> ClusterRuntime:
        """The cluster in a state."""
        shared, untouched = self.definition["shared"], state["untouched"]
        cluster = ClusterRuntime(self.cluster.name, self.start.cluster.frozen())
        cluster.load(
            {
                "parts": [[key, {**shared, "rule": rule}] for key, rule in state["rules"]],
                "untouched": None if untouched is None else {**shared, "rule": untouched},
                "sequences": state["sequences"],
                "bindings": [],
                "failed": state["failed"],
            }
        )
        return cluster

    def rows(self) -> dict[int, tuple[str, str | None, str | None]]:
        """Id → name, address and queue of each member."""
        state = self.start.cluster
        return {
            id_: (state.members[member], state.address(member), state.queue(member))
            for member, id_ in enumerate(self.ids)
        }


class Running(NamedTuple):
    """A cluster at one turn, to be asked or changed."""

    version: Version
    runtime: ClusterRuntime
    sent: Counter[int]
    """Id of a destination → messages since the last reset."""

    def state(self) -> State:
        """As plain data."""
        plain = self.runtime.dump()
        untouched = plain["untouched"]
        return {
            "rules": [[key, part["rule"]] for key, part in plain["parts"]],
            "untouched": None if untouched is None else untouched["rule"],
            "sequences": plain["sequences"],
            "failed": plain["failed"],
            SENT: sorted(self.sent.items()),
        }

    def choices(self) -> list[int] | None:
        """The next choices, made ahead; None where they cannot be."""
        if not self.version.made_ahead:
            return None
        cluster = self.runtime.cluster
        members = cluster.eligible(()).members
        if not members:
            return [NOBODY] * AHEAD
        rule = self.runtime.partitions[()].cluster.rule.copy()
        assert isinstance(rule, ScheduledRule)  # noqa: S101 - `made_ahead` has asked it
        return [self.version.ids[i] for i in rule.upcoming(members, AHEAD)]


def version_of(cluster: Cluster, runtime: ClusterRuntime, ids: Sequence[int]) -> Version:
    """The version of a cluster that begins now."""
    plain = runtime.dump()
    options = getattr(cluster.tables, "options", None)
    shared = {k: v for k, v in (plain["untouched"] or plain["parts"][0][1]).items() if k != "rule"}
    definition = {
        "file": cluster.to_dict(),
        "shared": shared,
        "ids": list(ids),
        "ahead": _can_be_made_ahead(runtime),
        "level": getattr(options, "newcomer", "") == "level",  # for plain SQL
    }
    return Version(cluster.name, runtime.cluster.version, definition)


def _can_be_made_ahead(runtime: ClusterRuntime) -> bool:
    state = runtime.cluster
    if state.policy.reads or state.binds or state.rule.keyed:
        return False
    members = state.eligible(()).members
    return not members or state.rule.scheduled(members) is not None


def marks(state: AnyState) -> list[tuple[int, Ref | None]]:
    """What stays the same of each member, whoever joins or leaves."""
    if not state.joining:
        return [(member, None) for member in range(len(state.members))]
    destinations = len(state.destinations())
    return [
        (member // destinations, state.object_of(member)) for member in range(len(state.members))
    ]


def running(version: Version, state: State) -> Running:
    """The cluster in a state that was kept."""
    return Running(version, version.runtime(state), Counter(dict(state[SENT])))


def forward(running: Running, choices: Sequence[int]) -> None:
    """Make these choices, which were made ahead."""
    partition = running.runtime.partitions[()]
    members = running.runtime.cluster.eligible(()).members
    if members:
        rule = partition.cluster.rule
        assert isinstance(rule, ScheduledRule)  # noqa: S101 - `made_ahead` has asked it
        rule.advance(members, len(choices))
    sequences = running.runtime.sequences
    sequences[()] = sequences.get((), 0) + len(choices)
    running.sent.update(id_ for id_ in choices if id_ != NOBODY)


def at_turn(version: Version, begun: ChoiceRun, turns: int) -> Running:
    """A cluster whose choices are made ahead, so many turns after a run began."""
    cluster, made = running(version, begun.state), begun.choices or []
    while turns > 0:
        forward(cluster, made[:turns])
        turns -= len(made)
        made = cluster.choices() or []
    return cluster


def stamp() -> str:
    """What nothing else is called, in this process or another."""
    return secrets.token_hex(8)


def revision() -> int:
    """A number that nothing else has."""
    return secrets.randbits(62)


def read_row(database: Database, name: str, how: str) -> ClusterRow:
    """A cluster's row. `how`: the statement. Raises MessageError where there is none."""
    rows = database.run(how, name=name)
    if not rows:
        names = [name for (name,) in database.run("cluster_names")]
        raise MessageError(
            f"cluster: found {repr_of(name)}, allowed: "
            f"{listed(names) or 'none: load_clusters has read no file yet'}{hint(str(name), names)}"
        )
    return ClusterRow(*rows[0])


def counted(database: Database, row: ClusterRow) -> ClusterRow:
    """The row with the turns that tickets have counted; tickets drawn from now on come after.

    No ticket is drawn, so a change takes nobody's turn away, even if it is refused or rolled back.
    """
    if row.allocation != TICKET or row.version < 0:
        return row
    ((drawn,),) = database.run("tickets", cluster=row.id)
    return row._replace(taken=max(drawn - row.first, 0))


def read_version(database: Database, row: ClusterRow, number: int | None = None) -> Version:
    """One version of a cluster; the newest where no number is given."""
    wanted = row.version if number is None else number
    ((_, _, definition),) = database.run("version", cluster=row.id, version=wanted)
    return Version(row.name, wanted, json.loads(definition))


def choice_run(found: Sequence[Any]) -> ChoiceRun:
    """A run as its row says."""
    first, version, number, state, choices = found
    if isinstance(choices, str):
        choices = json.loads(choices)
    return ChoiceRun(first, version, number, json.loads(state), choices)


def read_choice_run(database: Database, row: ClusterRow, turn: int) -> ChoiceRun:
    """The run of a turn."""
    (record,) = database.run("choice_run_of", cluster=row.id, turn=turn)
    return choice_run(record)
