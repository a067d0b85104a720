"""The steps of IBM MQ's cluster workload management algorithm that drop candidates, in order.

Source: "The cluster workload management algorithm" of the IBM MQ documentation; each step's text
begins with its number there.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.balance.elimination import Elimination, drop_where, keep_highest
from fairlead.balance.policies.ibm_mq_objects import LADDER, Alias, Channel, Queue


@dataclass(frozen=True, slots=True)
class Put:
    """What the algorithm reads of a message."""

    queue: str
    queue_manager: str
    via_cluster_channel: bool
    pcf: bool
    already_sent: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A destination and what the steps compare of it."""

    member: int
    channel: Channel
    queue: Queue | None
    alias: Alias | None
    suspended: bool
    is_local: bool
    channel_shares_queue_cluster: bool
    channel_shares_local_cluster: bool
    instance_shares_local_cluster: bool

    @property
    def queue_manager(self) -> str:
        """Where it leads to."""
        return self.channel.queue_manager


def _ladder(c: Candidate) -> int:
    return -next(k for k, states in enumerate(LADDER) if c.channel.state in states)


def eliminations(*, literal_step_11: bool) -> tuple[Elimination[Put, Candidate], ...]:
    """The steps; `literal_step_11`: 11a and 11b only where the page says so to the letter."""

    def choosing_queue(put: Put) -> bool:
        return not literal_step_11 or bool(put.queue)

    def choosing_queue_manager(put: Put) -> bool:
        return not literal_step_11 or not put.queue

    return (
        drop_where(
            "put-disabled",
            "1: queues that are not enabled for put are dropped",
            lambda _, c: c.queue is not None and not c.queue.put_enabled,
            lambda _, c: "put_enabled is false",
        ),
        drop_where(
            "cluster-not-shared",
            "1: remote instances in no cluster of the local queue manager are dropped",
            lambda _, c: not c.instance_shares_local_cluster,
            lambda _, c: "the queue is in none of the local queue manager's clusters",
        ),
        drop_where(
            "channel-outside-queue-cluster",
            "1: channels that are not in the queue's cluster are dropped",
            lambda _, c: not c.channel_shares_queue_cluster,
            lambda _, c: "the channel is in none of the queue's clusters",
        ),
        drop_where(
            "alias-put-disabled",
            "2: queue manager aliases that are not enabled for put are dropped",
            lambda _, c: c.alias is not None and not c.alias.put_enabled,
            lambda _, c: "put_enabled of the alias is false",
        ),
        drop_where(
            "channel-outside-local-clusters",
            "2: with a queue manager given, channels in no local cluster are dropped",
            lambda put, c: bool(put.queue_manager) and not c.channel_shares_local_cluster,
            lambda _, c: "the channel is in none of the local queue manager's clusters",
        ),
        drop_where(
            "already-sent",
            "4: queue managers that were already sent this publication are dropped",
            lambda put, c: put.pcf and c.queue_manager in put.already_sent,
            lambda _, c: f"already sent to {c.queue_manager}",
        ),
        keep_highest(
            "lower-rank",
            "4a: channels of a lower rank",
            lambda c: c.channel.rank,
            describe="rank {}".format,
        ),
        keep_highest(
            "lower-alias-rank",
            "4a: then aliases of a lower rank",
            lambda c: c.alias.rank if c.alias else None,
            describe="rank {}".format,
        ),
        keep_highest(
            "lower-queue-rank",
            "4b: then queues of a lower rank",
            lambda c: c.queue.rank if c.queue else None,
            describe="rank {}".format,
        ),
        keep_highest(
            "suspended",
            "5: suspended queue managers, unless all are",
            lambda c: 0 if c.suspended else 1,
            describe=lambda resumed: "resumed" if resumed else "suspended",
        ),
        keep_highest(
            "worse-channel-state",
            "6-9: channels in a worse class of states",
            _ladder,
            describe=lambda rung: " or ".join(LADDER[-rung]),
        ),
        keep_highest(
            "not-manual",
            "10: for a cluster PCF message, others than manual channels, if any is manual",
            lambda c: int(c.channel.manual),
            when=lambda put: put.pcf,
            describe=lambda manual: "manual" if manual else "not manual",
        ),
        keep_highest(
            "lower-network-priority",
            "11: channels of a lower network priority to the same queue manager",
            lambda c: c.channel.network_priority,
            describe="network priority {}".format,
            apart=lambda c: c.queue_manager,
        ),
        keep_highest(
            "lower-priority",
            "11a: channels of a lower priority",
            lambda c: c.channel.priority,
            describe="priority {}".format,
            when=choosing_queue_manager,
        ),
        keep_highest(
            "lower-alias-priority",
            "11a: then aliases of a lower priority",
            lambda c: c.alias.priority if c.alias else None,
            describe="priority {}".format,
            when=choosing_queue_manager,
        ),
        keep_highest(
            "lower-queue-priority",
            "11b: then queues of a lower priority",
            lambda c: c.queue.priority if c.queue else None,
            describe="priority {}".format,
            when=choosing_queue,
        ),
    )
