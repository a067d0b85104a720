"""Let messages leave a store for services outside."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.options import place
from fairlead.cli.store.options import Url, url_of
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Connect")


@command()
def forward(
    clusters: Annotated[
        list[Path],
        typer.Option(
            "--cluster",
            "-c",
            metavar="FILE",
            parser=place,
            help="Of clusters whose destinations have a URL as their address; they begin unless "
            "they are there already. Repeatable.",
        ),
    ],
    lease: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, help="Held so long, should this machine be lost."),
    ] = 60,
    grace: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="To end what is under way, when told to stop."),
    ] = 30,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="Leave when there is nothing to take.")
    ] = False,
    store: Url = None,
) -> None:
    """Send what waits for destinations outside to them, until SIGTERM or Ctrl-C.

    At most `readers` messages are under way to a destination at one time, those of a group one
    after another. HTTP: 2xx: done; 408, 425, 429, 5xx, or no answer: again, later; other 4xx: a
    dead letter. AMQP: accepted: done; rejected: a dead letter; else again.

    Example: `fairlead forward --store sqlite:///work.db -c services.toml`
    """
    from fairlead.cli import forward as done

    done.forward(url_of(store), clusters, lease, grace, until_empty=until_empty)
