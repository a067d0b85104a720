"""Options of the form NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.errors import UserError


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE texts as a dict; a name may come once."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UserError(f"{option}: found {each!r}, allowed: NAME=VALUE")
        if name in found:
            raise UserError(f"{option} {name}: found twice, allowed: once")
        found[name] = value
    return found
