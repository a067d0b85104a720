"""What whoever runs channels does with them, each in a transaction of its own.

What only channels need is imported where it is used: who has queues alone loads no policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from fairlead.store.context import Context
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.queues.engine import QueueEngine, engine_of
from fairlead.store.queues.settings import made_queue, read_queue
from fairlead.store.queues.taken_group import Claim

if TYPE_CHECKING:
    from fairlead.store.channels.outbox import Relayed
    from fairlead.store.channels.receiving import Arrival, ChannelEnd
    from fairlead.store.channels.rows import ChannelBatch


class _Writing(NamedTuple):
    """A transaction that writes."""

    database: Database
    engine: QueueEngine


class ChannelMoves:
    """Batches of channels, and the states of these. Thread-safe."""

    def __init__(
        self,
        reading: Callable[[], AbstractContextManager[Database]],
        writing: Callable[[], AbstractContextManager[Database]],
        context: Context,
    ) -> None:
        """`Store.moving` makes one."""
        self._reading = reading
        self._begun = writing
        self._context = context

    @contextmanager
    def _writing(self) -> Iterator[_Writing]:
        context = self._context
        with self._begun() as database:
            yield _Writing(database, engine_of(database, context.clock(), context.actor))

    def _arrival(self, writing: _Writing, claim: Claim) -> Arrival:
        from fairlead.store.channels.receiving import Arrival

        context = self._context
        return Arrival(
            *(writing.database, context.memory, writing.engine, claim),
            now=context.clock(),
            actor=context.actor,
        )

    @again
    def begin_channel(self, channel: str, peer: str) -> None:
        """There is a channel to another queue manager; "": one that leads here."""
        from fairlead.balance.policies.ibm_mq_objects import transmission_queue
        from fairlead.store.channels.rows import OUT, channel_locked

        queue, clock = transmission_queue(channel), self._context.clock()
        with self._begun() as database:
            if read_queue(database, queue, clock) is None:
                made_queue(database, queue, clock)
            if peer:
                channel_locked(database, OUT, channel, peer)

    @again
    def set_channel_state(self, channel: str, state: str, cause: str) -> bool:
        """A channel has come into a state; whether that is a change of this one's cluster."""
        from fairlead.store.channels.site import set_state
        from fairlead.store.clusters.changing import Author

        context = self._context
        author = Author(f"{context.actor}, {cause}" if cause else context.actor, context.clock())
        with self._begun() as database:
            return set_state(database, context.memory, channel, state, author)

    @again
    def note_channel(self, channel: str, error: str) -> None:
        """Why a channel does not run; "" where it does."""
        with self._begun() as database:
            now = time_of(database, self._context.clock())
            database.run("note_channel", name=channel, error=error[:2000], since=now)

    def wanted_channels(self) -> dict[str, str]:
        """Name → what an operator wants of it, of the channels of which he wants something."""
        with self._reading() as database:
            return dict(database.run("wanted_channels"))

    @again
    def has_reset(self, channel: str) -> None:
        """A reset that was wanted was done."""
        with self._begun() as database:
            database.run("want_channel", name=channel, wanted="")

    def has_batches(self, channel: str) -> bool:
        """Whether batches were formed for a channel that are not confirmed."""
        from fairlead.store.channels.rows import batches

        with self._reading() as database:
            return bool(batches(database, channel))

    @again
    def form_batch(
        self, channel: str, peer: str, claim: Claim, most: int, longest: int
    ) -> ChannelBatch | None:
        """Take the next messages for a channel, and write them down; None: none wait."""
        from fairlead.store.channels.rows import OUT, channel_locked
        from fairlead.store.channels.sending import form_batch

        with self._writing() as writing:
            row = channel_locked(writing.database, OUT, channel, peer)
            return form_batch(writing.database, writing.engine, row, claim, most, longest)

    @again
    def confirm_batch(self, channel: str, peer: str, number: int, token: str) -> None:
        """The other end has a batch."""
        from fairlead.store.channels.sending import confirm

        with self._begun() as database:
            confirm(database, channel, peer, number, token)

    @again
    def agree(self, channel: str, peer: str, number: int, token: str) -> list[ChannelBatch]:
        """The batches that are still to be sent, where the other end has this one last."""
        from fairlead.store.channels.sending import agree

        with self._begun() as database:
            return agree(database, channel, peer, number, token)

    @again
    def go_on_behind(self, channel: str, peer: str, number: int, token: str) -> list[ChannelBatch]:
        """The same after a reset: whatever the other end has last, it is taken for right."""
        from fairlead.store.channels.sending import reset

        with self._begun() as database:
            return reset(database, channel, peer, number, token)

    @again
    def last_batch(self, end: ChannelEnd) -> tuple[int, str]:
        """The number and the name of the last batch that came on a channel."""
        from fairlead.store.channels.receiving import last_batch

        with self._begun() as database:
            return last_batch(database, end)

    @again
    def receive_batch(
        self, end: ChannelEnd, claim: Claim, number: int, token: str, content: bytes
    ) -> int:
        """Take in a batch that has come, once; how many of its messages are dead letters here."""
        from fairlead.store.channels.receiving import receive

        self._context.check_disk()
        with self._writing() as writing:
            return receive(self._arrival(writing, claim), end, number, token, content)

    @again
    def retry_own(self, end: ChannelEnd, claim: Claim) -> int:
        """Take in anew what was put back from this end's dead letters; how many messages."""
        from fairlead.store.channels.receiving import take_in
        from fairlead.store.channels.sending import settled, taken_back

        with self._writing() as writing:
            messages, ends = taken_back(writing.engine, end.channel, claim, claim.most)
            settled(writing.engine, end.channel, ends, self._context.actor)
            if messages:
                take_in(self._arrival(writing, claim), end, messages)
            return len(messages)

    @again
    def rechoose(self, channel: str, claim: Claim) -> int:
        """Choose anew for messages that wait for a channel and are bound to nothing; how many.

        What is bound waits on. Raises NoDestinationError, and nothing was done.
        """
        from fairlead.store.channels.rechoosing import rechoose

        with self._writing() as writing:
            return rechoose(self._arrival(writing, claim), channel)

    def outboxes(self) -> list[str]:
        """The outboxes that there are."""
        from fairlead.store.channels.outbox import outboxes

        with self._reading() as database:
            return outboxes(database)

    @again
    def relay(self, outbox: str, claim: Claim) -> Relayed:
        """Put the next messages of an outbox."""
        from fairlead.store.channels.outbox import relay

        self._context.check_disk()
        with self._writing() as writing:
            return relay(self._arrival(writing, claim), outbox)
