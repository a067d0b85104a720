"""Commands whose options stand once: of two values one would be ignored without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

from fairlead.errors import UserError


class Once(TyperCommand):
    """A command that refuses a second value for an option that takes one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer hides it
        """Read the command line. Raises UserError."""
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        for each, times in Counter(given).items():
            takes_one = isinstance(each, TyperOption) and not each.multiple and not each.is_flag
            if takes_one and times > 1:
                raise UserError(f"{each.opts[0]}: found {times} times, allowed: once")
        return super().parse_args(ctx, args)
