"""The device: a broker between requesters and workers, and between the brokers of two sites."""

from __future__ import annotations

import ssl
from collections import Counter
from pathlib import Path
from typing import Any, Final, Self

from fairlead.balance.cluster import Cluster
from fairlead.errors import UserError
from fairlead.sockets.base import BACKOFF, BUFFER, LINGER, MEMORY, SHARE, Peer
from fairlead.sockets.closing import Closing
from fairlead.sockets.events import Told
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.rep import Rep, Request
from fairlead.sockets.requester import ATTEMPTS, RESEND, RETRY, Pending, Requester
from fairlead.sockets.ring import NOTHING
from fairlead.sockets.sender import cluster_of
from fairlead.sockets.wire import MAX_SIZE, MAX_TTL, WORD, hop

HOPS: Final = 1 << 31
UNDERWAY: Final = 8
"""Times `buffer`: requests of one requester that workers have; more are not read from it."""


class _Forwarded(Pending):
    """A request on its way through."""

    __slots__ = ("front", "request")

    def __init__(self, number: int, request: Request, front: _Front) -> None:
        """`number`: of the connection that it came by."""
        super().__init__(hop(number) + request.stack, request.body, NOTHING)
        self.request = request
        self.front = front

    def settle(self, body: bytes) -> None:
        self.front.answer(self.request.pipe, self.request.stack, body)

    def fail(self, error: UserError) -> None:
        """Whoever asked finds out himself: he sends it again, or the connection is over."""


class _Front(Rep):
    """Where requests come in. They wait here, and go to workers in turn."""

    back: _Back

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as `Rep`
        self._latest = 0
        self._numbers: dict[Pipe, int] = {}
        self._pipe_of_number: dict[int, Pipe] = {}
        self._asked: dict[Pipe, dict[bytes, int]] = {}
        """Keys of the requests of each requester that have no reply, with their bytes."""
        self._bytes: Counter[Pipe] = Counter()
        """Of all of these."""
        self._all = 0
        """Of all requesters."""
        self._ahead: set[Pipe] = set()
        """Those of whose requests so many have no reply that nothing more is read from them."""
        super().__init__(**options)

    def received(self, pipe: Pipe, messages: list[bytes]) -> None:
        super().received(pipe, messages)
        self.forward()

    def forward(self) -> None:
        """Give on what has come, until one has to wait for a worker. The lock is held."""
        while not self.back.waiting and (found := self._take()) is not None:
            _, request = found
            forwarded = _Forwarded(self._numbers[request.pipe], request, self)
            self.back.ask(forwarded)
            self._count(request.pipe, forwarded.key, len(forwarded.key) + len(request.body))
            if self._is_ahead(request.pipe, 1):
                self._ahead.add(request.pipe)
                request.pipe.read(on=False)

    def _count(self, pipe: Pipe, key: bytes, size: int) -> None:
        """A request has no reply yet; `size`: 0 where nobody waits for one any more."""
        asked = self._asked[pipe]
        more = size - asked.pop(key, 0)
        if size:
            asked[key] = size
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
        for each in [*self._ahead] if small else [pipe]:
            if each in self._ahead and not self._is_ahead(each, 2):
                self._ahead.discard(each)
                each.read(on=self._reads(each))

    def returned(self, key: bytes, body: bytes) -> None:
        """A reply for which nobody waits here; the requester knows whether he does."""
        pipe = self._pipe_of_number.get(int.from_bytes(key[: WORD.size]))
        if pipe is not None:
            self.answer(pipe, key[WORD.size :], body)

    def _reads(self, pipe: Pipe) -> bool:
        return super()._reads(pipe) and pipe not in self._ahead

    def _joined(self, peer: Peer) -> None:
        super()._joined(peer)
        pipe = peer.pipe
        if pipe is not None:
            self._latest = (self._latest + 1) % HOPS
            self._numbers[pipe] = self._latest
            self._pipe_of_number[self._latest] = pipe
            self._asked[pipe] = {}

    def _left(self, peer: Peer, pipe: Pipe) -> None:
        self._sources.drop(self._of[pipe])
        self._ahead.discard(pipe)
        super()._left(peer, pipe)
        self._all -= self._bytes.pop(pipe, 0)
        for key in self._asked.pop(pipe):
            found = self.back.forget(key)
            if found is not None:
                self.back.impatient(found, "who asked has gone")
        del self._pipe_of_number[self._numbers.pop(pipe)]
        self.forward()


class _Back(Requester):
    """Where workers are."""

    resends = False  # the requester does

    def __init__(self, front: _Front, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as `Requester`
        self.front = front
        front.back = self
        super().__init__(*args, **options)

    def _new_lock(self) -> Any:  # noqa: ANN401 - as a `Socket`
        """What comes at one side goes out at the other: both have one lock."""
        return self.front.lock

    @property
    def waiting(self) -> int:
        """Requests for which nobody was ready."""
        return self._waiting.count

    def forget(self, key: bytes) -> Pending | None:
        found = super().forget(key)
        if isinstance(found, _Forwarded):
            self.front.settled(found.request.pipe, key)
        return found

    def _send_waiting(self) -> None:
        super()._send_waiting()
        self.front.forward()

    def _unknown(self, key: bytes, body: bytes) -> None:
        self.front.returned(key, body)

    def _abandon(self, waiter: object) -> None:
        """Nobody waits in a device."""


class Device(Closing):
    """Takes requests at its front and gives each to a worker at its back, by the policy there.

    Brokers of two sites may point at each other at a worse priority: a request that `max_ttl` have
    received is dropped. What a worker had that goes is sent to another at once; what was lost so
    `attempts` times is dropped, and counted as `lost` by the last worker.
    Whoever waits long for a reply sends the request again himself, as every REQ does. A worker that
    hangs is suspended, as by a `Req`, and what it had is sent to another at once, too.
    """

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        max_ttl: int = MAX_TTL,
        resend: float = RESEND,
        retry: float = RETRY,
        attempts: int = ATTEMPTS,
        buffer: int = BUFFER,
        max_size: int = MAX_SIZE,
        memory: int = MEMORY,
        reconnect: tuple[float, float] = BACKOFF,
        on_event: Told | None = None,
        journal: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`max_ttl`: how many may have received a request; `buffer`, `max_size`: on both sides.

        The rest is for the workers' side, as for a `Req`. Raises SocketError.
        """
        self.front: Final = _Front(
            max_ttl=max_ttl, buffer=buffer, max_size=max_size, memory=memory, on_event=on_event
        )
        try:
            self.back: Final = _Back(
                self.front,
                cluster,
                resend=resend,
                retry=retry,
                attempts=attempts,
                buffer=buffer,
                max_size=max_size,
                memory=memory,
                reconnect=reconnect,
                on_event=on_event,
                journal=journal,
                tls=tls,
            )
        except Exception:
            self.front.close()
            raise

    @classmethod
    def from_cluster(cls, path: str | Path, *, cluster: str = "", **options: Any) -> Self:  # noqa: ANN401
        """With the policy and the workers of a file. Raises ConfigError, SocketError.

        `cluster`: its name, if there are several; `options`: as those of this class.
        """
        return cls(cluster_of(path, cluster), **options)

    def follow(self, cluster: Cluster) -> None:
        """Take over what a changed file says of the workers; see `Req.follow`."""
        self.back.follow(cluster)

    def close(self, linger: float = LINGER) -> None:
        """Close both sides."""
        self.back.close(linger)
        self.front.close(linger)
