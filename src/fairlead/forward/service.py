"""What a lane asks of a service or a broker, whichever protocol that speaks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import UNSET

from fairlead.balance.outside import ForwardKeys
from fairlead.config.serving import is_loopback
from fairlead.config.text import text_of
from fairlead.errors import ConfigError
from fairlead.forward.outcome import ForwardOutcome
from fairlead.forward.target import PATHS, OutsideTarget
from fairlead.store.message import GivenMessage

SECURE = ("https", "amqps")


class Dispatch(NamedTuple):
    """A message, and what else is said of it."""

    message: GivenMessage
    priority: int | None
    attempt: int


class OutsideService(Protocol):
    """A service or a broker, with its connections. Of one event loop."""

    target: OutsideTarget
    stamp: tuple[object, ...]
    """What changes where a file that the target names does."""

    async def send(self, dispatch: Dispatch) -> ForwardOutcome:
        """Send a message, and say what became of it; never raises what the peer did."""

    async def probe(self, path: str) -> ForwardOutcome | None:
        """Ask a path whether it is well; None: it has no paths."""

    async def close(self) -> None:
        """Close its connections."""


def stamp(keys: ForwardKeys) -> tuple[object, ...]:
    """What changes where one of the files that are named does."""
    return tuple(
        _changed(getattr(keys, name)) for name in PATHS if getattr(keys, name) is not UNSET
    )


def _changed(path: str) -> object:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def check_login(target: OutsideTarget) -> None:
    """Refuse to say a secret where it could be read on its way. Raises ConfigError."""
    address, keys = target.address, target.keys
    logs_in = keys.user is not UNSET or keys.token_file is not UNSET
    if logs_in and address.scheme not in SECURE and not is_loopback(address.host):
        raise ConfigError(
            f"destination {target.called}: address: found {address.text!r}, where "
            f"{'a token' if keys.user is UNSET else 'a password'} could be read on its way, "
            f"allowed: {address.scheme}s://, or {address.scheme}:// at 127.0.0.1, [::1] or "
            "localhost"
        )


def secret_in(path: str) -> str:
    """What a file says, without the end of its line. Raises ConfigError, and does not show it."""
    secret = text_of(path, ConfigError, 1 << 20).strip("\n")
    if not (secret and secret.isprintable()):
        raise ConfigError(f"{path}: found no line that can be printed, allowed: a secret alone")
    return secret
