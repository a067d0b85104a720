"""Passwords as they are kept: hashes by scrypt, each with its own numbers and salt."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from typing import Final, NamedTuple

SHORTEST: Final = 1
LONGEST: Final = 200
"""Bytes of a password: with its name it has room in one frame of SASL."""
MEMORY: Final = 256 * 1024 * 1024
"""Bytes: a hash that takes more is refused, as whoever writes it could stop a server by that."""
_WRITTEN: Final = re.compile(
    r"\$scrypt\$ln=(?P<ln>\d{1,2}),r=(?P<r>\d{1,2}),p=(?P<p>\d{1,2})"
    r"\$(?P<salt>[A-Za-z0-9+/]{11,86})\$(?P<digest>[A-Za-z0-9+/]{22,86})"
)


class HashCost(NamedTuple):
    """How much work one hash is."""

    ln: int = 15
    """Logarithm to base 2 of the rounds, which are memory, too."""
    r: int = 8
    p: int = 3

    @property
    def memory(self) -> int:
        """Bytes."""
        return 128 * self.r * ((1 << self.ln) + self.p + 2)


class KeptHash(NamedTuple):
    """A hash, and what it was made by."""

    cost: HashCost
    salt: bytes
    digest: bytes

    def __str__(self) -> str:
        ln, r, p = self.cost
        return f"$scrypt$ln={ln},r={r},p={p}${_text(self.salt)}${_text(self.digest)}"


def hashed(password: bytes, cost: HashCost | None = None) -> KeptHash:
    """The hash of a password, with a salt of its own."""
    salt = secrets.token_bytes(16)
    cost = cost or HashCost()
    return KeptHash(cost, salt, _digest(password, cost, salt, 32))


def kept(text: str) -> KeptHash:
    """What was written. Raises ValueError, which does not say it."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError(
            "hash: found no hash of scrypt, allowed: as `fairlead users add` writes it"
        )
    cost = HashCost(int(match["ln"]), int(match["r"]), int(match["p"]))
    if not (1 <= cost.ln <= 20 and cost.r and cost.p and cost.memory <= MEMORY):
        raise ValueError(
            f"hash: found ln={cost.ln}, r={cost.r}, p={cost.p}, allowed: what takes at most "
            f"{MEMORY // 1024 // 1024} MB"
        )
    try:
        return KeptHash(cost, _bytes(match["salt"]), _bytes(match["digest"]))
    except ValueError:
        raise ValueError("hash: found a salt or hash cut short, allowed: a whole one") from None


def matches(password: bytes, against: KeptHash) -> bool:
    """Whether it is the password; takes the same time in either case."""
    digest = _digest(password, against.cost, against.salt, len(against.digest))
    return hmac.compare_digest(digest, against.digest)


def _digest(password: bytes, cost: HashCost, salt: bytes, size: int) -> bytes:
    return hashlib.scrypt(
        password, salt=salt, n=2**cost.ln, r=cost.r, p=cost.p, maxmem=cost.memory, dklen=size
    )


def _text(raw: bytes) -> str:
    return b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
