"""Arguments as texts: NAME=VALUE, and the line that gives them to a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from fairlead.errors import UserError

IN_DOUBLE = re.compile(r'(["$`]|\\)')
"""What still means something to a shell between double quotes."""


def pairs(option: str, given: Sequence[str], value_is: str = "VALUE") -> dict[str, str]:
    """NAME=VALUE texts as a dict; a name may come once. `value_is`: what the help calls it."""
    values: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"{option}: found {text!r}, allowed: NAME={value_is}")
        if name in values:
            raise UserError(f"{option} {name}: found twice, allowed: once")
        values[name] = value
    return values


def command_line(arguments: Sequence[str]) -> str:
    """The line that gives a shell these arguments.

    >>> print(command_line(["fairlead", "--column", "id=concat_ws(' ', a, b)"]))
    fairlead --column "id=concat_ws(' ', a, b)"
    """
    return " ".join(_quoted(argument) for argument in arguments)


def folded_line(arguments: Sequence[str], width: int) -> str:
    r"""The same on several lines, which a shell takes as one; each option keeps its value.

    A line is wider than `width` only where an option with its value is.

    >>> print(folded_line(["fairlead", "dispatch", "calls.csv", "-c", "pool.toml"], 30))
    fairlead dispatch calls.csv \
      -c pool.toml
    """
    parts: list[str] = []
    for argument in arguments:
        if parts and not argument.startswith("-"):
            parts[-1] += f" {_quoted(argument)}"
        else:
            parts.append(_quoted(argument))
    lines = parts[:1]
    for part in parts[1:]:
        if len(f"{lines[-1]} {part} \\") <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"  {part}")
    return " \\\n".join(lines)


def _quoted(argument: str) -> str:
    if "'" not in argument or "!" in argument:
        return shlex.quote(argument)
    return '"' + IN_DOUBLE.sub(r"\\\1", argument) + '"'
