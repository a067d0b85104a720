"""The command line put together, and one line of it run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from fairlead.cli.faults import guarded
from fairlead.cli.strict_options import CommandGroup

SUBJECTS: Final = {
    "commands.runs": ("dispatch", "replay"),
    "commands.questions": ("whatif", "diff", "explain"),
    "commands.search": ("recommend",),
    "commands.look": ("check", "policies", "demo"),
    "commands.connect": ("device", "endpoints"),
    "commands.forward": ("forward",),
    "commands.serve": ("serve",),
    "commands.console": ("console",),
    "commands.users": ("users",),
    "commands.messages": ("send", "take", "peek"),
    "commands.queues": (
        "queues",
        "metrics",
        "waiting",
        "held",
        "promote",
        "dead",
        "declare",
        "journal",
        "top",
    ),
    "commands.purging": ("purge", "delete-queue"),
    "commands.schedules": ("schedules",),
    "commands.channels": ("channels", "queue-manager"),
    "commands.work": ("work",),
    "commands.upkeep": ("store",),
    "store.conversations": ("conversations", "conversation", "services", "switch"),
    "store.machines": ("machines",),
}
"""The modules that declare commands: a line that begins with one of theirs loads no other."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit status (see docs/reference/errors.md)."""
    words = list(arguments)
    verb = words[0] if words else ""
    subjects = [module for module, verbs in SUBJECTS.items() if verb in verbs] or SUBJECTS
    return guarded(lambda: commands(tuple(subjects))(words, standalone_mode=False, obj=words))


@cache
def commands(subjects: Iterable[str] = tuple(SUBJECTS)) -> Any:  # noqa: ANN401 - Typer hides it
    """The commands that these modules declare, put together once."""
    app = typer.Typer(
        name="fairlead",
        cls=CommandGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Decide **who** gets each message, say why, and prove it on a whole table.",
        epilog="A first look: `fairlead demo`. What can be chosen: `fairlead policies`.",
    )
    app.callback()(main)
    for module in subjects:
        app.add_typer(import_module(f"fairlead.cli.{module}").app)
    return typer.main.get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"fairlead {version('fairlead')}")
        raise typer.Exit


def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Decide who gets each message."""
