"""Sockets: the broker of a site, and who is connected to it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.options import place, whole
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Connect")

ClusterArgument = Annotated[
    Path, typer.Argument(metavar="FILE", parser=place, help="The cluster file (TOML).")
]


@command()
def device(
    cluster: ClusterArgument,
    bind: Annotated[
        list[str],
        typer.Option("--bind", metavar="ADDRESS", help="Where requests come in; repeatable."),
    ],
    workers: Annotated[
        list[str] | None,
        typer.Option(
            "--workers", metavar="ADDRESS", help="Where workers can connect, too; repeatable."
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The cluster, if there are several.")
    ] = "",
    max_ttl: Annotated[
        int,
        typer.Option(
            "--max-ttl",
            parser=whole("--max-ttl", 1, 15),
            metavar="NUMBER",
            help="A request that more brokers and workers have received is dropped.",
        ),
    ] = 8,
    attempts: Annotated[
        int,
        typer.Option(
            "--attempts",
            parser=whole("--attempts", 0, 1_000_000),
            metavar="NUMBER",
            help="A request that so many workers had when they went is dropped; 0: never.",
        ),
    ] = 10,
    resend: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Without anything from a worker: so long, and it hangs."
        ),
    ] = 60,
    retry: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Until one that hangs is tried for the first time."),
    ] = 1,
    heartbeat: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Between two words to other devices; 0: none."),
    ] = 2,
    buffer: Annotated[
        int,
        typer.Option(
            parser=whole("--buffer", 1, 1_000_000),
            metavar="NUMBER",
            help="Messages for one peer, or from one, that are held here.",
        ),
    ] = 128,
    max_size: Annotated[
        int,
        typer.Option(
            "--max-size",
            parser=whole("--max-size", 1, 1 << 40),
            metavar="BYTES",
            help="Of a message that is taken.",
        ),
    ] = 1 << 20,
    memory: Annotated[
        int,
        typer.Option(
            parser=whole("--memory", 1, 1 << 40),
            metavar="BYTES",
            help="Of messages that are held at each side; one peer may take a quarter.",
        ),
    ] = 1 << 26,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            parser=place,
            help="For --bind and --workers with tls+tcp: this machine's, in PEM.",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            parser=place,
            help="Its private key, if that is not in the same file.",
        ),
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(
            "--authority",
            metavar="FILE",
            parser=place,
            help="For destinations with tls+tcp: trust what these certificates have signed.",
        ),
    ] = None,
    clients: Annotated[
        Path | None,
        typer.Option(
            "--clients",
            metavar="FILE",
            parser=place,
            help="For --bind and --workers with tls+tcp: only who shows a certificate that these "
            "have signed may connect.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="PORT",
            help="Counters for Prometheus, on loopback; HOST:PORT for another address.",
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            "--journal",
            metavar="DIR",
            parser=place,
            help="Write what is decided there; a dispatch or replay reads it.",
        ),
    ] = None,
) -> None:
    """Run the broker of a site: requests of nanomsg and nng programs to the workers of a file.

    The destinations' addresses are the workers', or the brokers of other sites at a worse priority.

    Example: `fairlead device newyork.toml --bind tcp://*:5555`
    """
    from fairlead.cli.device import Files, run_device

    run_device(
        cluster,
        bind,
        workers or [],
        name=name,
        journal=journal,
        metrics=metrics,
        files=Files(certificate, key, authority, clients),
        options={
            "max_ttl": max_ttl,
            "attempts": attempts,
            "resend": resend,
            "retry": retry,
            "heartbeat": heartbeat or None,
            "buffer": buffer,
            "max_size": max_size,
            "memory": memory,
        },
    )


@command()
def endpoints(
    cluster: ClusterArgument,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Between two looks; 1 on a terminal. Without it, a pipe or a file gets one look.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One look.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines instead of a table.")] = False,
    drain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Give this peer nothing new; it finishes what it has."),
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="NAME", help="Give it work again.")] = None,
) -> None:
    """Show who is up, busy or down at a device that runs here, and how often each was chosen."""
    from fairlead.cli.device import show_endpoints

    show_endpoints(cluster, interval, once=once, as_json=as_json, drain=drain, resume=resume)
