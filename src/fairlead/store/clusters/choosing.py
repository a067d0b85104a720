"""Choose: who gets the next message of a cluster, counted in the transaction of whoever asks.

`exact`: the cluster's row is locked until that transaction ends, and counts only what is committed.
`ticket`: a number is drawn, which nobody waits for and nobody gives back.
"""

from __future__ import annotations

import json
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import Final, NamedTuple

from fairlead.balance.decision import Decision
from fairlead.balance.message import (
    ATTRIBUTES,
    CONTROL,
    NO_DESTINATION,
    ROUTED,
    SET_PRIORITY,
    AttributeValues,
    check,
    text,
)
from fairlead.balance.objects import hint, listed, repr_of
from fairlead.balance.runtime import ClusterRuntime
from fairlead.errors import MessageError
from fairlead.rows import REDELIVERED
from fairlead.store.clusters.changing import make_due
from fairlead.store.clusters.completing import complete
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.events import (
    latest_number,
    moment,
    set_row,
    write_choice_run,
    write_event,
)
from fairlead.store.clusters.forwarding import NOWHERE, OnwardRoute
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.state import (
    EXACT,
    LOGGED,
    NO_PART,
    NOBODY,
    TICKET,
    ChoiceRun,
    ClusterRow,
    Running,
    Version,
    forward,
    read_choice_run,
    read_row,
    read_version,
    revision,
    running,
)
from fairlead.store.database.port import Database, Row

DECIDED: Final = "decided"
BOUND: Final = "bound"
"""In an event of a decision: the message went where its group went."""
_ENCODER: Final = json.JSONEncoder(default=str)
UNREAD: Final = ATTRIBUTES - {"cluster"}
"""What a message can say whether anybody reads it or not."""


class ChoiceRequest(NamedTuple):
    """What is asked of a cluster."""

    cluster: str
    message: Mapping[str, object]
    """Its routing attributes."""
    now: int | None
    """Of a clock of the user's own, in microseconds."""
    actor: str
    id: str = ""
    """The message's, for the journal."""
    route: OnwardRoute = NOWHERE
    """Where it is to go, beyond what the policy reads."""


