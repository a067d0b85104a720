"""Messages of a store: one is sent, taken, looked at."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.options import whole
from fairlead.cli.store.options import PANEL, AsJson, Group, Most, Priority, QueueName, Url, opened
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


@command()
def send(
    queue: QueueName,
    body: Annotated[
        str | None, typer.Argument(metavar="[BODY|-]", help="A text; - reads the input.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its group: these go in order.")
    ] = None,
    priority: Priority = None,
    id: Annotated[  # noqa: A002 - the option is called so
        str | None, typer.Option("--id", help="Of your own; one that is known is not sent again.")
    ] = None,
    type: Annotated[str | None, typer.Option("--type", help="What it is.")] = None,  # noqa: A002
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Whose it is.")] = None,
    cost: Annotated[
        int | None,
        typer.Option(
            parser=whole("--cost", 1, 10**9), metavar="NUMBER", help="What it is charged."
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Seconds until it arrives, or a timestamp (UTC)."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Seconds, or a timestamp: not wanted any more then."),
    ] = None,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines",
            help='Each line of the input is a message: {"body": …, "group": …}; the options are '
            "for those that do not say it.",
        ),
    ] = False,
    store: Url = None,
) -> None:
    """Send a message; prints its id.

    The queue is created if need be, and a new SQLite file too. `--lines` sends all or none.

    Example: `fairlead send orders "pack 17" --group customer-7`
    """
    from fairlead.cli.store import messages

    with opened(store, create=None) as open_store:
        messages.send(
            open_store,
            queue,
            body,
            lines=lines,
            group=group,
            priority=priority,
            id=id,
            type=type,
            tenant=tenant,
            cost=cost,
            delay=delay,
            expires=expires,
        )


@command()
def take(
    queue: QueueName,
    group: Group = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="Wait so long for a group.")] = 0,
    lease: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Held so long, should this machine be lost."),
    ] = 60,
    run: Annotated[
        str | None,
        typer.Option(
            "--exec",
            metavar="COMMAND",
            help="A shell command, run for each message with the body as its input.",
        ),
    ] = None,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Take the best group, print its messages' bodies, and accept it.

    With `--exec` it is accepted when the command ended with status 0 for each message; otherwise
    it is released, which counts as a failure, and the status is 4. The command's environment has
    FAIRLEAD_QUEUE, _GROUP, _ID, _TYPE, _TENANT and _ATTEMPT. Status 3: there was nothing to take.

    Example: `fairlead take orders --wait 10 --exec ./pack.sh`
    """
    from fairlead.cli.store import messages

    with opened(store) as open_store:
        status = messages.take(
            open_store, queue, group=group, wait=wait, lease=lease, run=run, as_json=as_json
        )
    raise typer.Exit(status)


@command()
def peek(
    queue: QueueName,
    group: Group = None,
    most: Most = 10,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Print the messages of the group that would be taken next; nobody takes them."""
    from fairlead.cli.store import messages

    with opened(store) as open_store:
        messages.peek(open_store, queue, group, most, as_json=as_json)
