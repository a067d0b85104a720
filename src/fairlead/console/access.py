"""Who may come in: users of a file, whom a proxy names, or who knows the key of this start."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence
from getpass import getuser
from pathlib import Path
from typing import Final

from fairlead.config.console import ConsoleFile
from fairlead.config.roles import Role
from fairlead.config.wildcards import wildcard
from fairlead.console.refusals import PageRefusal
from fairlead.console.sessions import BrowserSession
from fairlead.serve.limits import network_of
from fairlead.serve.login_queue import LoginQueue
from fairlead.serve.passwords import LONGEST
from fairlead.serve.users import UserFile, check_name

LOGGER: Final = logging.getLogger("fairlead.console")
BUSY: Final = "Too many people log in at once: try again in a minute"
WAITING: Final = 50
"""Logins that wait for their turn."""
SECONDS: Final = 20.0
"""For which one waits for its turn."""
WRONG: Final = 10
"""Wrong passwords from one network within a minute; then it has to wait."""
MINUTE: Final = 60.0
NETWORKS: Final = 10_000


class ConsoleAccess:
    """What a file says of those who come."""

    def __init__(self, file: ConsoleFile, folder: Path) -> None:
        """`folder`: from which its paths go. Raises ConfigError."""
        self.file: Final = file
        self.users: Final = (
            None if file.users is None else UserFile(folder / file.users, LOGGER.warning)
        )
        proxy = file.proxy
        self._peers = {_plain(peer) for peer in proxy.peers} if proxy else set()
        self._operators = [wildcard(name) for name in proxy.operators] if proxy else []
        self._viewers = [wildcard(name) for name in proxy.viewers] if proxy else []
        self.key: Final = None if self.users or proxy else secrets.token_urlsafe(24)
        """Who knows it is an operator; it is told to whoever starts a console without a file."""
        self._owner = getuser()
        self._turns = LoginQueue()
        self._waiting = 0
        self._wrong: dict[str, deque[float]] = {}

    def role(self, session: BrowserSession) -> Role | None:
        """What whoever is logged in may now; None: he is not let in any more."""
        if session.by == "key":
            return Role.OPERATOR
        if session.by == "proxy":
            return self._role_by_proxy(session.name)
        return None if self.users is None else self.users.role(session.name)

    def is_proxy(self, peer: str) -> bool:
        """Whether this is the address of a proxy that is trusted."""
        return _plain(peer) in self._peers

    def named_by_proxy(self, peer: str, values: Sequence[str]) -> str | None:
        """Whom a trusted proxy names; None: nobody. Raises PageRefusal for what is no name.

        `values`: those of its header, in this request.
        """
        if not self.is_proxy(peer) or not values:
            return None
        if len(values) > 1:
            raise PageRefusal(400, "The proxy names several users: found its header more than once")
        try:
            name = values[0].encode("latin-1").decode()
            check_name(name)
        except ValueError:
            raise PageRefusal(400, "The proxy names a user as no user is called") from None
        return name

    def _role_by_proxy(self, name: str) -> Role | None:
        if any(pattern.match(name) for pattern in self._operators):
            return Role.OPERATOR
        return Role.VIEWER if any(pattern.match(name) for pattern in self._viewers) else None

    def by_key(self, key: str) -> str | None:
        """Whom a key lets in; None: it is not this start's."""
        if self.key is None or not hmac.compare_digest(key.encode(), self.key.encode()):
            return None
        return self._owner

    async def by_password(self, name: str, password: str, peer: str) -> bool:
        """Whether this is that user's password. Raises PageRefusal for too many tries."""
        network, secret = network_of(peer), password.encode()
        users = self.users
        if users is None or not 0 < len(secret) <= LONGEST:
            return False
        if users.remembers(name, secret):
            return True
        self._check_tries(network)
        if self._waiting >= WAITING:
            raise PageRefusal(429, BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout(SECONDS), self._turns.turn(network, is_user=users.has(name)):
                self._check_tries(network)
                right = await asyncio.to_thread(users.check, name, secret)
        except TimeoutError:
            raise PageRefusal(429, BUSY) from None
        finally:
            self._waiting -= 1
        if not right:
            self._note_wrong(network)
            LOGGER.warning("event=login-refused user=%r network=%s", name[:100], network)
        return right

    def _check_tries(self, network: str) -> None:
        wrong = self._wrong.get(network)
        if wrong and len(wrong) >= WRONG and wrong[0] > time.monotonic() - MINUTE:
            raise PageRefusal(429, "Too many wrong passwords from your network: wait for a minute")

    def _note_wrong(self, network: str) -> None:
        if len(self._wrong) >= NETWORKS and network not in self._wrong:
            del self._wrong[next(iter(self._wrong))]
        self._wrong.setdefault(network, deque(maxlen=WRONG)).append(time.monotonic())


def _plain(peer: str) -> str:
    """An address as it is compared."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    return str(getattr(address, "ipv4_mapped", None) or address)
