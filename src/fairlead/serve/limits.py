"""How much there may be: each limit a plain decision, asked where something more is wanted."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Final, Protocol

from fairlead.config.serving import Limits
from fairlead.serve.wire.events import Condition

LIMIT = "amqp:resource-limit-exceeded"
PREFIX: Final = {4: 24, 6: 64}
"""Bits of an address that name its network: who has one of its addresses may have them all."""


def network_of(host: str) -> str:
    """The network of an address: who is there has one share, by however many addresses."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    address = getattr(address, "ipv4_mapped", None) or address
    return str(ipaddress.ip_network((address, PREFIX[address.version]), strict=False))


class UnknownPeer(Protocol):
    """A connection whose peer has not said who it is."""

    def give_way(self, why: Condition) -> None:
        """End, so that another one has the place. Calls `left`."""


class ConnectionCounts:
    """Connections that there are, held to the limits. A condition says why there is no more."""

    def __init__(self, limits: Limits | None = None) -> None:
        """No connections yet."""
        self.limits = limits or Limits()
        self.unknown_count = 0
        """Connections whose peer has not said who it is."""
        self._unknown_by_network: dict[str, dict[UnknownPeer, None]] = {}
        """The connections themselves; of each network the oldest is first."""
        self.known: Counter[str] = Counter()
        """Connections by user."""
        self.refused: Counter[str] = Counter()
        """Connections that were refused, by condition: counts that only grow."""

    @property
    def all(self) -> int:
        """How many connections there are."""
        return self.unknown_count + self.known.total()

    def came(self, host: str, who: UnknownPeer) -> Condition | None:
        """Somebody has connected; counted where that is allowed.

        Where too many have not said who they are, the oldest of the network that has most of them
        gives way: so one that is silent a thousand times keeps nobody out.
        """
        limits = self.limits
        if self.unknown_count >= limits.unknown:
            self._make_room(
                _exceeded("connections that have not said whose they are", limits.unknown)
            )
        elif self.all >= limits.connections:
            why = _exceeded("connections", limits.connections)
            if not self.unknown_count:
                return why
            self._make_room(why)
        self.unknown_count += 1
        self._unknown_by_network.setdefault(network_of(host), {})[who] = None
        return None

    def _make_room(self, why: Condition) -> None:
        largest_network = max(self._unknown_by_network.values(), key=len)
        next(iter(largest_network)).give_way(why)

    def entered(self, host: str, who: UnknownPeer, user: str) -> Condition | None:
        """One of the unknown has said who it is; it stays unknown where that is too many."""
        most = self.limits.connections_each
        if self.known[user] >= most:
            return _exceeded(f"connections of {user!r}", most)
        self._left_unknown(host, who)
        self.known[user] += 1
        return None

    def left(self, host: str, who: UnknownPeer, user: str | None) -> None:
        """A connection that was counted has ended; None: it had not said whose it is."""
        if user is None:
            self._left_unknown(host, who)
            return
        self.known[user] -= 1
        if not self.known[user]:
            del self.known[user]

    def _left_unknown(self, host: str, who: UnknownPeer) -> None:
        self.unknown_count -= 1
        of_network = self._unknown_by_network[network_of(host)]
        del of_network[who]
        if not of_network:
            del self._unknown_by_network[network_of(host)]

    def memory(self, held: int) -> Condition | None:
        """Whether a connection may make the server hold so many bytes."""
        most = self.limits.memory
        return _exceeded("bytes held for a connection", most) if held > most else None


def _exceeded(what: str, most: int) -> Condition:
    return Condition(LIMIT, f"{what}: found more than {most}, allowed: {most}")
