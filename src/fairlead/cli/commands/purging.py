"""An operator empties queues of a store, and deletes them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.store.options import PANEL, QueueName, Url, Yes, opened
from fairlead.cli.strict_options import Once

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for the journal.")]


@command()
def purge(
    queue: QueueName,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="What waits in this group only.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="What waits for this tenant only.")
    ] = None,
    reason: Reason = None,
    yes: Yes = False,
    store: Url = None,
) -> None:
    """Delete what waits in a queue, and what is to arrive there later; on a terminal it asks.

    What readers hold stays, and what comes meanwhile; so do dead letters (`dead --drop-all`), and
    messages of conversations (`conversation --end`).

    Example: `fairlead purge orders --reason "sent twice"`
    """
    from fairlead.cli.store import purging as done

    with opened(store) as open_store:
        done.purge(open_store, queue, group, tenant, reason or "", yes=yes)


@command("delete-queue")
def delete_queue(
    queue: QueueName,
    purge: Annotated[
        bool, typer.Option("--purge", help="With what waits in it, and its dead letters.")
    ] = False,
    reason: Reason = None,
    yes: Yes = False,
    store: Url = None,
) -> None:
    """Delete a queue, how it was set, and the ids that it remembers; on a terminal it asks.

    Not one that is named elsewhere (by a service, a schedule, a destination), or that somebody
    reads; nor one that is not empty, without `--purge`. Who sends to it makes a new one.
    """
    from fairlead.cli.store import purging as done

    with opened(store) as open_store:
        done.delete_queue(open_store, queue, reason or "", purges=purge, yes=yes)
