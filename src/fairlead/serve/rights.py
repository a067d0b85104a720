"""Who may do what: send to an address, take from it, or only look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fairlead.balance.objects import MAX_NAME, repr_of
from fairlead.config.serving import DEEDS, Deed, Refusal, Right, ServingFile
from fairlead.config.wildcards import wildcard
from fairlead.serve.wire.events import Condition, Link
from fairlead.store.queues.temporary import TEMPORARY

UNAUTHORIZED: Final = "amqp:unauthorized-access"
NOT_FOUND: Final = "amqp:not-found"
MOST_KEPT: Final = 10_000
Asked = tuple[str, str, str]
"""User, virtual host, address."""


class Rights:
    """The rights of a file, asked for each link and each address."""

    def __init__(
        self,
        rights: Sequence[Right] = (),
        hosts: Iterable[str] = (),
        refused: Iterable[Refusal] = (),
    ) -> None:
        """Without rights everybody may do everything; without hosts there is any."""
        self._open = not rights
        self._rights = [
            (
                wildcard(right.user),
                wildcard(right.host),
                wildcard(right.address),
                frozenset(right.may),
            )
            for right in rights
        ]
        self._hosts = [wildcard(host) for host in hosts]
        self._refused = [[*map(wildcard, refusal.patterns.values())] for refusal in refused]
        self._kept: dict[Asked, frozenset[Deed]] = {}

    def become(self, other: Rights) -> None:
        """Be as others are, for all who ask."""
        self._open, self._rights, self._hosts = other._open, other._rights, other._hosts
        self._refused = other._refused
        self._kept.clear()

    @classmethod
    def of(cls, serving: ServingFile) -> Rights:
        """Those of a file."""
        return cls(serving.rights, serving.hosts, serving.refused)

    def knows(self, host: str) -> bool:
        """Whether there is such a virtual host."""
        if len(host) > MAX_NAME:
            return False
        return not self._hosts or any(pattern.match(host) for pattern in self._hosts)

    def may(self, user: str, host: str, address: str) -> frozenset[Deed]:
        """All that a user may do there."""
        if self._open or address.startswith(TEMPORARY):  # who knows it, was told it
            return frozenset(DEEDS)
        key = user, host, address
        if len(address) > MAX_NAME:  # nothing is named so
            return frozenset()
        deeds = self._kept.get(key)
        if deeds is None:
            if len(self._kept) >= MOST_KEPT:  # addresses are what peers say
                self._kept.clear()
            deeds = self._kept[key] = self._found(key)
        return deeds

    def refusal(self, user: str, host: str, deed: Deed, address: str) -> Condition | None:
        """Why a user may not do this there, if so."""
        if deed in self.may(user, host, address):
            return None
        shown = address if len(address) <= MAX_NAME else repr_of(address)
        return Condition(UNAUTHORIZED, f"{shown}: {user} may not {deed}")

    def refusal_of_link(self, user: str, host: str, link: Link) -> Condition | None:
        """Why a user may not attach a link, if so.

        One without an address is not refused: each of its messages is asked for.
        """
        if link.target.coordinates:
            return None
        if link.source.dynamic or link.target.dynamic:
            return self._refusal_of_temporary(user, host)
        address = link.source.address if link.sends else link.target.address
        if address is None:
            return None
        deed: Deed = "send" if not link.sends else "browse" if link.source.copies else "take"
        return self.refusal(user, host, deed, address)

    def _refusal_of_temporary(self, user: str, host: str) -> Condition | None:
        """Who may take anything may have a queue that lives as long as a link."""
        if self._open:
            return None
        for of, at, _, granted in self._rights:
            if "take" in granted and of.match(user) and at.match(host):
                return None
        return Condition(UNAUTHORIZED, f"a temporary queue: {user} may not take from anything")

    def refusal_of_host(self, host: str) -> Condition | None:
        """Why a connection cannot be opened to a virtual host, if so."""
        if self.knows(host):
            return None
        return Condition(
            NOT_FOUND, f"hostname: found {repr_of(host)}, allowed: a virtual host that is here"
        )

    def refusal_of_client(self, user: str, container: str, place: str) -> Condition | None:
        """Why a client is not let in, or ends, if so."""
        names = user[:MAX_NAME], container[:MAX_NAME], place
        for patterns in self._refused:
            if all(pattern.match(name) for pattern, name in zip(patterns, names, strict=True)):
                return Condition(UNAUTHORIZED, "the server's file refuses this client")
        return None

    def _found(self, asked: Asked) -> frozenset[Deed]:
        deeds: set[Deed] = set()
        for *patterns, granted in self._rights:
            if all(pattern.match(name) for pattern, name in zip(patterns, asked, strict=True)):
                deeds |= granted
        return frozenset(deeds)


def named_by(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a name is meant by one of these patterns."""
    compiled = [wildcard(pattern) for pattern in patterns]
    return lambda name: any(pattern.match(name) for pattern in compiled)
