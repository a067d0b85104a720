"""Serve a store to programs of other languages."""

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
def serve(
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="`amqp://HOST:PORT`, or `amqps://HOST:PORT` with TLS; repeatable. Default: what "
            "the file of --settings says, else `amqp://127.0.0.1:5672`.",
        ),
    ] = None,
    clusters: Annotated[
        list[Path] | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="FILE",
            parser=place,
            help="Begin with the clusters of this file, unless they are there already; repeatable.",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            parser=place,
            help="Users, rights, limits and certificates (TOML). Without it only programs on this "
            "machine can connect.",
        ),
    ] = None,
    lease: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, help="Held so long, should this machine be lost."),
    ] = 60,
    grace: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="To end what is in hand, when told to stop."),
    ] = 5,
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="This server's, where several serve one store: subjects count for each.",
        ),
    ] = "",
    manager: Annotated[
        str,
        typer.Option(
            "--queue-manager",
            metavar="NAME",
            help="The queue manager that this store is, of the file of --cluster: what is put to "
            "queues elsewhere goes there on its channels.",
        ),
    ] = "",
    forward: Annotated[
        bool,
        typer.Option(
            "--forward",
            help="Send what waits for destinations at a URL to them, too, as `fairlead forward` "
            "does with the files of --cluster.",
        ),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Leave when somebody was there and everybody is gone.")
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", metavar="ADDRESS", help="Answer Prometheus at HOST:PORT, or PORT here."
        ),
    ] = None,
    store: Url = None,
) -> None:
    """Serve queues and clusters to programs that speak AMQP 1.0, until SIGTERM or Ctrl-C.

    They send to a queue, receive from it, or send to a cluster, whose policy chooses the queue. A
    message is accepted when it is in the store.

    Example: `fairlead serve --store sqlite:///work.db`
    """
    from fairlead.cli import serve as done

    options = done.ServeOptions(
        listen or (), clusters or (), settings, lease, grace, once, name, metrics, manager, forward
    )
    done.serve(url_of(store), options)
