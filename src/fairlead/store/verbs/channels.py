"""What a transaction does with queue managers and channels, and what a store does of itself.

What only channels need is imported where it is used: who has queues alone loads no policy.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

from fairlead.balance.objects import Ref, repr_of, shown
from fairlead.errors import MessageError
from fairlead.store.arguments import queue_name
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.outgoing import Sending, outgoing
from fairlead.store.queues.settings import made_queue, read_queue
from fairlead.store.queues.taken_group import Claim
from fairlead.store.verbs.alone import alone
from fairlead.store.verbs.store_verbs import StoreVerbs, TransactionVerbs

if TYPE_CHECKING:
    from fairlead.store.channels.receiving import Arrival, ChannelEnd
    from fairlead.store.channels.rows import Batch, ChannelRow
    from fairlead.store.channels.site import Put, SiteRow

NOTHING: Final[Mapping[str, object]] = {}
WANTED: Final = ("", "stopped", "paused")


class ChannelVerbs(TransactionVerbs):
    """Put, and send and receive batches, in one transaction."""

    @property
    @abstractmethod
    def _engine(self) -> QueueEngine:
        """The verbs of queues."""

    def put(
        self,
        queue: str,
        body: object,
        said: Mapping[str, object] = NOTHING,
        *,
        reply_to: str = "",
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Put a message to a queue that may be at several queue managers, as `Store.put` does."""
        from fairlead.store.channels.site import Address, put

        self._check()
        self._context.check_disk()
        address = Address.of(queue_name(queue))
        now = time_of(self._database, self._context.clock())
        message = outgoing(body, now, **more)
        with self._undone_if_refused():
            return put(self._putting(), address, message, said, reply_to)

    def close_opener(self, queue: str, opener: str) -> None:
        """Whoever had opened a queue has closed it: on-open, it was bound to one way."""
        from fairlead.store.channels.site import Address, close_opener

        self._check()
        address = Address.of(queue_name(queue))
        close_opener(self._database, self._context.memory, address, opener)

    def change_own(self, attribute: str, value: object, queue: str | None = None) -> int:
        """Change this queue manager, or its instance of a queue, and tell all others; how many.

        `attribute`: such as suspended, put_enabled. Raises ChangeError.
        """
        from fairlead.balance.change import Change
        from fairlead.store.channels.site import announce, known_site, own_object

        self._check()
        here = known_site(self._database, "change").name
        asked = Change.at_micros(own_object(here, queue), attribute, value, 0)
        with self._undone_if_refused():
            return announce(self._putting(), asked)

    def form_batch(
        self, channel: str, peer: str, claim: Claim, most: int, longest: int
    ) -> Batch | None:
        """Take the next messages for a channel, and write them down; None: none wait."""
        from fairlead.store.channels.rows import OUT, channel_locked
        from fairlead.store.channels.sending import form_batch

        self._check()
        row = channel_locked(self._database, OUT, channel, peer)
        return form_batch(self._database, self._engine, row, claim, most, longest)

    def confirm_batch(self, channel: str, peer: str, number: int, token: str) -> None:
        """The other end has a batch."""
        from fairlead.store.channels.sending import confirm

        self._check()
        confirm(self._database, channel, peer, number, token)

    def agree(self, channel: str, peer: str, number: int, token: str) -> list[Batch]:
        """The batches that are still to be sent, where the other end has this one last."""
        from fairlead.store.channels.sending import agree

        self._check()
        return agree(self._database, channel, peer, number, token)

    def go_on_behind(self, channel: str, peer: str, number: int, token: str) -> list[Batch]:
        """The same after a reset: whatever the other end has last, it is taken for right."""
        from fairlead.store.channels.sending import reset

        self._check()
        return reset(self._database, channel, peer, number, token)

    def last_batch(self, end: ChannelEnd) -> tuple[int, str]:
        """The number and the name of the last batch that came on a channel."""
        from fairlead.store.channels.receiving import last_batch

        self._check()
        return last_batch(self._database, end)

    def receive_batch(
        self, end: ChannelEnd, claim: Claim, number: int, token: str, content: bytes
    ) -> int:
        """Take in a batch that has come, once; how many of its messages are dead letters here."""
        from fairlead.store.channels.receiving import receive

        self._check()
        self._context.check_disk()
        return receive(self._arrival(claim), end, number, token, content)

    def retry_own(self, end: ChannelEnd, claim: Claim) -> int:
        """Take in anew what was put back from this end's dead letters; how many messages."""
        from fairlead.store.channels.receiving import take_in
        from fairlead.store.channels.sending import settled, taken_back

        self._check()
        messages, ends = taken_back(self._engine, end.channel, claim, claim.most)
        settled(self._engine, end.channel, ends, self._context.actor)
        if messages:
            take_in(self._arrival(claim), end, messages)
        return len(messages)

    def rechoose(self, channel: str, claim: Claim) -> int:
        """Choose anew for messages that wait for a channel and are bound to nothing; how many.

        What is bound waits on, and so does what has no other way.
        """
        from fairlead.store.channels.rechoosing import rechoose

        self._check()
        with self._undone_if_refused():
            return rechoose(self._arrival(claim), channel)

    def want_channel(self, channel: str, wanted: str) -> None:
        """What an operator wants of a channel: "" (it runs when it can), stopped or paused."""
        if wanted not in WANTED:
            raise MessageError(f"channel: found {shown(wanted)}, allowed: '', stopped, paused")
        self._check()
        self._database.run("may_operate")
        if not self._database.run("want_channel", name=channel, wanted=wanted):
            raise _no_channel(self._database, channel)

    def mark_reset(self, channel: str) -> None:
        """The next time that a channel connects, what the other end has last is taken for right."""
        self._check()
        self._database.run("may_operate")
        if not self._database.run("want_channel", name=channel, wanted="reset"):
            raise _no_channel(self._database, channel)

    def set_channel_state(self, channel: str, state: str, cause: str) -> bool:
        """A channel has come into a state; whether that is a change of this one's cluster."""
        from fairlead.balance.change import Change
        from fairlead.store.channels.site import known_site, state_of
        from fairlead.store.clusters.changing import Author, change

        self._check()
        context = self._context
        cluster = known_site(self._database, "channel").cluster
        objects = state_of(self._database, context.memory, cluster).objects
        now = next(obj.state for ref, obj in objects.items() if ref.name == channel)
        if now == state:
            return False
        author = Author(f"{context.actor}, {cause}" if cause else context.actor, context.clock())
        change(self._database, cluster, [Change.at_micros(channel, "state", state, 0)], author)
        return True

    def begin_channel(self, channel: str, peer: str) -> None:
        """There is a channel to another queue manager; "": one that leads here."""
        from fairlead.balance.policies.ibm_mq_objects import transmission_queue
        from fairlead.store.channels.rows import OUT, channel_locked

        self._check()
        queue = transmission_queue(channel)
        if read_queue(self._database, queue, self._context.clock()) is None:
            made_queue(self._database, queue, self._context.clock())
        if peer:
            channel_locked(self._database, OUT, channel, peer)

    def note_channel(self, channel: str, error: str) -> None:
        """Why a channel does not run; "" where it does."""
        self._check()
        now = time_of(self._database, self._context.clock())
        self._database.run("note_channel", name=channel, error=error[:2000], since=now)

    def _putting(self) -> Put:
        from fairlead.store.channels.site import Put

        context = self._context
        return Put(self._database, context.memory, context.clock(), context.actor)

    def _arrival(self, claim: Claim) -> Arrival:
        from fairlead.store.channels.receiving import Arrival

        context = self._context
        return Arrival(
            *(self._database, context.memory, self._engine, claim),
            now=context.clock(),
            actor=context.actor,
        )


