"""Queues of a store: what they hold, in which order, how they are set, what happened."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.balance.objects import repr_of
from fairlead.cli.options import whole
from fairlead.cli.store.options import (
    PANEL,
    AsJson,
    Most,
    Priority,
    QueueName,
    Url,
    Yes,
    opened,
)
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError
from fairlead.store.arguments import MAX_NUMBER

app = typer.Typer()
All = Annotated[
    bool,
    typer.Option("--all", help="In a table the internal queues of servers, too; JSON has them."),
]
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


@command()
def queues(
    by: Annotated[
        str | None, typer.Option(metavar="tenant", help="A row for each tenant of a queue.")
    ] = None,
    internal: All = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """What each queue holds.

    Messages; groups that are ready, worked on, or parked after a failure; messages that are
    delayed or dead letters; for how long the oldest ready group has waited; failures in a row.
    `--json` says how each queue is set, too.
    """
    from fairlead.cli.store import queues as shown

    if by not in (None, "tenant"):
        raise UserError(f"queues --by: found {repr_of(by)}, allowed: tenant")
    with opened(store) as open_store:
        if by is None:
            shown.queues(open_store, internal=internal, as_json=as_json)
        else:
            shown.queues_by_tenant(open_store, internal=internal, as_json=as_json)


@command()
def metrics(
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Answer Prometheus there (`/metrics`) until a signal comes, instead of printing "
            "once. Without HOST on loopback alone.",
        ),
    ] = None,
    store: Url = None,
) -> None:
    """What each queue holds, and how often destinations were chosen, as Prometheus reads it."""
    from fairlead.cli.store import metrics as shown

    with opened(store) as open_store:
        shown.metrics(open_store, listen)


@command()
def waiting(
    queue: QueueName,
    most: Most = 20,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """The groups in the order in which they would be taken, and why the first is the first.

    After them what cannot be taken yet, and until when: groups that were released with a delay, and
    messages that were sent with one.
    """
    from fairlead.cli.store import queues as shown

    with opened(store) as open_store:
        shown.waiting(open_store, queue, most, as_json=as_json)


@command()
def held(
    queue: Annotated[
        str | None, typer.Argument(metavar="[QUEUE]", help="Of this queue; without it, of all.")
    ] = None,
    take_back: Annotated[
        list[int] | None,
        typer.Option(
            "--take-back",
            metavar="TOKEN",
            parser=whole("--take-back", 0, MAX_NUMBER),
            help="Take the work with this token back from its reader; repeatable.",
        ),
    ] = None,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="With --take-back: it counts as a failure of its message."),
    ] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="With --take-back: why, for the journal."),
    ] = None,
    most: Most = 100,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """What readers hold, who they are and since when; the longest first.

    What is taken back can be taken at once. Its reader learns of it when it settles the work; what
    it does until then is done twice.

    Example: `fairlead held orders --take-back 4711`
    """
    from fairlead.cli.store import queues as shown

    if take_back is None and (failed or reason is not None):
        raise UserError("held: found --failed or --reason alone, allowed: with --take-back")
    with opened(store) as open_store:
        if take_back is None:
            shown.held(open_store, queue, most, as_json=as_json)
        else:
            shown.take_back(open_store, queue, take_back, reason or "", failed=failed)


@command()
def promote(
    queue: QueueName,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group to raise.")],
    priority: Priority = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show whom it delays.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Raise a group, behind its equals, and show whom that delays.

    Without `--priority`, to the queue's default. On a terminal it shows that first, and asks.

    Example: `fairlead promote orders customer-7 --priority 200`
    """
    from fairlead.cli.store import queues as shown

    with opened(store) as open_store:
        shown.promote(open_store, queue, group, priority, yes=yes, dry=dry_run, as_json=as_json)


