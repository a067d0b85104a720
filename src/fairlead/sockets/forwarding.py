"""The two sides of a device: requests come in at the front, and go to workers at the back."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any, Final, Unpack

from fairlead.balance.cluster import Cluster
from fairlead.errors import UserError
from fairlead.sockets.arguments import RequesterOptions, SocketOptions
from fairlead.sockets.base import SHARE
from fairlead.sockets.neighbours import LONGEST, UNLIMITED, Neighbour, Word, heard, sum_of
from fairlead.sockets.peers import EndpointState, SocketPeer
from fairlead.sockets.pending import Pending
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.rep import Rep, Request
from fairlead.sockets.requester import Requester
from fairlead.sockets.ring import CAPACITY, NOTHING
from fairlead.sockets.wire import WORD, Bytes, hop

HOPS: Final = 1 << 31
UNDERWAY: Final = 8
"""Times `buffer`: requests of one requester that workers have; more are not read from it."""
MISSED: Final = 3
"""After so many words of another device that did not come, it hangs."""
SOON: Final = 0.001
"""Seconds after which others are notified of room here."""


class Forwarded(Pending):
    """A request on its way through."""

    __slots__ = ("front", "request")

    def __init__(self, number: int, request: Request, front: Front) -> None:
        """`number`: of the connection that it came by."""
        super().__init__(hop(number) + request.stack, request.raw, NOTHING)
        self.request = request
        self.front = front

    def settle(self, body: Bytes) -> None:
        self.front.answer(self.request.pipe, self.request.stack, body)

    def fail(self, error: UserError) -> None:
        """Whoever asked finds out himself: he sends it again, or the connection is over."""


class Front(Rep):
    """Where requests come in. They wait here, and go to workers in turn."""

    back: Back

    def __init__(self, *, max_ttl: int, **more: Unpack[SocketOptions]) -> None:
        self._latest = 0
        self._numbers: dict[Pipe, int] = {}
        self._pipe_of_number: dict[int, Pipe] = {}
        self._asked: dict[Pipe, dict[bytes, int]] = {}
        """Keys of the requests of each requester that have no reply, with their bytes."""
        self._bytes: Counter[Pipe] = Counter()
        """Of all of these."""
        self._all = 0
        """The bytes of the requests of all requesters that have no reply."""
        self._ahead: set[Pipe] = set()
        """Those of whose requests so many have no reply that nothing more is read from them."""
        self._received: Counter[Pipe] = Counter()
        """Requests that came from each."""
        self._devices: dict[Pipe, str] = {}
        """Requesters that are devices, and which ones."""
        self._announced: dict[Pipe, Word] = {}
        """What they were sent the latest time."""
        self._telling = False
        super().__init__(max_ttl=max_ttl, **more)

    def received(self, pipe: Pipe, messages: list[Bytes]) -> None:
        self._received[pipe] += len(messages)
        super().received(pipe, messages)
        self.forward()
        self.tell_soon()

    def aside(self, pipe: Pipe, frame: bytes) -> None:
        """A device is there; it is answered at once, whatever it knows already."""
        word = heard(frame)
        self._received[pipe] -= 1
        if word is not None:
            self._devices[pipe] = word.device
            self._announced.pop(pipe, None)
            self._tell(pipe)

    def tell_soon(self) -> None:
        """Tell devices that ask here how much can be begun with now, if that is another number."""
        if self._devices and not self._telling:
            self._telling = True
            self._loop.later(SOON, self._tell_all)

    def _tell_all(self) -> None:
        with self.lock:
            self._telling = False
            for pipe in [*self._devices]:
                self._tell(pipe)

    def _tell(self, pipe: Pipe) -> None:
        works, room = self.back.room(self._devices[pipe])
        total = UNLIMITED
        if room != UNLIMITED:
            total = self._received[pipe] + max(0, room - self._sources.count)
        word = Word(self.back.device, works, total)
        if word != self._announced.get(pipe) and pipe.open and self._max_size >= LONGEST:
            self._announced[pipe] = word
            pipe.send(word.frame())

    def device_of(self, pipe: Pipe) -> str:
        """Which device asks by this connection; "" for none."""
        return self._devices.get(pipe, "")

    def forward(self) -> None:
        """Give on what has come, until one has to wait for a worker. The lock is held."""
        while not self.back.waiting and (pair := self._take()) is not None:
            _, request = pair
            self._ask(Forwarded(self._numbers[request.pipe], request, self))

    def _ask(self, forwarded: Forwarded) -> None:
        self.back.ask(forwarded)
        if not self.back.has(forwarded):  # it, or who asked, has gone meanwhile
            return
        pipe, key = forwarded.request.pipe, forwarded.key
        self._count(pipe, key, len(key) + len(forwarded.body))
        if self._is_ahead(pipe, 1):
            self._ahead.add(pipe)
            pipe.read(on=False)

    def _is_here(self, request: Request) -> bool:
        """What was given on already does not wait for its turn: it says that somebody is silent."""
        if super()._is_here(request):
            return True
        forwarded = Forwarded(self._numbers[request.pipe], request, self)
        if forwarded.key not in self._asked[request.pipe]:
            return False
        self._ask(forwarded)
        return True

    def _count(self, pipe: Pipe, key: bytes, size: int) -> None:
        """A request has no reply yet; `size`: 0 where nobody waits for one any more."""
        sizes = self._asked[pipe]
        more = size - sizes.pop(key, 0)
        if size:
            sizes[key] = size
        self._bytes[pipe] += more
        self._all += more

    def _is_ahead(self, pipe: Pipe, divided: int) -> bool:
        """Whether so many requests of a requester, or bytes of all, have no reply."""
        many = len(self._asked[pipe]) > UNDERWAY * self._buffer // divided
        most = self._memory // divided
        return many or self._bytes[pipe] >= most // SHARE or self._all >= most

    def settled(self, pipe: Pipe, key: bytes) -> None:
        """There is nothing more to do for a request."""
        if pipe in self._asked:
            self._count(pipe, key, 0)
        small = self._all < self._memory // 2
        for pipe_ahead in [*self._ahead] if small else [pipe]:
            if pipe_ahead in self._ahead and not self._is_ahead(pipe_ahead, 2):
                self._ahead.discard(pipe_ahead)
                pipe_ahead.read(on=self._reads(pipe_ahead))

    def returned(self, key: bytes, body: Bytes) -> None:
        """A reply for which nobody waits here; the requester knows whether he does."""
        pipe = self._pipe_of_number.get(int.from_bytes(key[: WORD.size]))
        if pipe is not None:
            self.answer(pipe, key[WORD.size :], body)

    def _reads(self, pipe: Pipe) -> bool:
        return super()._reads(pipe) and pipe not in self._ahead

    def _one(self, peer: SocketPeer) -> EndpointState:
        endpoint_state = super()._one(peer)
        pipe = peer.pipe
        if pipe is None or pipe not in self._asked:
            return endpoint_state
        return endpoint_state._replace(held=len(self._of[pipe].items) + len(self._asked[pipe]))

    def _joined(self, peer: SocketPeer) -> None:
        super()._joined(peer)
        pipe = peer.pipe
        if pipe is not None:
            self._latest = (self._latest + 1) % HOPS
            self._numbers[pipe] = self._latest
            self._pipe_of_number[self._latest] = pipe
            self._asked[pipe] = {}

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        self._sources.drop(self._of[pipe])
        self._ahead.discard(pipe)
        super()._left(peer, pipe)
        self._devices.pop(pipe, None)
        self._announced.pop(pipe, None)
        self._received.pop(pipe, None)
        self._all -= self._bytes.pop(pipe, 0)
        for key in self._asked.pop(pipe):
            pending = self.back.forget(key)
            if pending is not None:
                self.back.impatient(pending, "who asked has gone")
        del self._pipe_of_number[self._numbers.pop(pipe)]
        self.forward()


class Back(Requester):
    """The side of a device on which the workers are."""

    resends = False  # the requester does

    def __init__(
        self,
        front: Front,
        cluster: Cluster | None,
        *,
        heartbeat: float | None,
        **more: Unpack[RequesterOptions],
    ) -> None:
        self.front = front
        front.back = self
        self.device = os.urandom(8).hex()
        """Which one this is."""
        self._neighbours: dict[Pipe, Neighbour] = {}
        self._sent: Counter[Pipe] = Counter()
        """Requests that each was sent."""
        self._heartbeat = heartbeat
        self._beating = False
        super().__init__(cluster, **more)

    # -------- other devices

    def aside(self, pipe: Pipe, frame: bytes) -> None:
        """A device behind this one says how much it can take."""
        word = heard(frame)
        if word is None:
            return
        neighbour = self._neighbours.get(pipe)
        if neighbour is None:
            self._neighbours[pipe] = Neighbour(word, time.monotonic())
            self._beat_later()
        else:
            neighbour.word, neighbour.at = word, time.monotonic()
        self._reconsider_devices()

    def room(self, asking: str) -> tuple[bool, int]:
        """Whether there are workers for a device, and how many requests they can begin with.

        Those that are connected here; where none is, those behind other devices than that one.
        """
        rooms = [self._room_of(pipe) for pipe in self._attempts if self._is_worker(pipe)]
        if rooms:
            free = sum_of(rooms)
            return True, free if free == UNLIMITED else max(0, free - self.waiting)
        others = [
            neighbour.room(self._sent[pipe])
            for pipe, neighbour in self._neighbours.items()
            if neighbour.word.works and neighbour.word.device != asking
        ]
        return bool(others), sum_of(others)

    def _is_worker(self, pipe: Pipe) -> bool:
        return pipe not in self._neighbours and self._watches[pipe].suspect is None

    def _room_of(self, pipe: Pipe) -> int:
        peer = pipe.peer
        if self._ring.level(peer.name) is None or peer.full or peer.heavy:
            return 0
        capacity = self._tables[peer.source.name].get(CAPACITY, 0)
        return max(0, capacity - len(self._attempts[pipe])) if capacity else UNLIMITED

    def _without(self, pending: Pending) -> str:
        """A request does not go back to the device that it came from, unless nobody works here."""
        came_from = isinstance(pending, Forwarded) and self.front.device_of(pending.request.pipe)
        if not came_from:
            return ""
        for pipe, neighbour in self._neighbours.items():
            if neighbour.word.device == came_from:
                name: str = pipe.peer.name
                return name if self.room(came_from)[0] else ""
        return ""

    def _rests(self, peer: SocketPeer) -> bool:
        return super()._rests(peer) or (peer.pipe is not None and self._is_full(peer.pipe))

    def _is_full(self, pipe: Pipe) -> bool:
        """Whether a device would only let a request wait, while there are workers elsewhere."""
        neighbour = self._neighbours.get(pipe)
        if neighbour is None:
            return False
        if not neighbour.word.works:
            return self.room(neighbour.word.device)[0]
        return neighbour.room(self._sent[pipe]) == 0

    def _reconsider_devices(self) -> None:
        for pipe in [*self._neighbours]:
            self._reconsider(pipe.peer)

    def _beat_later(self) -> None:
        if self._heartbeat is not None and not self._beating:
            self._beating = True
            self._loop.later(self._heartbeat, self._beat)

    def _beat(self) -> None:
        """Say a word to each device, and suspect those of which none came."""
        with self.lock:
            self._beating = False
            if self._closed or self._heartbeat is None:
                return
            latest = time.monotonic() - MISSED * self._heartbeat
            for pipe, neighbour in [*self._neighbours.items()]:
                if neighbour.at < latest and self._watches[pipe].suspect is None:
                    self._suspend(pipe, f"no word in {MISSED * self._heartbeat:g} s")
                if not pipe.waiting:
                    pipe.send(Word(self.device).frame())
            self._drain()
            if self._neighbours:
                self._beat_later()

    def _was_sent(self, pipe: Pipe) -> None:
        self._sent[pipe] += 1
        super()._was_sent(pipe)

    def _joined(self, peer: SocketPeer) -> None:
        super()._joined(peer)
        if peer.pipe is not None and peer.pipe.open and self._max_size >= LONGEST:
            peer.pipe.send(Word(self.device).frame())

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        self._neighbours.pop(pipe, None)
        self._sent.pop(pipe, None)
        super()._left(peer, pipe)

    def _weigh(self, peer: SocketPeer, why: str) -> None:
        super()._weigh(peer, why)
        self._reconsider_devices()

    # -------- requests

    def _new_lock(self) -> Any:  # noqa: ANN401 - as a `Socket`
        """What comes at one side goes out at the other: both have one lock."""
        return self.front.lock

    @property
    def waiting(self) -> int:
        """Requests for which nobody was ready."""
        return self._waiting.count

    def forget(self, key: bytes) -> Pending | None:
        pending = super().forget(key)
        if isinstance(pending, Forwarded):
            self.front.settled(pending.request.pipe, key)
        return pending

    def _send_waiting(self) -> None:
        super()._send_waiting()
        self.front.forward()
        self.front.tell_soon()

    def _unknown(self, key: bytes, body: Bytes) -> None:
        self.front.returned(key, body)

    def _abandon(self, waiter: object) -> None:
        """Nobody waits in a device."""
