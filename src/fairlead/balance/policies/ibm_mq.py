"""IBM MQ's cluster workload management algorithm, its twelve steps in order.

Source: "The cluster workload management algorithm" of the IBM MQ documentation. A candidate is a
pair of a queue instance or a queue manager alias and a channel; the rule's members are the
channels, because sequence factor and number belong to the channel and are shared by all queues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from fairlead.balance.elimination import Elimination, Preselected
from fairlead.balance.message import NO_DESTINATION, PUT_INHIBITED, UNKNOWN_QUEUE, AttributeValues
from fairlead.balance.objects import Object, Ref, special
from fairlead.balance.policies.ibm_mq_objects import (
    LOCAL,
    Alias,
    Channel,
    IbmMqTables,
    LocalQueueManager,
    QueueInstance,
    Remote,
    check,
    transmission_queue,
    workload,
)
from fairlead.balance.policies.ibm_mq_steps import Candidate, Put, eliminations
from fairlead.balance.policy import Policy
from fairlead.balance.rules import least_served
from fairlead.balance.rules.least_served import LeastServed
from fairlead.balance.state import ClusterState
from fairlead.balance.words.cluster_state import Description

STEPS_1_AND_2 = 6
QUEUE_MANAGER, CHANNEL, QUEUE, ALIAS = "queue_manager", "channel", "queue", "alias"

NAMES_NOTHING = "the message names neither a queue nor a queue manager, and there {}"


class IbmMqState(ClusterState[IbmMqTables, Put, Candidate]):
    """The least used channel of those that the steps leave."""

    binds = True
    forwards = True

    def __init__(self, policy: Policy, tables: IbmMqTables) -> None:
        """No channel has been used yet."""
        self.local_name = tables.queue_manager.name
        super().__init__(policy, tables)
        check(tables)
        self.local = Ref(QUEUE_MANAGER, self.local_name)
        """The local queue manager."""
        self._refs = channels = sorted(
            (ref for ref in self.objects if ref.kind == CHANNEL), key=lambda ref: ref.name
        )
        self._local_channel = Channel(name=LOCAL, queue_manager=self.local_name)
        self._index = {ref.name: i for i, ref in enumerate(channels)}
        self._index[LOCAL] = len(channels)
        self.members = (*(ref.name for ref in channels), LOCAL)
        weights = [self.objects[ref].weight for ref in channels]
        recent = tables.queue_manager.most_recently_used_channels
        self.rule = LeastServed([*weights, self._local_channel.weight], recency=True, recent=recent)
        self._eliminations = eliminations(literal_step_11=tables.options.literal_step_11)
        self._only_queue = self._single_queue()

    def _single_queue(self) -> str:
        names = {ref.name for ref in self.objects if ref.kind == QUEUE}
        return names.pop() if len(names) == 1 else ""

    def object_of(self, member: int) -> Ref:
        return self.local if self.members[member] == LOCAL else self._refs[member]

    def queue_owner(self, member: int) -> Ref:
        ref = self.object_of(member)
        return Ref(QUEUE_MANAGER, ref.owner) if ref.kind == CHANNEL else ref

    def queue(self, member: int) -> str | None:
        """The transmission queue of a channel; what goes to a local queue names it itself."""
        name = self.members[member]
        return None if name == LOCAL else transmission_queue(name)

    def queue_named_by(self, member: int, values: AttributeValues) -> str | None:
        return values[0] if self.members[member] == LOCAL else None

    def listing(self, tables: IbmMqTables) -> Iterable[tuple[Ref, Object]]:
        yield Ref(QUEUE_MANAGER, tables.queue_manager.name), tables.queue_manager
        for remote in tables.remote:
            yield Ref(QUEUE_MANAGER, remote.name), remote
        for channel in tables.channel:
            yield Ref(CHANNEL, channel.name, channel.queue_manager), channel
        for queue in tables.queue:
            yield Ref(QUEUE, queue.name, queue.queue_manager), queue
        for alias in tables.alias:
            yield Ref(ALIAS, alias.name, alias.queue_manager), alias

    # messages

    def normal(self, values: AttributeValues) -> AttributeValues:
        """The only queue, where there is one and a message names nothing."""
        if self._only_queue and not values[0] and not values[1] and values[3] != "true":
            return (self._only_queue, *values[1:])
        return values

    def key(self, values: AttributeValues) -> Put:
        queue, queue_manager, via_cluster_channel, pcf, already_sent = values
        sent = frozenset(part for part in already_sent.split(";") if part)
        return Put(queue, queue_manager, via_cluster_channel == "true", pcf == "true", sent)

    def home(self, values: AttributeValues) -> AttributeValues | None:
        """The names that it gave; what names nothing, and is no publication, opens nothing."""
        queue, queue_manager, _, pcf, _ = values
        return (queue, queue_manager) if queue or queue_manager or pcf == "true" else None

    def bind_default(self, key: Put) -> str:
        for ref, queue in self.objects.items():
            if ref.kind == QUEUE and ref.name == key.queue:
                bind: str = queue.bind
                return bind
        return "not-fixed"

    # candidates

    def candidates(self, key: Put) -> tuple[list[Candidate], str]:
        if key.pcf:
            local = self.objects[self.local]
            every = [
                self._remote(channel, None, None)
                for channel in self._channels()
                if _meet(self._clusters(channel), local.clusters)
                and _meet(self._of(channel.queue_manager), local.clusters)
            ]
            return every, NO_DESTINATION
        if key.queue:
            return self.for_queue(key)
        if key.queue_manager:
            return self._for_queue_manager(key.queue_manager), NO_DESTINATION
        return [], UNKNOWN_QUEUE

    def for_queue(self, key: Put) -> tuple[list[Candidate], str]:
        """The ways to the instances of a queue, and the outcome if there are none."""
        instances = [
            queue
            for ref, queue in self.objects.items()
            if ref.kind == QUEUE and ref.name == key.queue and self._there(queue)
        ]
        if not instances:
            return [], UNKNOWN_QUEUE
        if not any(instance.put_enabled for instance in instances):
            return [], PUT_INHIBITED
        ways: list[Candidate] = []
        for queue in instances:
            for alias in self._routes(key.queue_manager, queue.queue_manager):
                ways += self._ways(queue.queue_manager, queue, alias)
        return ways, NO_DESTINATION

    def _routes(self, wanted: str, queue_manager: str) -> list[Alias | None]:
        """How a queue manager name leads to this queue manager: as itself, by aliases."""
        if not wanted:
            return [None]
        itself: list[Alias | None] = [None] if wanted == queue_manager else []
        return itself + [
            alias for alias in self._aliases(wanted) if alias.queue_manager == queue_manager
        ]

    def _for_queue_manager(self, name: str) -> list[Candidate]:
        ways = self._ways(name, None, None) if self._known(name) else []
        for alias in self._aliases(name):
            ways += self._ways(alias.queue_manager, None, alias)
        return ways

    def _ways(
        self, queue_manager: str, queue: QueueInstance | None, alias: Alias | None
    ) -> list[Candidate]:
        if queue_manager == self.local_name:
            return [self._own(queue, alias)]
        return [
            self._remote(channel, queue, alias)
            for channel in self._channels()
            if channel.queue_manager == queue_manager
        ]

    def _own(self, queue: QueueInstance | None, alias: Alias | None) -> Candidate:
        local = self.objects[self.local]
        return Candidate(
            self._index[LOCAL],
            self._local_channel,
            queue,
            alias,
            local.suspended,
            is_local=True,
            channel_shares_queue_cluster=True,
            channel_shares_local_cluster=True,
            instance_shares_local_cluster=True,
            alias_shares_local_cluster=alias is None
            or _meet(self._clusters(alias), local.clusters),
        )

    def _remote(
        self, channel: Channel, queue: QueueInstance | None, alias: Alias | None
    ) -> Candidate:
        local = self.objects[self.local].clusters
        ours = self._clusters(channel)
        theirs = self._clusters(queue) if queue else None
        suspended = self.objects[Ref(QUEUE_MANAGER, channel.queue_manager)].suspended
        return Candidate(
            self._index[channel.name],
            channel,
            queue,
            alias,
            suspended,
            is_local=False,
            channel_shares_queue_cluster=theirs is None or _meet(ours, theirs),
            channel_shares_local_cluster=_meet(ours, local),
            instance_shares_local_cluster=theirs is None or _meet(theirs, local),
            alias_shares_local_cluster=alias is None or _meet(self._clusters(alias), local),
        )

    def _channels(self) -> list[Channel]:
        return [
            channel
            for ref, channel in self.objects.items()
            if ref.kind == CHANNEL and self._there(channel)
        ]

    def _aliases(self, name: str) -> list[Alias]:
        return [
            alias
            for ref, alias in self.objects.items()
            if ref.kind == ALIAS and ref.name == name and self._there(alias)
        ]

    def _known(self, queue_manager: str) -> bool:
        manager = self.objects.get(Ref(QUEUE_MANAGER, queue_manager))
        return manager is not None and manager.present

    def _there(self, each: Channel | QueueInstance | Alias) -> bool:
        return each.present and self._known(each.queue_manager)

    def _of(self, queue_manager: str) -> list[str]:
        names = self.objects[Ref(QUEUE_MANAGER, queue_manager)].clusters
        clusters: list[str] = self.objects[self.local].clusters if names is UNSET else names
        return clusters

    def _clusters(self, each: Channel | QueueInstance | Alias) -> list[str]:
        return self._of(each.queue_manager) if each.clusters is UNSET else each.clusters

    # steps

    def eliminations(self) -> Sequence[Elimination[Put, Candidate]]:
        return self._eliminations

    def member(self, candidate: Candidate) -> int:
        return candidate.member

    def preselect(self, key: Put, step: str, left: Sequence[Candidate]) -> Preselected | None:
        """Step 3: a local instance may end the algorithm."""
        if step != "channel-outside-local-clusters":
            return None
        local_ways = [c for c in left if c.is_local]
        if not local_ways:
            return None
        member = local_ways[0].member
        if key.via_cluster_channel:
            return Preselected(
                member, "local", "the message came in over a cluster channel (IBM's step 3)"
            )
        if any(c.queue is None and c.alias is None for c in local_ways):
            return Preselected(
                member, "local", "the queue manager given is the local one (IBM's step 3)"
            )
        uses = {c.queue.use_queue for c in local_ways if c.queue}
        if LOCAL in uses:
            return Preselected(member, "local", "the queue's use_queue is local (IBM's step 3)")
        if "queue-manager" in uses and self.objects[self.local].use_queue == LOCAL:
            return Preselected(
                member, "local", "the queue manager's use_queue is local (IBM's step 3)"
            )
        return None

    # changes

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        state = self.rule.state
        if ref.kind == CHANNEL and after.weight != before.weight:
            least_served.reweigh_in_place(state, self._index[ref.name], after.weight)
        if isinstance(after, LocalQueueManager):
            state.setting[least_served.RECENT] = after.most_recently_used_channels

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        """Set all factors to 0 where what is there altered for the workload, or is new."""
        if any(self._altered(ref, old) for ref, old in before.items()) or self._newly_there(before):
            self.reset()

    def _altered(self, ref: Ref, old: Any) -> bool:  # noqa: ANN401
        new = self.objects[ref]
        if ref.kind != CHANNEL or new.manual or not self._there(new):
            return False
        return workload(old) != workload(new)

    def _newly_there(self, before: Mapping[Ref, Any]) -> bool:
        """Whether a channel or queue instance is there that was not, itself or with its home."""
        returned = {
            ref.name
            for ref, old in before.items()
            if ref.kind == QUEUE_MANAGER and self.objects[ref].present and not old.present
        }
        touched = [ref for ref in before if ref.kind in {CHANNEL, QUEUE}]
        if returned:
            touched = [ref for ref in self.objects if ref.kind in {CHANNEL, QUEUE}]
        for ref in touched:
            new = self.objects[ref]
            home = Ref(QUEUE_MANAGER, new.queue_manager)
            home_before = before.get(home, self.objects[home])
            was_there = before.get(ref, new).present and home_before.present
            if self._there(new) and not was_there:
                return True
        return False

    def reset(self) -> None:
        least_served.reset(self.rule.state)

    def refusal(self, attribute: str) -> str | None:
        if attribute == "queue_manager":
            return "it belongs to its queue manager for life; use `present`"
        return None


def _meet(one: Iterable[str], other: Iterable[str]) -> bool:
    return not set(one).isdisjoint(other)


class IbmMqDescription(Description[IbmMqState]):
    """In IBM's words."""

    def effective(self) -> list[str]:
        steps = [f"{e.name}: {e.about}" for e in self.state.eliminations()]
        recent = self.state.objects[self.state.local].most_recently_used_channels
        local = (
            "local: a local instance is chosen at once if use_queue says so, "
            "or if the message came in over a cluster channel (IBM's step 3)"
        )
        rule = (
            "choose least-served: the lowest sequence factor; ties to the least recently used "
            "channel, then by name (IBM's step 12)"
        )
        limit = f"only the {recent} most recently used channels are kept (IBM's step 11c)"
        return [*steps[:STEPS_1_AND_2], local, *steps[STEPS_1_AND_2:], limit, rule]

    def condition(self, member: int, besides: Collection[str] = ()) -> str:
        ref, home = self.state.object_of(member), self.state.queue_owner(member)
        if ref == home:  # the local queue manager, whose clusters are not special
            return ", ".join(special(self.state.objects[ref], ("clusters", *besides)))
        of_its_manager = ", ".join(special(self.state.objects[home]))
        to = f"to {home.name} ({of_its_manager})" if of_its_manager else f"to {home.name}"
        return ", ".join([to, *special(self.state.objects[ref], ("queue_manager", *besides))])

    def label(self, candidate: Candidate) -> str:
        of = f" of {candidate.queue_manager}" if not candidate.is_local else ""
        alias = f" by alias {candidate.alias.name}" if candidate.alias else ""
        return f"{candidate.channel.name}{of}{alias}"

    def no_candidates(self, key: Put) -> str:
        if key.pcf:
            return "no channel is in a cluster of the local queue manager"
        if not key.queue:
            name = key.queue_manager
            if name:
                return f"nothing leads to the queue manager {name!r}"
            queues = any(ref.kind == QUEUE for ref in self.state.objects)
            return NAMES_NOTHING.format("are several queues" if queues else "is no queue")
        outcome = self.state.for_queue(key)[1]
        if outcome == UNKNOWN_QUEUE:
            return f"there is no queue {key.queue!r}"
        if outcome == PUT_INHIBITED:
            return f"no instance of the queue {key.queue!r} is put-enabled"
        return f"no channel leads to an instance of the queue {key.queue!r}"

    def samples(self) -> dict[str, AttributeValues]:
        names = dict.fromkeys(ref.name for ref in self.state.objects if ref.kind == QUEUE)
        if not names:
            return {"a publication": ("", "", "", "true", "")}
        return {f"the queue {name!r}": (name, "", "", "", "") for name in names}


IBM_MQ: Final = Policy(
    name="ibm-mq",
    about="cluster workload management: ranks, channel states, priorities, then weights",
    choose_when="work is put to cluster queues, and ranks, states and priorities steer it",
    choose_when_not="a plain list of machines with weights is all there is",
    tables=IbmMqTables,
    kinds={QUEUE_MANAGER: Remote, CHANNEL: Channel, QUEUE: QueueInstance, ALIAS: Alias},
    also_called={"remote": QUEUE_MANAGER},
    reads=("queue", "queue_manager", "via_cluster_channel", "pcf", "already_sent"),
    streams=("queue",),
    state=IbmMqState,
    description=IbmMqDescription,
)
