"""Handlers are called with the messages of queues and services."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.options import whole
from fairlead.cli.store.options import PANEL, Url, url_of
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


@command()
def work(
    handlers: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME|FILE.toml",
            help="In a module of yours: a mapping queue -> function, a Service, or a list of "
            "Services. Or a file with `[[service]]` tables that name their `handler`.",
        ),
    ],
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="NAME", help="Of a mapping only this one; repeatable."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            parser=whole("--processes", 1, 1000),
            metavar="NUMBER",
            help="Processes, started again when they die; default: this one. With services, each "
            "reader is a process, at most so many of a service.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            parser=whole("--threads", 1, 1000),
            metavar="NUMBER",
            help="Threads of each process; default: 1. With services, at most so many readers of "
            "a service; default: its `max_readers`.",
        ),
    ] = None,
    lease: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="Held so long, should this machine be lost."),
    ] = 60,
    retry_delay: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="After the first failure; doubles, up to 5 minutes. Default: what the queue's "
            "`retry` says, else 1.",
        ),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="To end what is in hand, when told to stop."),
    ] = 30,
    check_interval: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.01,
            help="With services: after each, one more reader is started if groups wait and no "
            "reader does; default: 5.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="[HOST:]PORT",
            help="Answer Prometheus there (`/metrics`): what the store holds, and, without "
            "--processes, what this process has done. Without HOST on loopback alone.",
        ),
    ] = None,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="Leave when there is nothing to take.")
    ] = False,
    store: Url = None,
) -> None:
    """Call functions with the messages of queues or services, until SIGTERM or Ctrl-C.

    A function takes `(message)`, and its group is accepted after it; or `(message, tx)`, and what
    it does in `tx` commits with that. An exception releases the group, with a growing delay;
    `fairlead.Reject` makes the message a dead letter. A second signal ends at once.

    Readers of a service come and go: none without work, at once one when something arrives, up to
    `max_readers` while groups wait.

    Examples: `fairlead work shop:handlers --processes 4`, `fairlead work shop.toml`
    """
    from fairlead.cli.store import work as done
    from fairlead.store.workers.handling import Handling

    options = done.WorkOptions(queue, processes, threads, until_empty, check_interval, metrics)
    raise typer.Exit(
        done.work(url_of(store), handlers, Handling(lease, retry_delay), grace, options)
    )
