"""The device: a broker between requesters and workers, and between the brokers of two sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self, Unpack

from fairlead.balance.cluster import Cluster
from fairlead.sockets import options
from fairlead.sockets.arguments import RequesterOptions, SocketOptions, check_known, signature_of
from fairlead.sockets.base import LINGER
from fairlead.sockets.closing import Closing
from fairlead.sockets.cluster_tables import cluster_of
from fairlead.sockets.forwarding import Back, Front
from fairlead.sockets.requester import Requester
from fairlead.sockets.wire import MAX_TTL

BOTH: Final = ("buffer", "max_size", "memory", "on_event")
"""Options of both sides."""
HEARTBEAT: Final = 2.0
"""Seconds between two words to a device behind this one, unless a device says otherwise."""


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
        heartbeat: float | None = HEARTBEAT,
        **more: Unpack[RequesterOptions],
    ) -> None:
        """`max_ttl`: how many may have received a request; `buffer`, `max_size`: on both sides.

        `heartbeat`: seconds between two words to another device behind this one, which hangs when
        it has said nothing three times; None: that is seen by requests only.

        The rest is for the workers' side, as for a `Req`. Raises SocketError.
        """
        check_known(Device, more)
        options.check_heartbeat(heartbeat)
        both: SocketOptions = {key: more[key] for key in BOTH if key in more}  # type: ignore[assignment]
        self.front: Final = Front(max_ttl=max_ttl, **both)
        try:
            self.back: Final = Back(self.front, cluster, heartbeat=heartbeat, **more)
        except Exception:
            self.front.close()
            raise

    @classmethod
    def from_cluster(cls, path: str | Path, *, cluster: str = "", **more: Any) -> Self:  # noqa: ANN401
        """With the policy and the workers of a file. Raises ConfigError, SocketError.

        `cluster`: its name, if there are several; `more`: the options of this class.
        """
        return cls(cluster_of(path, cluster), **more)

    def follow(self, cluster: Cluster) -> None:
        """Take over what a changed file says of the workers; see `Req.follow`."""
        self.back.follow(cluster)

    def close(self, linger: float = LINGER) -> None:
        """Close both sides."""
        self.back.close(linger)
        self.front.close(linger)


Device.__signature__ = signature_of(Device, Requester)  # type: ignore[attr-defined]
