"""The formula of docs/reference/policies/everyday.md, step by step as the page has it."""

from binascii import crc32
from decimal import Context
from fractions import Fraction
from hashlib import sha256
from math import floor

from . import Row

EXACT = Context(prec=60)
SIZE = 2**62


def number(key: str, sequence: int) -> int:
    return crc32(key.encode("utf-8")) if key != "" else 2**32 + sequence


def name_number(name: str) -> int:
    return int(sha256(name.encode("utf-8")).hexdigest()[:16], 16) % SIZE


def log2(k: int) -> int:
    """floor(2^32 * log2(1 + k/256))"""
    if k == 256:
        return 2**32
    ratio = EXACT.divide(EXACT.ln(EXACT.divide(256 + k, 256)), EXACT.ln(2))
    return floor(EXACT.multiply(ratio, 2**32))


def draw(name: str, key: int) -> int:
    z = name_number(name) ^ key
    z = (z ^ z // 2**30) * 0x3F58476D1CE4E5B9 % SIZE
    z = (z ^ z // 2**27) * 0x14D049BB133111EB % SIZE
    z = z ^ z // 2**31
    u = z // 2**24 + 1
    e = 39 - u.bit_length()
    m = u * 2**e
    k = m // 2**30 - 256
    r = m % 2**30
    return e * 2**32 - log2(k) - (log2(k + 1) - log2(k)) * r // 2**30


def score(destination: Row, key: int) -> Fraction:
    return Fraction(draw(destination["name"], key), destination["weight"])