class Choices:
    """What one transaction chooses."""

    def __init__(self, database: Database, memory: ClusterMemory, run: int | None = None) -> None:
        """`memory`: of the store. `run`: the number of the run of many messages, if it is one."""
        self._database = database
        self._memory = memory
        self._run = run

    def decide(self, request: ChoiceRequest) -> tuple[Version, StoreDecision]:
        """Choose, count and journal; also the version that decided. Raises MessageError."""
        if _is_control(request):
            return self._control(request)
        row = self._row(request)
        self._memory.remember_rule(row)
        now = moment(self._database, row, request.now)
        if row.due is not None and row.due <= now:
            make_due(self._database, request.cluster, now, request.actor, uncounted=row)
            row = self._row(request)
        version = self._memory.version(self._database, row)
        check_names(request.message, version)
        if version.made_ahead:
            _, turn, id_, version = self._look_up(row, version, request)
            decided, bound = _decided_ahead(version, turn, id_), False
        else:
            decided, bound = self._ask(
                row, request, lambda runtime: runtime.choose(request.message)
            )
        detail = BOUND if bound else None
        return version, self._journal(request, version, now, decided, detail)

    def decide_again(self, request: ChoiceRequest, sequence: int) -> tuple[Version, StoreDecision]:
        """Choose for a message whose destination has failed; it keeps its place in its stream.

        Where nobody is left, nothing is journaled, and the outcome says how the message ends.
        """
        row = self._row(request)
        now = moment(self._database, row, request.now)
        if row.due is not None and row.due <= now:
            make_due(self._database, request.cluster, now, request.actor, uncounted=row)
            row = self._row(request)
        version = self._memory.version(self._database, row)
        decided, _ = self._ask(
            row, request, lambda runtime: runtime.choose_again(request.message, sequence)
        )
        if not decided.copies:
            return version, decided
        return version, self._journal(request, version, now, decided, REDELIVERED)

    def decide_many(self, requests: Sequence[ChoiceRequest]) -> list[tuple[Version, StoreDecision]]:
        """Choose for messages of one cluster, each after the one before, as `decide` would.

        At one moment, which is the first's. A message that has no destination is not counted and
        not journaled: its decision says by its outcome why. Raises MessageError.
        """
        database, first = self._database, requests[0]
        row = read_row(database, first.cluster, "lock_cluster")
        self._memory.remember_rule(row)
        now = moment(database, row, first.now)
        if row.due is not None and row.due <= now:
            make_due(database, first.cluster, now, first.actor)
            row = read_row(database, first.cluster, "lock_cluster")
        version = self._memory.version(database, row)
        facts = [*_facts_of_many(version, (request.message for request in requests))]
        every = self._many_ahead if version.made_ahead else self._many_asked
        return self._journal_many(now, requests, facts, every(row, version, requests))

    def _control(self, request: ChoiceRequest) -> tuple[Version, StoreDecision]:
        """A message that is no work: no destination is chosen for it, and nothing is counted."""
        row = read_row(self._database, request.cluster, "cluster")
        version = self._memory.version(self._database, row)
        check_names(request.message, version)
        now = moment(self._database, row, request.now)
        return version, self._journal(request, version, now, _uncounted(version, CONTROL))

    def _row(self, request: ChoiceRequest) -> ClusterRow:
        """The cluster's row, its choice counted if it is counted there."""
        counted = self._database.run("count_choice", name=request.cluster)
        return (
            ClusterRow(*counted[0])
            if counted
            else read_row(self._database, request.cluster, "cluster")
        )

    # -------- made ahead

    def _look_up(
        self, row: ClusterRow, version: Version, request: ChoiceRequest
    ) -> tuple[ClusterRow, int, int, Version]:
        """The row as it is now, the turn, the destination's id, and the version that chose it."""
        if row.allocation == TICKET:
            ((turn,),) = self._database.run("draw_ticket", cluster=row.id)
            if turn < row.first:  # drawn before a change, looked at after it
                run = read_choice_run(self._database, row, turn)
                version = read_version(self._database, row, run.version)
            else:
                run = self._memory.choice_run(self._database, row)
        else:
            turn = row.turn - 1
            run = self._memory.choice_run(self._database, row)
        choices = run.choices or []
        if turn - run.first < len(choices):
            return row, turn, choices[turn - run.first], version
        row, id_ = self._go_on(row, version, run, turn, request)
        return row, turn, id_, version

    def _go_on(
        self, row: ClusterRow, version: Version, run: ChoiceRun, turn: int, request: ChoiceRequest
    ) -> tuple[ClusterRow, int]:
        """The row, and the destination of a turn beyond the run; the runs up to it are written."""
        write = True
        if row.allocation == TICKET:  # whoever finds the row locked writes nothing
            free = self._database.run("lock_free_cluster", name=row.name)
            same = run.version == row.version and run.first == row.first
            write = bool(free) and same and ClusterRow(*free[0]).first == row.first
        cluster = running(version, run.state)
        while turn - run.first >= len(run.choices or []):
            made = run.choices or []
            forward(cluster, made)
            if write:  # it changes no choice that is made ahead
                complete(self._database, row, cluster, now=request.now, actor=request.actor)
            first = run.first + len(made)
            run = ChoiceRun(first, version.number, 0, cluster.state(), cluster.choices())
            if write:
                now = moment(self._database, row, request.now)
                write_choice_run(self._database, row.id, run, now)
        if write:
            taken = 0 if row.allocation == TICKET else turn - run.first + 1
            row = row._replace(first=run.first, taken=taken)
            set_row(self._database, row)
        return row, (run.choices or [])[turn - run.first]

    def _many_ahead(
        self, row: ClusterRow, version: Version, requests: Sequence[ChoiceRequest]
    ) -> Iterator[tuple[Version, StoreDecision, bool]]:
        """Each message's version and decision, and whether it is bound; the row counts them."""
        counts = row.allocation == EXACT
        for request in requests:
            if _is_control(request):
                yield version, _uncounted(version, CONTROL), False
                continue
            of_next = row._replace(taken=row.taken + 1) if counts else row
            after, turn, id_, chosen_in = self._look_up(of_next, version, request)
            if id_ == NOBODY:
                yield chosen_in, _uncounted(chosen_in, NO_DESTINATION), False
                row = after._replace(taken=after.taken - 1) if counts else after
                continue
            row = after
            yield chosen_in, _decided_ahead(chosen_in, turn, id_), False
        if counts:
            set_row(self._database, row)

    # -------- one by one

    def _ask(
        self, row: ClusterRow, request: ChoiceRequest, choose: Callable[[ClusterRuntime], Decision]
    ) -> tuple[StoreDecision, bool]:
        """What the cluster decided, and whether the message is bound; the new state is written."""
        database = self._database
        now_row, cluster = self._asked(row, request, counted=1)
        if now_row is not row:
            set_row(database, now_row)
        decision = choose(cluster.runtime)
        decided = _decided(cluster, decision)
        cluster.sent.update(id_ for id_, _ in decided.to)
        new, state = revision(), json.dumps(cluster.state())
        database.run("set_state", cluster=row.id, revision=new, state=state)
        self._memory.keep(self._memory.states, row.id, (new, cluster))
        return decided, _is_bound(decision)

    def _asked(
        self, row: ClusterRow, request: ChoiceRequest, *, counted: int
    ) -> tuple[ClusterRow, Running]:
        """The cluster, which knows what was settled; after many choices its state is written down.

        `counted`: choices that the row counts and that are still to be made.
        """
        database = self._database
        cluster = self._memory.running(database, row)
        complete(database, row, cluster, now=request.now, actor=request.actor)
        if row.taken > LOGGED:
            number = latest_number(database)
            run = ChoiceRun(row.turn - counted, row.version, number, cluster.state(), None)
            write_choice_run(database, row.id, run, moment(database, row, request.now))
            row = row._replace(first=run.first, taken=counted)
        cluster.runtime.bindings = KeptBindings(database, row.id, cluster.runtime)
        return row, cluster

    def _many_asked(
        self, row: ClusterRow, version: Version, requests: Sequence[ChoiceRequest]
    ) -> Iterator[tuple[Version, StoreDecision, bool]]:
        """Each message's version and decision, and whether it is bound; the state is written."""
        row, cluster = self._asked(row, requests[0], counted=0)
        state = cluster.runtime.cluster
        drops = any(state.outcome_of(member) != ROUTED for member in range(len(state.members)))
        for request in requests:
            if _is_control(request):
                yield version, _uncounted(version, CONTROL), False
                continue
            decision = _tried(cluster.runtime, request.message, drops=drops)
            decided = _decided(cluster, decision)
            if not decided.copies:
                yield version, _uncounted(version, decision.outcome), False
                continue
            row = row._replace(taken=row.taken + 1)
            for id_, _ in decided.to:
                cluster.sent[id_] += 1
            yield version, decided, _is_bound(decision)
        row = row._replace(revision=revision(), state=json.dumps(cluster.state()))
        set_row(self._database, row)
        self._memory.keep(self._memory.states, row.id, (row.revision, cluster))

    def _journal(
        self,
        request: ChoiceRequest,
        version: Version,
        now: int,
        decision: StoreDecision,
        detail: str | None = None,
    ) -> StoreDecision:
        number = 0
        facts = _facts(version, request.message)
        for columns in _events(request, facts, decision, detail):
            number = write_event(
                self._database,
                time=now,
                kind=DECIDED,
                actor=request.actor,
                cluster=decision.cluster,
                **columns,
            )
        return decision._replace(number=number)

    def _journal_many(
        self,
        now: int,
        requests: Sequence[ChoiceRequest],
        facts: Sequence[MessageFacts],
        decided: Iterable[tuple[Version, StoreDecision, bool]],
    ) -> list[tuple[Version, StoreDecision]]:
        """Write what was decided about each message; with the numbers of the events."""
        every = list(decided)
        rows = [
            [*_events(request, of_message, decision, BOUND if bound else None)]
            if decision.copies or decision.outcome == CONTROL
            else []
            for request, of_message, (_, decision, bound) in zip(
                requests, facts, every, strict=True
            )
        ]
        numbers = iter(self._database.numbers(sum(map(len, rows))) if any(rows) else ())
        events: list[Row] = []
        numbered = []
        for columns, (version, decision, _) in zip(rows, every, strict=True):
            number = 0
            for event in columns:
                number = next(numbers)
                events.append((number, *event.values()))
            numbered.append((version, decision._replace(number=number)))
        first = requests[0]
        if events:
            self._database.many(
                "add_journal_decided",
                events,
                time=now,
                actor=first.actor,
                cluster=first.cluster,
                run=self._run,
            )
        return numbered


