"""Show a store in a browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.options import place
from fairlead.cli.store.options import PANEL, Url, url_of
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


@command()
def console(
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Default: what the file of --settings says, else `127.0.0.1:8765`.",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            parser=place,
            help="Users, certificates and limits (TOML). Without it only who knows the address "
            "that is printed gets in, from this machine.",
        ),
    ] = None,
    store: Url = None,
) -> None:
    """Show what waits and why in a browser, and change it there, until SIGTERM or Ctrl-C.

    Each change is the verb that the command line has; the journal says who has done it.

    Example: `fairlead console --store sqlite:///work.db`
    """
    from fairlead.cli.console import serve_console

    serve_console(url_of(store), listen, settings)
