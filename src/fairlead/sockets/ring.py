"""Who gets the next message among the peers of one socket. No I/O and no clock here.

The peers are destinations of a cluster, and its policy chooses: `nanomsg`, unless a file says
otherwise. A peer is present while it is connected; one that has gone has failed, and what it held
is lost to it. Where the policy knows a capacity, a completion makes room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairlead.balance.change import FAILED, PRESENT, STATE, UP, Change, ResolvedChange
from fairlead.balance.changes import resolve
from fairlead.balance.cluster import Cluster
from fairlead.balance.decision import Decision
from fairlead.balance.membership import Changed, with_destination, without_destination
from fairlead.balance.message import ATTRIBUTES, ROUTED, Message, not_by_name, text, unknown
from fairlead.balance.objects import Ref, converted
from fairlead.balance.policies.destinations import DISABLED, DRAINING, KIND, WEIGHT_ZERO
from fairlead.balance.runtime import ClusterRuntime
from fairlead.balance.state import AnyState
from fairlead.errors import ChangeError, ConfigError
from fairlead.sockets.journal import Journal, JournalStretch

NOTHING: Final[Message] = {}
NAME: Final = "name"
Lane = tuple[str, ...]
"""What a policy reads of a message. Messages of one lane are sent in order."""
Hurdle = str | Lane
"""What a message waits for: the peer that its group is bound to, or anybody for what it says."""
CAPACITY, READERS, SPEED = "capacity", "readers", "speed"
PRIORITY: Final = "priority"
SAID: Final = (DISABLED.name, DRAINING.name, WEIGHT_ZERO.name)
"""Steps that drop a peer for what its table says, whatever the message and the other peers are."""
AT_ONCE: Final = 1000
"""Messages that a peer works on at once in a replay. A service time is as long as the peer had the
message, so none waits for another there."""
DEFAULT: Final = "sockets"


class Ring:
    """The peers of one socket, by name, and who of them gets the next message.

    Every call says the time, in microseconds; one that is not after the latest is taken as the
    microsecond after it, so that every event has a time of its own.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        state: AnyState | None = None,
        capacity: int = 0,
        journal: bool = False,
    ) -> None:
        """Nobody is known yet.

        `settings`: what a cluster file says beside its destinations; `state`: of that cluster,
        which says what the policy reads as long as nobody is known; `capacity`: of peers that say
        none themselves, where the policy knows one; 0: no limit.
        """
        self.moment = 1
        """Another one whenever something has happened by which somebody may be ready."""
        self.knows_capacity = False
        """Whether the policy itself knows who is busy."""
        self._settings = dict(settings)
        self._capacity = capacity
        self._added: list[dict[str, Any]] = []
        """Who was added, and is not in the cluster yet."""
        self._gone: set[str] = set()
        """Who was forgotten, and is still in the cluster."""
        self._said_before: dict[str, Mapping[str, Any]] = {}
        """Everybody who was ever added, as was said, where a replay has to know."""
        self._ever: dict[str, dict[str, Any]] = {}
        """The same as a cluster has them."""
        self._described: Cluster | None = None
        """They, as a cluster; None where there are more by now."""
        self._cluster: Cluster | None = None
        self._runtime: ClusterRuntime | None = None
        self._state: AnyState | None = None
        self._read: tuple[str, ...] = ()
        """What the policy reads of a message."""
        self._known = ATTRIBUTES
        """What a message can say of itself."""
        if state is not None:
            self._reads(state)
        self._busy: set[str] = set()
        self._journal = Journal() if journal else None
        self._now = 0

    @property
    def cluster(self) -> Cluster | None:
        """As its file would describe it, with every peer there ever was, none of them connected.

        Without a journal, only those that were not forgotten. None as long as there was none.
        """
        self.let_in()
        if self._journal is None or self._cluster is None:
            return self._cluster
        if self._described is None:
            plain = {**self._settings, KIND: [*self._ever.values()]}
            self._described = Cluster.from_dict(plain, default_name=DEFAULT)
        return self._described

    @property
    def weighs_held(self) -> bool:
        """Whether each completion can change the next choice, also of a peer that is not busy."""
        return self._runtime is not None and self._runtime.cluster.rule.weighs_held

    def add(self, *tables: Mapping[str, Any]) -> None:
        """More peers, which are not connected yet, each as a `[[destination]]` describes it.

        They can join when they were let in. Raises ConfigError, also for a policy that lists no
        destinations.
        """
        plain = {**self._settings, KIND: [*map(_absent, tables)]}
        cluster = Cluster.from_dict(plain, default_name=DEFAULT)
        self.knows_capacity = _knows_capacity(cluster)
        if self._capacity and self.knows_capacity:
            for table in plain[KIND]:
                table[CAPACITY] = table.get(CAPACITY) or self._capacity
            cluster = Cluster.from_dict(plain, default_name=DEFAULT)
        if self._runtime is None or self._cluster is None:
            self._cluster = cluster
            self._go_on(ClusterRuntime(cluster.name, cluster.start()))
        else:
            self._added += plain[KIND]
        if self._journal is not None:
            self._described = None
            self._said_before.update({table[NAME]: table for table in tables})
            self._ever.update({table[NAME]: table for table in plain[KIND]})

    def said_before(self, name: str) -> Mapping[str, Any] | None:
        """What was said of a peer that may be gone, and that a journal has; None for no such."""
        return self._said_before.get(name)

    def forget(self, *names: str) -> None:
        """These peers were disconnected for good.

        Where a replay counts what each was given in all, they stay.
        """
        if self._cluster is not None and (self._journal is None or not self._cluster.policy.counts):
            self._added = [table for table in self._added if table[NAME] not in names]
            self._gone.update({*names} & self._cluster_names())

    def _cluster_names(self) -> set[str]:
        return {*self._runtime.cluster.named} if self._runtime is not None else set()

    def knows(self, name: str) -> bool:
        """Whether this peer was let in already, if it was added."""
        runtime = self._runtime
        return runtime is not None and name in runtime.cluster.named and name not in self._gone

    def level(self, name: str) -> int | None:
        """The priority of a peer, as far as what is said of it lets it be chosen."""
        if self._runtime is None or not self.knows(name) or self.left_out(name)[0]:
            return None
        priority: int = getattr(self._runtime.cluster.objects[Ref(KIND, name)], PRIORITY, 0)
        return priority

    def left_out(self, name: str) -> tuple[str, str]:
        """The step of the policy by which a peer gets nothing new, and why; two "" for none.

        Of what is said of it, whether or not it is connected.
        """
        if self._runtime is None or not self.knows(name):
            return "", ""
        peer = self._runtime.cluster.objects[Ref(KIND, name)]
        for step in self._runtime.cluster.eliminations():
            if step.name in SAID and not step.keep(None, [peer]):
                return step.name, step.because(None, peer, [])
        return "", ""

    def let_in(self) -> None:
        """Let in all who were added. It costs the more the more peers there are: do it seldom."""
        if not self._added or self._runtime is None or self._cluster is None:
            return
        staying = {*self._runtime.cluster.named} - self._gone
        if staying or not self._gone:
            state = self._runtime.settled()
            changed = without_destination(self._cluster, state, *self._gone)
            changed = with_destination(changed.cluster, changed.state, *self._added)
            self._cluster = changed.cluster
            self._go_on(self._runtime.with_destinations(changed))
        else:
            plain = {**self._settings, KIND: self._added}
            self._cluster = Cluster.from_dict(plain, default_name=DEFAULT)
            self._go_on(
                self._runtime.with_destinations(Changed(self._cluster, self._cluster.start()))
            )
        self._added = []
        self._gone.clear()

    def _go_on(self, runtime: ClusterRuntime) -> None:
        self._runtime = runtime
        self._reads(runtime.cluster)
        self.moment += 1

    def _reads(self, state: AnyState) -> None:
        self._state = state
        self._read = tuple(state.relevant_attributes())
        self._known = ATTRIBUTES.union(self._read)

    def check(self, message: Message) -> None:
        """Whether a message says what it can say. Raises MessageError, as `Balancer.choose`."""
        try:
            known = message.keys() <= self._known
        except (AttributeError, TypeError):
            raise not_by_name(message) from None
        if not known:
            raise unknown(message, self._known)
        for name in self._read:
            text(message, name)

    def lane(self, message: Message) -> Lane:
        """Where a message waits, which was checked."""
        if self._state is None or not self._read:
            return ()
        return (*self._state.values_of(message), *(self._group(message) or ()))

    def hurdle(self, message: Message) -> Hurdle:
        """What a message waits for, if it has to."""
        if self._state is None:
            return ()
        return self._holder(message) or self._state.values_of(message)

    def _group(self, message: Message) -> Lane | None:
        """What the message is bound by, if it is."""
        state = self._state
        if state is None or not state.binds:
            return None
        return state.binding(state.values_of(message), message)

    def _holder(self, message: Message) -> str:
        """The busy peer to which the message's group is bound, if there is one."""
        key = self._group(message) if self._busy else None
        if key is None or self._runtime is None or key not in self._runtime.bindings:
            return ""
        name = self._runtime.cluster.members[self._runtime.bindings[key]]
        return name if name in self._busy else ""

    @property
    def due(self) -> int | None:
        """When something will change of itself, in microseconds."""
        return self._runtime.cluster.follow_ups.next if self._runtime else None

    def make_due(self, now: int) -> None:
        """Make what is due by then."""
        self._tick(now)

    def choose(
        self, now: int, message: Message = NOTHING, first: str = "", attempt: int = 1
    ) -> Decision | None:
        """Who gets the message, counted; None, and nothing counted, where it has to wait.

        A group waits for its peer while that is busy: it is there, and holds what came before.
        `first`, `attempt`: where it was sent before, the id of its first row in the journal, and
        how often with this one.
        """
        runtime = self._runtime
        if runtime is None or (self._busy and self._holder(message)):
            return None
        self._tick(now)
        decision = runtime.choose(message)
        if decision.outcome != ROUTED:
            runtime.withdraw(decision)
            return None
        if self._journal is not None:
            self._journal.chosen(decision, message, self._now, first, attempt)
        return decision

    def completed(self, now: int, decision: Decision) -> None:
        """The peer has room again for what it took of this message."""
        self._tick(now)
        if self._runtime is not None:
            self._runtime.completed(decision, decision.destination or "")
            if self.knows_capacity:
                self.moment += 1
        if self._journal is not None:
            self._journal.completed(decision, self._now)

    def joined(self, now: int, name: str) -> None:
        """A peer is connected."""
        self._busy.discard(name)
        self._set(now, name, (STATE, UP[0]), (PRESENT, True))

    def failed(self, now: int, name: str) -> None:
        """A peer has gone, with whatever it held."""
        self._busy.discard(name)
        self._set(now, name, (STATE, FAILED), (PRESENT, False))
        if self._journal is not None:
            self._journal.lost(name, self._now)

    def busy(self, now: int, name: str) -> None:
        """A peer takes nothing for now, and keeps what it has."""
        self._busy.add(name)
        self._set(now, name, (PRESENT, False))

    def ready(self, now: int, name: str) -> None:
        """A peer that was busy takes messages again."""
        self._busy.discard(name)
        self._set(now, name, (PRESENT, True))

    def change(self, now: int, *changes: Change) -> None:
        """Change the cluster, as one step. Raises ChangeError."""
        if self._runtime is None:
            raise ChangeError("change: found no endpoint, allowed: one of an endpoint")
        states = {self._runtime.name: self._runtime.cluster}
        for _, _, resolved in resolve(states, changes):
            self._apply(now, resolved)

    def recorded(self, *, end: bool = False) -> JournalStretch:
        """What has happened since this was last asked; needs a journal.

        `end`: nothing more will happen, and messages that were not completed are given, too.
        """
        if self._journal is None:
            return JournalStretch([], [])
        return self._journal.take(self._now + 1 if end else None)

    def _set(self, now: int, name: str, *values: tuple[str, object]) -> None:
        ref = Ref(KIND, name)
        self._apply(now, [ResolvedChange(ref, attribute, value) for attribute, value in values])

    def _apply(self, now: int, changes: Sequence[ResolvedChange]) -> None:
        self._tick(now)
        if self._runtime is not None:
            self._runtime.apply(changes, self._now)
            self.moment += 1
        if self._journal is not None:
            self._journal.changed(changes, self._now)

    def _tick(self, now: int) -> None:
        """Go on to a time, making what is due until then."""
        self._now = now if now > self._now else self._now + 1
        runtime = self._runtime
        if runtime is not None:
            while (due := runtime.cluster.follow_ups.next) is not None and due <= self._now:
                runtime.apply([], due)
                self.moment += 1


def _absent(table: Mapping[str, Any]) -> dict[str, Any]:
    """Nobody is connected; how fast a peer is, and on how much at once, is seen, not said."""
    attributes = {key: value for key, value in table.items() if key != SPEED}
    return {**attributes, READERS: min(table.get(CAPACITY) or AT_ONCE, AT_ONCE), PRESENT: False}


def _knows_capacity(cluster: Cluster) -> bool:
    """Whether its policy asks who is busy; where groups stay with a peer it does not."""
    options = getattr(cluster.tables, "options", None)
    if getattr(options, "affinity", "none") != "none":
        return False
    table = cluster.policy.kinds[KIND]
    if CAPACITY not in table.__struct_fields__:
        return False
    try:
        converted(table, CAPACITY, 1)
    except ConfigError:  # msmq has the key, and allows 0 only
        return False
    return True
