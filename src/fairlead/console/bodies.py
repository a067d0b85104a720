"""What a message says, as a page shows it: text, JSON, or hex; never all of a long one."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from fairlead.store.admin.dead_pages import BodyPart

LINE: Final = 16
"""Bytes on a line of hex."""


class ShownBody(NamedTuple):
    """It, to be shown."""

    kind: str
    """bytes | text | json."""
    text: str
    size: int
    """Bytes of all of it."""
    cut: bool
    """Whether there is more."""


def shown_body(part: BodyPart) -> ShownBody:
    """The beginning of a body, in words that its reader can read."""
    cut = len(part.beginning) < part.size
    text = {"json": _as_json, "text": _as_text}.get(part.kind, _as_hex)(part.beginning, cut=cut)
    return ShownBody(part.kind, text, part.size, cut)


def _as_json(raw: bytes, *, cut: bool) -> str:
    if not cut:
        try:
            return json.dumps(json.loads(raw), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return _as_text(raw, cut=cut)


def _as_text(raw: bytes, *, cut: bool) -> str:
    """What cannot be seen is escaped, but for the ends of lines."""
    text = raw.decode(errors="ignore" if cut else "backslashreplace")
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def _as_hex(raw: bytes, *, cut: bool) -> str:
    """Places, bytes, and the characters that they would be."""
    del cut
    lines = []
    for start in range(0, len(raw), LINE):
        row = raw[start : start + LINE]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' '):<{3 * LINE - 1}}  {letters}")
    return "\n".join(lines)