class OpenedQueue(NamedTuple):
    """A queue that messages are put to, for as long as somebody has it open."""

    goes_by_cluster: bool
    """Whether the cluster decides; else it is a queue of this store."""


class StoreChannels(StoreVerbs):
    """The same, each in a transaction of its own."""

    def put(
        self,
        queue: str,
        body: object,
        said: Mapping[str, object] = NOTHING,
        *,
        reply_to: str = "",
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Put a message to a queue that may be at several queue managers.

        This store's queue manager chooses by its cluster: a local instance, else a channel, in
        whose transmission queue the message waits. `queue`: its name, or QUEUE@QUEUE_MANAGER.
        `said`: `bind` and `producer`, who has opened the queue. `reply_to`: a queue for the answer,
        of this queue manager unless it names another. `more`: as `send` takes it. Raises
        MessageError, NoDestinationError.
        """
        return self._put(queue, body, said, reply_to=reply_to, **more)

    _put = alone(ChannelVerbs.put)
    close_opener = alone(ChannelVerbs.close_opener)
    change_own = alone(ChannelVerbs.change_own)
    want_channel = alone(ChannelVerbs.want_channel)
    mark_reset = alone(ChannelVerbs.mark_reset)
    set_channel_state = alone(ChannelVerbs.set_channel_state)
    begin_channel = alone(ChannelVerbs.begin_channel)
    note_channel = alone(ChannelVerbs.note_channel)
    form_batch = alone(ChannelVerbs.form_batch)
    confirm_batch = alone(ChannelVerbs.confirm_batch)
    agree = alone(ChannelVerbs.agree)
    go_on_behind = alone(ChannelVerbs.go_on_behind)
    last_batch = alone(ChannelVerbs.last_batch)
    receive_batch = alone(ChannelVerbs.receive_batch)
    retry_own = alone(ChannelVerbs.retry_own)
    rechoose = alone(ChannelVerbs.rechoose)

    def queue_manager(self) -> SiteRow | None:
        """Whose store this is, and which process serves it; None: no queue manager's."""
        from fairlead.store.channels.site import site

        with self._connection() as database:
            return site(database)

    def serve_queue_manager(self, name: str, cluster: str) -> None:
        """This process serves a queue manager from now on. Raises MessageError."""
        holder = self._leases.holder()
        with self._writing() as database:
            from fairlead.store.channels.site import site

            row = site(database)
            if row is not None and row.name != name:
                raise MessageError(
                    f"queue manager: found {repr_of(name)}, allowed: {row.name!r}, whose store "
                    f"{self.place} is"
                )
            if row is not None and self._leases.lives(row.holder, row.host, row.pid):
                raise MessageError(
                    f"queue manager {name!r}: found another server of this store that has it "
                    f"({row.host}:{row.pid}), allowed: one"
                )
            database.run("put_queue_manager", name=name, cluster=cluster, holder=holder)

    def has_batches(self, channel: str) -> bool:
        """Whether batches were formed for a channel that are not confirmed."""
        from fairlead.store.channels.rows import batches

        with self._connection() as database:
            return bool(batches(database, channel))

    def channels(self) -> list[ChannelRow]:
        """All ends of channels of this store, those that send first."""
        from fairlead.store.channels.rows import channels

        with self._connection() as database:
            return channels(database)

    def wanted_channels(self) -> dict[str, str]:
        """Name → what an operator wants of it, of the channels of which he wants something."""
        with self._connection() as database:
            return dict(database.run("wanted_channels"))

    def channel_states(self) -> dict[str, str]:
        """Name → state, of the channels on which this queue manager sends."""
        from fairlead.store.channels.site import known_site, state_of

        with self._connection() as database:
            cluster = known_site(database, "channels").cluster
            state = state_of(database, self._context.memory, cluster)
        return {ref.name: obj.state for ref, obj in state.objects.items() if ref.kind == "channel"}

    def is_suspended(self) -> bool:
        """Whether this queue manager is suspended: others send to it only where they have to."""
        from fairlead.balance.policies.ibm_mq import QUEUE_MANAGER
        from fairlead.store.channels.site import known_site, state_of

        with self._connection() as database:
            row = known_site(database, "queue manager")
            state = state_of(database, self._context.memory, row.cluster)
        return bool(state.objects[Ref(QUEUE_MANAGER, row.name)].suspended)

    def opened_queue(self, queue: str) -> OpenedQueue:
        """What is put to by this name."""
        from fairlead.store.channels.site import Address, goes_by_cluster, site, state_of

        with self._connection() as database:
            row = site(database)
            if row is None:
                return OpenedQueue(goes_by_cluster=False)
            state = state_of(database, self._context.memory, row.cluster)
            address = Address.of(queue)
            return OpenedQueue(goes_by_cluster(state, row.name, address))


def _no_channel(database: Database, channel: str) -> MessageError:
    from fairlead.store.channels.rows import OUT, channels

    names = [row.name for row in channels(database) if row.direction == OUT]
    return MessageError(f"channel: found {repr_of(channel)}, allowed: {', '.join(names) or 'none'}")
