"""The steps of IBM MQ's cluster workload management algorithm that drop candidates, in order.

Source: "The cluster workload management algorithm" of the IBM MQ documentation; each step's text
begins with its number there.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.balance.elimination import Elimination, drop_where, keep_highest
from fairlead.balance.policies.ibm_mq_objects import LADDER, Alias, Channel, QueueInstance


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
    queue: QueueInstance | None
    alias: Alias | None
    suspended: bool
    is_local: bool
    channel_shares_queue_cluster: bool
    channel_shares_local_cluster: bool
    instance_shares_local_cluster: bool
    alias_shares_local_cluster: bool

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
            "queues that are not enabled for put are dropped (IBM's step 1)",
            lambda _, c: c.queue is not None and not c.queue.put_enabled,
            lambda _, c: "put_enabled is false",
        ),
        drop_where(
            "cluster-not-shared",
            "remote instances in no cluster of the local queue manager are dropped (IBM's step 1)",
            lambda _, c: not c.instance_shares_local_cluster,
            lambda _, c: "the queue is in none of the local queue manager's clusters",
        ),
        drop_where(
            "channel-outside-queue-cluster",
            "channels that are not in the queue's cluster are dropped (IBM's step 1)",
            lambda _, c: not c.channel_shares_queue_cluster,
            lambda _, c: "the channel is in none of the queue's clusters",
        ),
        drop_where(
            "alias-put-disabled",
            "queue manager aliases that are not enabled for put are dropped (IBM's step 2)",
            lambda _, c: c.alias is not None and not c.alias.put_enabled,
            lambda _, c: "put_enabled of the alias is false",
        ),
        drop_where(
            "alias-cluster-not-shared",
            "aliases in no cluster of the local queue manager are dropped (IBM's step 2)",
            lambda _, c: not c.alias_shares_local_cluster,
            lambda _, c: "the alias is in none of the local queue manager's clusters",
        ),
        drop_where(
            "channel-outside-local-clusters",
            "with a queue manager given, channels in no local cluster are dropped (IBM's step 2)",
            lambda put, c: bool(put.queue_manager) and not c.channel_shares_local_cluster,
            lambda _, c: "the channel is in none of the local queue manager's clusters",
        ),
        drop_where(
            "already-sent",
            "queue managers that were already sent this publication are dropped (IBM's step 4)",
            lambda put, c: put.pcf and c.queue_manager in put.already_sent,
            lambda _, c: f"already sent to {c.queue_manager}",
        ),
        keep_highest(
            "lower-rank",
            "channels of a lower rank (IBM's step 4a)",
            lambda c: c.channel.rank,
            describe="rank {}".format,
        ),
        keep_highest(
            "lower-alias-rank",
            "then aliases of a lower rank (IBM's step 4a)",
            lambda c: c.alias.rank if c.alias else None,
            describe="rank {}".format,
        ),
        keep_highest(
            "lower-queue-rank",
            "then queues of a lower rank (IBM's step 4b)",
            lambda c: c.queue.rank if c.queue else None,
            describe="rank {}".format,
        ),
        keep_highest(
            "suspended",
            "suspended queue managers, unless all are (IBM's step 5)",
            lambda c: 0 if c.suspended else 1,
            describe=lambda resumed: "resumed" if resumed else "suspended",
        ),
        keep_highest(
            "worse-channel-state",
            "channels in a worse class of states (IBM's steps 6-9)",
            _ladder,
            describe=lambda rung: " or ".join(LADDER[-rung]),
        ),
        keep_highest(
            "not-manual",
            "for a cluster PCF message, channels that are not manual, if any is (IBM's step 10)",
            lambda c: int(c.channel.manual),
            when=lambda put: put.pcf,
            describe=lambda manual: "manual" if manual else "not manual",
        ),
        keep_highest(
            "lower-network-priority",
            "channels of a lower network priority to the same queue manager (IBM's step 11)",
            lambda c: c.channel.network_priority,
            describe="network priority {}".format,
            apart=lambda c: c.queue_manager,
        ),
        keep_highest(
            "lower-priority",
            "channels of a lower priority (IBM's step 11a)",
            lambda c: c.channel.priority,
            describe="priority {}".format,
            when=choosing_queue_manager,
        ),
        keep_highest(
            "lower-alias-priority",
            "then aliases of a lower priority (IBM's step 11a)",
            lambda c: c.alias.priority if c.alias else None,
            describe="priority {}".format,
            when=choosing_queue_manager,
        ),
        keep_highest(
            "lower-queue-priority",
            "then queues of a lower priority (IBM's step 11b)",
            lambda c: c.queue.priority if c.queue else None,
            describe="priority {}".format,
            when=choosing_queue,
        ),
    )
