"""Who may connect to a server: its file put together with users, certificates and counts."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairlead.config.serving import ServingFile, is_loopback
from fairlead.serve.limits import ConnectionCounts
from fairlead.serve.rights import Rights
from fairlead.serve.sasl import Sasl, offered
from fairlead.serve.users import UserFile, check_name
from fairlead.serve.wire.engine_links import Settings
from fairlead.sockets.tls import identity

LOGGER: Final = logging.getLogger("fairlead.serve")


class Access:
    """What a server's file says of those who connect."""

    def __init__(
        self,
        serving: ServingFile | None = None,
        folder: Path | None = None,
        before: Access | None = None,
    ) -> None:
        """`folder`: that of the file, from which its paths go. `before`: what was said before.

        What there is of connections is counted on from there. Raises UserError.
        """
        self.serving: Final = serving or ServingFile()
        self._folder = folder or Path()
        self.rights: Final = Rights.of(self.serving)
        self.users: UserFile | None = self._users(None if before is None else before.users)
        self.tls: Final = self._context()
        self.counts: ConnectionCounts = ConnectionCounts() if before is None else before.counts
        self.counts.limits = self.serving.limits

    def _users(self, before: UserFile | None) -> UserFile | None:
        """The users; the file is followed on, if it is the same."""
        if self.serving.users is None:
            return None
        path = self._folder / self.serving.users
        if before is not None and before.path == path:
            return before
        return UserFile(path, LOGGER.warning)

    @property
    def settings(self) -> Settings:
        """What a connection allows its peer."""
        limits = self.serving.limits
        return Settings(
            max_frame=limits.frame,
            max_sessions=limits.sessions,
            max_links=2 * limits.links + 100,
            max_message=limits.message,
            most_given=limits.memory // 4,
            idle=float(limits.idle),
            anonymous=False,
        )

    @property
    def introduction(self) -> float:
        """Seconds in which a peer has to say who it is."""
        return float(self.serving.limits.introduction)

    def sasl(self, host: str, certificate: Mapping[str, Any] | None, *, secure: bool) -> Sasl:
        """The layer of SASL for a peer at this address, with what TLS found of its certificate."""
        name = name_in(certificate)
        mechanisms = offered(
            loopback=is_loopback(host.partition("%")[0]),
            secure=secure,
            users=self.users is not None,
            certified=bool(name),
            anonymous=self.serving.lets_anybody,
        )
        return Sasl(mechanisms, name)

    def check(self, name: str, password: bytes) -> bool:
        """Whether this is that user's password; takes a tenth of a second or more."""
        return self.users is not None and self.users.check(name, password)

    def has(self, name: str) -> bool:
        """Whether there is a user of that name; takes no time."""
        return self.users is not None and self.users.has(name)

    def remembers(self, name: str, password: bytes) -> bool:
        """Whether this user was let in by this password before; takes no time."""
        return self.users is not None and self.users.remembers(name, password)

    def _context(self) -> ssl.SSLContext | None:
        tls = self.serving.tls
        if tls is None:
            return None
        certificate, key, clients = self._paths(tls.certificate, tls.key, tls.clients)
        context = identity(certificate or "", key, clients)
        if clients is not None:
            context.verify_mode = ssl.CERT_OPTIONAL  # who shows none may have a password
        return context

    def _paths(self, *names: str | None) -> list[Any]:
        return [None if name is None else self._folder / name for name in names]


def name_in(certificate: Mapping[str, Any] | None) -> str:
    """The user that a certificate names by its common name; "" where it names none."""
    subject = (certificate or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    if len(names) != 1:
        return ""
    try:
        check_name(names[0])
    except ValueError:
        return ""
    return str(names[0])
