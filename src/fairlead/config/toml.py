"""TOML files: what they say, and where in them a key stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from sys import get_int_max_str_digits
from typing import Any, Final

from fairlead.config.text import text_of
from fairlead.errors import ConfigError

DEEPEST: Final = 32
"""Tables and lists inside each other; nothing that is read has so many."""
TOO_DEEP: Final = f"{{}}: found tables or lists more than {DEEPEST} deep, allowed: fewer"
LARGEST: Final = 16 << 20
"""Bytes of a file; one of a hundred thousand destinations has half of it."""
DOTTED: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*+\.[ \t]*+){200}""", re.ASCII
)
"""A key of more than two hundred parts."""


def parsed(path: str | Path) -> tuple[str, dict[str, Any]]:
    """A file's text, and what it says. Raises ConfigError."""
    text = text_of(path, ConfigError, LARGEST)
    if DOTTED.search(text):  # the parser takes longer and longer for each dot
        raise ConfigError(TOO_DEEP.format(path))
    try:
        plain = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    except ValueError:
        most = get_int_max_str_digits()
        raise ConfigError(f"{path}: not TOML: an integer of more than {most} digits") from None
    except RecursionError:
        raise ConfigError(TOO_DEEP.format(path)) from None
    inside: list[Any] = [plain]
    for _ in range(DEEPEST):
        inside = [value for around in inside for value in _values(around)]
    if inside:
        raise ConfigError(TOO_DEEP.format(path))
    return text, plain


def _values(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def file_and_line(path: str | Path, text: str, place: Sequence[str | int]) -> str:
    """File and line; the file alone where the line is not known."""
    line = line_of(text, place) if place else None
    return f"{path}:{line}" if line else f"{path}"


def line_of(text: str, place: Sequence[str | int]) -> int | None:
    """The line of a key, as near as its table's header and its name lead; None where nowhere."""
    lines = text.splitlines()
    start, header = 0, ""
    for k, part in enumerate(place):
        if isinstance(part, int):
            continue
        following = place[k + 1] if k + 1 < len(place) else None
        name = re.escape(str(part))
        header = f"{header}.{part}" if header else str(part)
        nth = following if isinstance(following, int) else 0
        line = _nth(lines, rf"\s*\[\[?\s*{re.escape(header)}\s*\]", nth, start)
        if line is None:
            key = rf"""\s*["']?{name}["']?\s*[.=]"""
            line = _nth(lines[: _end(lines, start)], key, 0, start)
        if line is None:
            break
        start = line
    return start or None


def _end(lines: Sequence[str], start: int) -> int:
    """Where the table that begins before line `start` ends: at the next header."""
    headers = (k for k, line in enumerate(lines) if k >= start and line.lstrip().startswith("["))
    return next(headers, len(lines))


def _nth(lines: Sequence[str], pattern: str, n: int, start: int) -> int | None:
    """The number (from 1) of the line after `start` that is the n-th to match."""
    matching = [k + 1 for k, line in enumerate(lines) if k >= start and re.match(pattern, line)]
    return matching[n] if n < len(matching) else None