class MessageFacts(NamedTuple):
    """What a cluster makes of a message's attributes, whatever it chooses."""

    stream: str
    said: str | None
    """For the journal."""


def _facts(version: Version, message: Mapping[str, object]) -> MessageFacts:
    return MessageFacts(_stream(version, message), as_said(message))


def _facts_of_many(
    version: Version, messages: Iterable[Mapping[str, object]]
) -> Iterator[MessageFacts]:
    """Check messages; of those that say the same, the facts are worked out once.

    Raises MessageError for what a message cannot say, or not so.
    """
    known: dict[tuple[tuple[str, object], ...], MessageFacts] = {}
    for message in messages:
        words = tuple(message.items())
        is_text = all(type(value) is str for _, value in words)  # else True were taken for 1
        facts = known.get(words) if is_text else None
        if facts is None:
            check_names(message, version)
            facts = _facts(version, message)
            if is_text:
                known[words] = facts
        yield facts


def _events(
    request: ChoiceRequest, facts: MessageFacts, decision: StoreDecision, detail: str | None
) -> Iterator[dict[str, object]]:
    """The columns of the events of a decision: one for each destination."""
    message = request.message
    for name, address in decision.copies or ((None, None),):
        yield {
            "group": str(message.get("group") or ""),
            "key": request.id,
            "type": message.get("type") or None,
            "version": decision.version,
            "stream": facts.stream,
            "destination": name,
            "address": address,
            "outcome": decision.outcome,
            "sequence": decision.sequence,
            "said": facts.said,
            "detail": detail,
        }


