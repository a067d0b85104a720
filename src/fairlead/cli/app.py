"""The command line put together, and one line of it run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import typer

from fairlead.cli.commands.connect import app as connect
from fairlead.cli.commands.look import app as look
from fairlead.cli.commands.questions import app as questions
from fairlead.cli.commands.runs import app as runs
from fairlead.cli.faults import guarded
from fairlead.cli.store.commands import app as store_commands
from fairlead.cli.store.conversations import app as conversations
from fairlead.cli.store.machines import app as machines

app = typer.Typer(
    name="fairlead",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Decide **who** gets each message, say why, and prove it on a whole table.",
    epilog="A first look: `fairlead demo`. What can be chosen: `fairlead policies`.",
)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit status (see docs/reference/errors.md)."""
    given = list(arguments)
    return guarded(lambda: _whole()(given, standalone_mode=False, obj=given))


@cache
def _whole() -> Callable[..., object]:
    """All commands, put together once."""
    return typer.main.get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"fairlead {version('fairlead')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Decide who gets each message."""


for each in (runs, questions, look, connect, store_commands, conversations):
    app.add_typer(each)
app.add_typer(machines, name="machines", rich_help_panel="Queue")
