"""Elsewhere: what was taken of a destination goes back to the choice, and to another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.balance.objects import listed
from fairlead.balance.policies.destinations import DestinationState
from fairlead.errors import MessageError
from fairlead.store.clusters.changing import Author
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.history import RecordedDecision
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.moving import move
from fairlead.store.clusters.publishing import hand_over, handed_over, no_destination
from fairlead.store.clusters.state import Version, read_row, read_version
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage, attributes_of
from fairlead.store.queues.settings import Queue, known_queue
from fairlead.store.queues.settlement import Given
from fairlead.store.queues.taken_group import TakenGroup


def send_elsewhere(
    database: Database,
    memory: ClusterMemory,
    cluster: str,
    queue: str,
    held: TakenGroup,
    given: Sequence[Given],
    author: Author,
) -> list[str]:
    """Choose anew for messages of a group that was taken; where they go now.

    Raises MessageError where the policy would choose the same destination, as it is still one that
    gets messages, and NoDestinationError; then nothing is done.
    """
    version = read_version(database, read_row(database, cluster, "lock_cluster"))
    state = version.start.cluster
    if not isinstance(state, DestinationState):
        raise MessageError(
            f"cluster {cluster!r}: found the policy {state.policy.name}, allowed: one whose "
            "clusters list [[destination]] tables"
        )
    queues = {
        _queue_of(version, member): state.members[member] for member in range(len(state.members))
    }
    if queue not in queues:
        raise MessageError(
            f"cluster {cluster!r}: found work of the queue {queue!r}, allowed: of a queue of its "
            f"destinations: {listed(queues)}"
        )
    row = known_queue(database, queue, author.now)
    choosing = _Choosing(
        database, Choices(database, memory), row, cluster, queues[queue], author, []
    )
    move(database, row, held, given, choosing.end, author)
    return choosing.to


def _queue_of(version: Version, member: int) -> str:
    state = version.start.cluster
    return state.queue(member) or state.members[member]


class _Choosing(NamedTuple):
    """Where messages of one destination go instead."""

    database: Database
    choices: Choices
    queue: Queue
    cluster: str
    destination: str
    author: Author
    to: list[str]
    """The destinations that were chosen so far."""

    def end(self, outgoing: OutgoingMessage) -> str:
        """Choose for one, and send it there; for the journal."""
        attributes = attributes_of(outgoing, self._said(outgoing.key or ""))
        request = ChoiceRequest(
            self.cluster, attributes, self.author.now, self.author.actor, outgoing.key or ""
        )
        self._complete(outgoing.key or "")
        version, decision = self.choices.decide(request)
        if not decision.copies:
            raise no_destination(self.cluster, decision.outcome)
        names = [name for name, _ in decision.copies]
        if self.destination in names:
            raise MessageError(
                f"cluster {self.cluster!r}: found that the policy chooses {self.destination!r} "
                "again, allowed: where that is down, disabled or draining; nothing was done"
            )
        handed = handed_over(self.database, version, decision, request, outgoing)
        hand_over(self.database, [handed])
        self.to.append(names[0])
        return f"elsewhere: it goes to {listed(names)}"

    def _said(self, key: str) -> dict[str, Any]:
        """What was said of a message when it was published, if the journal still has it."""
        rows = self.database.run("decisions_about", cluster=self.cluster, key=key) if key else []
        return RecordedDecision(*rows[0]).message if rows else {}

    def _complete(self, key: str) -> None:
        """The cluster waits for it at the destination no more."""
        at = {"queue": self.queue.id, "key": key}
        for cluster, destination, part, version in self.database.run("published_as", **at):
            self.database.run("unpublish", **at)
            self.database.run(
                "add_completion",
                cluster=cluster,
                destination=destination,
                part=part,
                version=version,
            )