def _is_control(request: ChoiceRequest) -> bool:
    """Whether the message is no work."""
    return text(request.message, "type") == SET_PRIORITY


def _uncounted(version: Version, outcome: str) -> StoreDecision:
    """A message that goes nowhere, and has no place in its stream."""
    return StoreDecision(None, None, None, outcome, version.cluster.name, version.number, 0, ())


def _tried(runtime: ClusterRuntime, message: Mapping[str, object], *, drops: bool) -> Decision:
    """Choose; where there is no destination, the runtime is as it was.

    `drops`: whether there are destinations at which messages end unrouted.
    """
    before = runtime.dump() if drops else None
    bindings, parts = runtime.bindings, len(runtime.partitions)
    decision = runtime.choose(message)
    if not decision.copies:
        if len(runtime.partitions) > parts:
            runtime.partitions.popitem()  # it began with this message
        if before is None:
            runtime.withdraw(decision)
        else:
            runtime.load(before)
            runtime.bindings = bindings
    return decision


def as_said(message: Mapping[str, object]) -> str | None:
    """What a message says, for the journal."""
    attributes = {name: value for name, value in message.items() if value not in (None, "")}
    return _ENCODER.encode(attributes) if attributes else None


def _decided_ahead(version: Version, turn: int, id_: int) -> StoreDecision:
    runtime = version.start
    if id_ == NOBODY:
        return StoreDecision(None, None, turn, NO_DESTINATION, runtime.name, version.number, 0, ())
    member = version.member_of[id_]
    name, address = runtime.cluster.members[member], runtime.cluster.address(member)
    copies, to = version.to_all
    if not copies:
        copies, to = ((name, address),), ((id_, NO_PART),)
    return StoreDecision(name, address, turn, ROUTED, runtime.name, version.number, 0, copies, to)


def _is_bound(decision: Decision) -> bool:
    """Whether the message went where its group went."""
    return decision.binding is not None and decision.binding.follows


def _decided(running: Running, decision: Decision) -> StoreDecision:
    copies = decision.copies
    return StoreDecision(
        decision.destination,
        decision.address,
        decision.sequence,
        decision.outcome,
        decision.cluster,
        running.version.number,
        0,
        tuple((copy.destination, copy.address) for copy in copies),
        addressed_to(running.version, decision.values, [copy.destination for copy in copies]),
    )


def addressed_to(
    version: Version, values: AttributeValues, names: Iterable[str]
) -> tuple[tuple[int, str], ...]:
    """What a completion names of these destinations. `values`: of the message that went there."""
    cluster = version.start.cluster
    part = json.dumps(cluster.partition(values)) if cluster.policy.partition_by else NO_PART
    return tuple((version.ids[cluster.member_called(name, values)], part) for name in names)


def _stream(version: Version, message: Mapping[str, object]) -> str:
    cluster = version.start.cluster
    values = cluster.values_of(message) if cluster.policy.streams else ()
    parts = (version.cluster.name, *(cluster.stream(values) if values else ()))
    return "/".join(part for part in parts if part)


class KeptBindings(MutableMapping[AttributeValues, int]):
    """What messages are bound to, a row each: groups are as many as customers."""

    def __init__(self, database: Database, cluster: int, runtime: ClusterRuntime) -> None:
        """Of one cluster, in one transaction."""
        self._database = database
        self._cluster = cluster
        self._members = runtime.cluster.members

    def __getitem__(self, key: AttributeValues) -> int:
        rows = self._database.run("binding", cluster=self._cluster, key=json.dumps(key))
        if not rows or rows[0][0] not in self._members:
            raise KeyError(key)
        return self._members.index(rows[0][0])

    def __setitem__(self, key: AttributeValues, member: int) -> None:
        if self.get(key) != member:
            name = self._members[member]
            self._database.run("bind", cluster=self._cluster, key=json.dumps(key), destination=name)

    def __delitem__(self, key: AttributeValues) -> None:
        self._database.run("unbind_opener", cluster=self._cluster, key=json.dumps(key))

    def __iter__(self) -> Iterator[AttributeValues]:
        return iter(())

    def __len__(self) -> int:
        return 0


def check_names(message: Mapping[str, object], version: Version) -> None:
    """Raises MessageError for what a message cannot say, or not so."""
    relevant: Collection[str] = version.start.cluster.relevant_attributes()
    known = (UNREAD | set(relevant)) - {"cluster"}
    for name in message:
        if name not in known:
            raise MessageError(
                f"message: attribute: found {repr_of(name)}, allowed: {listed(sorted(known), 30)}"
                f"{hint(str(name), known)}"
            )
    check(message, relevant)
