"""How command lines are read: what would be ignored, or taken for something else, is refused."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from fairlead.balance.objects import shown
from fairlead.errors import UserError

NEGATIVE: Final = re.compile(r"-\.?\d")
UNKNOWN: Final = "No such option"
MORE: Final = "Got unexpected extra argument(s)"
NEAR: Final = 0.75
"""How much alike two words are of which one is the other one misspelt."""
SHORTEST: Final = 3
"""Letters of a beginning that is enough to know a word."""
PLAIN: Final = (str, list[str], bool)
"""Types of options that need no parser: a flag is one already when it comes."""
ANY_NUMBER: Final = -1
"""Of the values of an argument."""
TEXT: Final = "TEXT"
"""The metavar of options whose value may be empty."""


class Plain(NamedTuple):
    """What makes a value of what was given: the option's own parser, or nothing for a text.

    Typer's would load Pydantic for it, which takes longer than many a command.
    """

    parser: Callable[[Any], Any] | None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - Typer's
        """The value, or a list where an option may be given several times."""
        del ctx
        read = self.parser or _itself
        if param.multiple or param.nargs == ANY_NUMBER:
            return [read(text) for text in value or ()]
        return None if value is None else read(value)


def _plain(param: Any) -> Any:  # noqa: ANN401 - Typer hides it
    """An argument or option that is read without Pydantic, if all it takes is texts or a flag."""
    descriptor = getattr(param, "type_descriptor", None)
    parser = descriptor and descriptor.parameter_info.parser
    if descriptor and (parser or descriptor.annotation in PLAIN):
        param._runtime_param = Plain(parser)  # noqa: SLF001 - where Typer would put its own
    return param


def _itself(value: object) -> object:
    return value


class CommandGroup(TyperGroup):
    """Commands under one name."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - Typer hides it
        """Typer's."""
        return [*map(_plain, super().get_params(ctx))]


class Once(TyperCommand):
    """A command whose options stand once: of two values one would be ignored without a word.

    An option's value is not empty, and what begins as a negative number does is an argument.
    """

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - Typer hides it
        """Typer's."""
        return [*map(_plain, super().get_params(ctx))]

    def make_parser(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer hides it
        """Typer's, which takes every `-5` for an option."""
        parser = super().make_parser(ctx)
        options = parser._process_opts  # noqa: SLF001 - nothing public tells the two apart

        def read(given: str, state: Any) -> None:  # noqa: ANN401 - Typer hides it
            if NEGATIVE.match(given):
                state.largs.append(given)
            else:
                options(given, state)

        parser._process_opts = read  # type: ignore[assignment,method-assign]  # noqa: SLF001
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer hides it
        """Read the command line. Raises UserError."""
        try:
            _, _, params = self.make_parser(ctx).parse_args(args=[*args])
        except typer.TyperException as error:
            raise self._other_words(error) from None
        options = Counter(param for param in params if _takes_one(param))
        for option, times in options.items():
            if times > 1:
                raise UserError(f"{option.opts[0]}: found {times} times, allowed: once")
        try:
            rest = super().parse_args(ctx, args)
        except typer.TyperException as error:
            raise self._too_many(ctx, error) from None
        for param in params:
            if isinstance(param, TyperOption) and _is_empty(param, ctx.params.get(param.name)):
                raise UserError(
                    f"{param.opts[0]}: found '', allowed: a text that is not empty, or no "
                    f"{param.opts[0]}"
                )
        return rest

    def _other_words(self, error: typer.TyperException) -> Exception:
        """What is said of an option that is like none, where it could be an argument."""
        if hasattr(error, "possibilities"):
            error.possibilities = [
                option
                for option in error.possibilities or ()
                if is_near(_bare(error), option.lstrip("-"))
            ]
        text = error.format_message()
        meant = "(" in text or not any(isinstance(param, TyperArgument) for param in self.params)
        if UNKNOWN not in text or meant:
            return error
        return UserError(f"{text}; an argument that begins with - stands after --")

    def _too_many(self, ctx: Any, error: typer.TyperException) -> Exception:  # noqa: ANN401 - as above
        """What is said of more arguments than there are."""
        text = error.format_message()
        if not text.startswith(MORE):
            return error
        names = " ".join(
            str(param.metavar) for param in self.params if isinstance(param, TyperArgument)
        )
        more = text.removeprefix(MORE).strip(" ()")
        return UserError(
            f"{_path(ctx)}: found {shown(more)} more, allowed: {names or 'only options'}"
        )


def _path(ctx: Any) -> str:  # noqa: ANN401 - as above
    """A command with the groups that it is in, as a user writes it."""
    name = str(ctx.info_name)
    inside = ctx.parent is not None and ctx.parent.parent is not None
    return f"{_path(ctx.parent)} {name}" if inside else name


def is_near(found: str, known: str) -> bool:
    """Whether somebody who wrote `found` means `known`: not what undoes it."""
    if found.removeprefix("un").removeprefix("no-") == known:
        return False
    close = difflib.SequenceMatcher(None, found, known).ratio() >= NEAR
    return close or (len(found) >= SHORTEST and known.startswith(found))


def _bare(error: object) -> str:
    return str(getattr(error, "option_name", "")).lstrip("-")


def _takes_one(value: object) -> bool:
    return isinstance(value, TyperOption) and not value.multiple and not value.is_flag


def _is_empty(option: TyperOption, value: object) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return option.metavar != TEXT and "" in values
