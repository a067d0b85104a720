"""Temporary queues: each lives as long as the link for which it was made."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.serve.node.calls import Call, Remove, Unit
from fairlead.serve.wire.events import Link


class TemporaryQueues:
    """Those of the links of this server."""

    def __init__(self, ask: Callable[[Call], None], submit: Callable[[Unit], None]) -> None:
        """None. `ask`: a call of the store; `submit`: a unit, in its order."""
        self._ask, self._submit = ask, submit
        self._owners: dict[str, tuple[object, Link]] = {}
        """Address → connection and link."""
        self.removing = 0
        """Those whose links have ended, and the store does not know it yet."""

    def made(self, address: str, peer: object, link: Link) -> None:
        """One was made for a link of a connection."""
        self._owners[address] = peer, link

    def is_of(self, peer: object, address: str) -> bool:
        """Whether one is a connection's own."""
        return address in self._owners and self._owners[address][0] is peer

    def made_for(self, link: Link) -> list[str]:
        """The addresses of those that were made for a link."""
        return [address for address, (_, owner) in self._owners.items() if owner is link]

    def remove(self, address: str) -> None:
        """Its link has ended. What its receivers give back is stored before it is removed."""
        del self._owners[address]
        self.removing += 1
        self._submit(Unit(lambda _unit, _error: self._ask(Remove(address))))
