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
from fairlead.store.verbs.alone import alone
from fairlead.store.verbs.channel_moves import ChannelMoves
from fairlead.store.verbs.store_verbs import StoreVerbs, TransactionVerbs

if TYPE_CHECKING:
    from fairlead.store.channels.rows import ChannelRow
    from fairlead.store.channels.site import PutCall, ServedSite

NOTHING: Final[Mapping[str, object]] = {}
WANTED: Final = ("", "stopped", "paused", "reset")


class ChannelVerbs(TransactionVerbs):
    """Put to queues that may be elsewhere, and operate channels, in one transaction."""

    @property
    @abstractmethod
    def _engine(self) -> QueueEngine:
        """The verbs of queues."""

    def put(
        self,
        queue: str,
        body: object,
        message: Mapping[str, object] = NOTHING,
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Put a message to a queue that may be at several queue managers, as `Store.put` does."""
        from fairlead.store.channels.site import PutAddress, put

        self._check()
        self._context.check_disk()
        address = PutAddress.of(queue_name(queue))
        now = time_of(self._database, self._context.clock())
        new_message = outgoing(body, now, **more)
        with self._undone_if_refused():
            return put(self._putting(), address, new_message, message)

    def close_opener(self, queue: str, opener: str) -> None:
        """Whoever had opened a queue has closed it: on-open, it was bound to one way."""
        from fairlead.store.channels.site import PutAddress, close_opener

        self._check()
        address = PutAddress.of(queue_name(queue))
        close_opener(self._database, self._context.memory, address, opener)

    def change_own(self, attribute: str, value: object, queue: str | None = None) -> int:
        """Change this queue manager, or its instance of a queue, and tell all others; how many.

        `attribute`: such as suspended, put_enabled. Raises ChangeError.
        """
        from fairlead.balance.change import Change
        from fairlead.store.channels.site import announce, known_site, own_object

        self._check()
        here = known_site(self._database, "change").name
        own_change = Change.at_micros(own_object(here, queue), attribute, value, 0)
        with self._undone_if_refused():
            return announce(self._putting(), own_change)

    def want_channel(self, channel: str, wanted: str) -> None:
        """What an operator wants of a channel: "" (it runs when it can), stopped, paused, or reset.

        After a reset, what the other end has last is taken for right when it connects again. Raises
        MessageError.
        """
        if wanted not in WANTED:
            raise MessageError(
                f"channel: found {shown(wanted)}, allowed: '', {', '.join(WANTED[1:])}"
            )
        self._check()
        self._database.run("may_operate")
        if not self._database.run("want_channel", name=channel, wanted=wanted):
            raise _no_channel(self._database, channel)

    def _putting(self) -> PutCall:
        from fairlead.store.channels.site import PutCall

        context = self._context
        return PutCall(self._database, context.memory, context.clock(), context.actor)


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
        message: Mapping[str, object] = NOTHING,
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Put a message to a queue that may be at several queue managers.

        This store's queue manager chooses by its cluster: a local instance, else a channel, in
        whose transmission queue the message waits. `queue`: its name, or QUEUE@QUEUE_MANAGER.
        `message`: `bind` and `producer`, who has opened the queue. `more`: as `send`
        takes it. Raises MessageError, NoDestinationError.
        """
        return self._put(queue, body, message, **more)

    _put = alone(ChannelVerbs.put)
    close_opener = alone(ChannelVerbs.close_opener)
    change_own = alone(ChannelVerbs.change_own)
    want_channel = alone(ChannelVerbs.want_channel)

    def queue_manager(self) -> ServedSite | None:
        """Whose store this is, and which process serves it; None: no queue manager's."""
        from fairlead.store.channels.site import ServedSite, server_of, site, state_of

        with self._connection() as database:
            row = site(database)
            if row is None:
                return None
            objects = state_of(database, self._context.memory, row.cluster).objects
            holder = server_of(database)
        _, host, pid = holder
        return ServedSite(
            row.name,
            row.cluster,
            server=f"{host}:{pid}" if self._leases.lives(*holder, others=False) else "",
            suspended=bool(objects[Ref("queue_manager", row.name)].suspended),
        )

    def serve_queue_manager(self, name: str, cluster: str) -> None:
        """This process serves a queue manager from now on. Raises MessageError."""
        holder = self._leases.holder()
        with self._writing() as database:
            from fairlead.store.channels.site import server_of, site

            row, server = site(database), server_of(database)
            if row is not None and row.name != name:
                raise MessageError(
                    f"queue manager: found {repr_of(name)}, allowed: {row.name!r}, whose store "
                    f"{self.place} is"
                )
            if self._leases.lives(*server):
                raise MessageError(
                    f"queue manager {name!r}: found another server of this store that has it "
                    f"({server[1]}:{server[2]}), allowed: one"
                )
            database.run("put_queue_manager", name=name, cluster=cluster, holder=holder)

    def channels(self) -> list[ChannelRow]:
        """All ends of channels of this store, those that send first, with their states."""
        from fairlead.store.channels.rows import OUT, channels
        from fairlead.store.channels.site import site, state_of

        with self._connection() as database:
            rows, row = channels(database), site(database)
            if row is None:
                return rows
            objects = state_of(database, self._context.memory, row.cluster).objects
        states = {ref.name: known.state for ref, known in objects.items() if ref.kind == "channel"}
        return [
            end._replace(state=states.get(end.name, "")) if end.direction == OUT else end
            for end in rows
        ]

    @property
    def moving(self) -> ChannelMoves:
        """What whoever runs channels does with them."""
        return ChannelMoves(self._connection, self._writing, self._context)

    def opened_queue(self, queue: str) -> OpenedQueue:
        """What is put to by this name."""
        from fairlead.store.channels.site import PutAddress, goes_by_cluster, site, state_of

        with self._connection() as database:
            row = site(database)
            if row is None:
                return OpenedQueue(goes_by_cluster=False)
            state = state_of(database, self._context.memory, row.cluster)
            address = PutAddress.of(queue)
            return OpenedQueue(goes_by_cluster(state, address))


def _no_channel(database: Database, channel: str) -> MessageError:
    from fairlead.store.channels.rows import OUT, channels

    names = [row.name for row in channels(database) if row.direction == OUT]
    return MessageError(f"channel: found {repr_of(channel)}, allowed: {', '.join(names) or 'none'}")
