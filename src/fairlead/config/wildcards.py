"""Patterns of names, as files write them: `*` stands for any characters."""

from __future__ import annotations

import re
from fnmatch import translate


def wildcard(pattern: str, *, one: bool = False) -> re.Pattern[str]:
    """Whether a name is meant by a pattern: `.match(name)`. `one`: `?` stands for one character.

    It takes as many steps as the name is long for each `*`, however it fails: names come from
    strangers.
    """
    plain = "[" if one else "[?"
    return re.compile(
        translate(
            "".join(f"[{character}]" if character in plain else character for character in pattern)
        )
    )