@command()
def dead(
    queue: QueueName,
    retry: Annotated[
        list[str] | None,
        typer.Option("--retry", metavar="ID", help="Send this one again; repeatable."),
    ] = None,
    retry_all: Annotated[bool, typer.Option("--retry-all", help="Send all again.")] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="ID", help="Delete this one; repeatable."),
    ] = None,
    drop_all: Annotated[bool, typer.Option("--drop-all", help="Delete all.")] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Only those whose reason begins with this text."),
    ] = None,
    yes: Yes = False,
    most: Most = 100,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Count dead letters by reason, and list them.

    Or send them again, to the end of their groups (`--retry`), or delete them (`--drop`). On a
    terminal `--drop-all` asks.

    Example: `fairlead dead mails --retry-all --reason "TimeoutError"`
    """
    from fairlead.cli.store import dead_letters as shown

    if sum(map(bool, (retry, retry_all, drop, drop_all))) > 1:
        raise UserError(
            "dead: found several of --retry, --retry-all, --drop, --drop-all, allowed: one of them"
        )
    if reason is not None and (retry or drop):
        raise UserError(
            f"dead: found --reason with {'--retry' if retry else '--drop'}, allowed: alone, with "
            "--retry-all, or with --drop-all"
        )
    with opened(store) as open_store:
        if retry or retry_all:
            shown.retry(open_store, queue, retry or None, reason)
        elif drop or drop_all:
            shown.discard(open_store, queue, drop or None, reason, yes=yes)
        else:
            shown.dead(open_store, queue, most, reason, as_json=as_json)


@command()
def declare(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A file of `[[queue]]`, `[[message_type]]`, `[[contract]]`, `[[service]]`, "
            "`[[schedule]]`.",
        ),
    ],
    store: Url = None,
) -> None:
    """Set queues, and declare services and schedules, as a file says; prints their names.

    All of it or nothing. What the file does not say of one gets its default. A new SQLite file is
    made if need be.

    Example: `fairlead declare queues.toml`
    """
    from fairlead.cli.store import queues as shown
    from fairlead.config.services import load_declared

    load_declared(file)  # a file with a fault makes no store
    with opened(store, create=None) as open_store:
        shown.declare(open_store, file)


@command()
def journal(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="CURSOR|TIME",
            help="Go on after the event with this cursor, or from a time; 02:00 is "
            "the last one, in UTC, and `90s`, `15m`, `1h` or `2d` is so long ago.",
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Of this queue only.")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this cluster only.")
    ] = None,
    messages: Annotated[
        bool,
        typer.Option("--messages", help="The queue's messages instead, as `replay` takes them."),
    ] = False,
    decisions: Annotated[
        bool,
        typer.Option(
            "--decisions",
            help="The cluster's decisions instead, as `dispatch`, `replay` and `diff` take them.",
        ),
    ] = False,
    changes: Annotated[
        bool,
        typer.Option("--changes", help="The cluster's changes instead, as `--changes` takes them."),
    ] = False,
    file: Annotated[
        bool,
        typer.Option(
            "--file", help="The cluster's file instead, with all that were ever added to it."
        ),
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(parser=whole("--last", 1, 1_000_000), metavar="N", help="The last N only."),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="NAME", help="Of this group only.")] = None,
    id: Annotated[  # noqa: A002 - the option is called so
        str | None, typer.Option("--id", metavar="ID", help="Of this message only.")
    ] = None,
    actor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Of whoever's name begins so only.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Of this kind only, such as `rejected`; repeatable."),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Without what an event does not have.")
    ] = False,
    store: Url = None,
) -> None:
    """Print what happened in a store, as JSON lines; each event has its `cursor`.

    With `--messages` a row is a message that was accepted, with its `service_time`, or a raise.
    With `--decisions` a row is one destination of a message.

    Example: `fairlead journal --cluster pool --decisions --since 2026-11-16 > pool.jsonl`
    """
    from fairlead.cli.store import journal as shown

    with opened(store) as open_store:
        shown.journal(
            *(open_store, since, queue, cluster),
            messages=messages,
            decisions=decisions,
            changes=changes,
            file=file,
            wanted=shown.PrintedEvents(last, group, id, actor, tuple(kind or ()), short),
        )


@command()
def top(
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Between two looks.")
    ] = 1,
    once: Annotated[bool, typer.Option("--once", help="Two looks, one table.")] = False,
    internal: All = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Show what the queues hold and how fast they move, until Ctrl-C."""
    from fairlead.cli.store import top as live

    with opened(store) as open_store:
        live.top(open_store, interval, once=once, internal=internal, as_json=as_json)
