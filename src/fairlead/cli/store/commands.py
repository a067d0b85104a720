"""The store's commands and their options."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fairlead.cli.once import Once
from fairlead.cli.options import days, whole

if TYPE_CHECKING:
    from fairlead.store.store import Store

VARIABLE: Final = "FAIRLEAD_STORE"
DEFAULT: Final = "sqlite:///fairlead.db"
PANEL: Final = "Queue"

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)
upkeep = typer.Typer(no_args_is_help=True, help="Make and keep a store.")
upkeep_command = partial(upkeep.command, cls=Once)

Url = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="`sqlite:///work.db` or `postgresql://user@host/database`. Default: "
        f"`${VARIABLE}`, else `{DEFAULT}`. Others see arguments (`ps`): a password belongs into "
        f"`${VARIABLE}`, `$PGPASSWORD` or `~/.pgpass`.",
    ),
]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON lines instead of a table.")]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="This group, not the best one.")]
Priority = Annotated[
    int | None,
    typer.Option(
        parser=whole("--priority", 0, 255), metavar="NUMBER", help="0 to 255, the highest."
    ),
]


Most = Annotated[
    int,
    typer.Option(
        "--most", parser=whole("--most", 1, 10_000), metavar="NUMBER", help="At most so many."
    ),
]


def url_of(given: str | None) -> str:
    """The store's URL."""
    return given or os.environ.get(VARIABLE) or DEFAULT


def opened(given: str | None, *, create: bool | None = False) -> Store:
    """The store; `create`: as `Store.open` says, where only what writes makes a file."""
    from fairlead.store.store import Store

    return Store.open(url_of(given), create=create)


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

    with opened(store, create=None) as found:
        messages.send(
            found,
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

    with opened(store) as found:
        status = messages.take(
            found, queue, group=group, wait=wait, lease=lease, run=run, as_json=as_json
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

    with opened(store) as found:
        messages.peek(found, queue, group, most, as_json=as_json)


@command()
def queues(as_json: AsJson = False, store: Url = None) -> None:
    """What each queue holds.

    Messages; groups that are ready, worked on, or parked after a failure; messages that are
    delayed or dead letters; for how long the oldest ready group has waited; failures in a row.
    `--json` says how each queue is set, too.
    """
    from fairlead.cli.store import queues as shown

    with opened(store) as found:
        shown.queues(found, as_json=as_json)


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

    with opened(store) as found:
        shown.waiting(found, queue, most, as_json=as_json)


@command()
def promote(
    queue: QueueName,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group to raise.")],
    priority: Priority = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show whom it delays.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Raise a group, behind its equals; shows before it does so whom that delays.

    Without `--priority`, to the queue's default. On a terminal it asks.

    Example: `fairlead promote orders customer-7 --priority 200`
    """
    from fairlead.cli.store import queues as shown

    with opened(store) as found:
        shown.promote(found, queue, group, priority, yes=yes, dry=dry_run, as_json=as_json)


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
    most: Most = 100,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """List dead letters and why they are.

    Or send them again, to the end of their groups (`--retry`), or delete them (`--drop`).
    """
    from fairlead.cli.store import queues as shown
    from fairlead.errors import UserError

    if sum(map(bool, (retry, retry_all, drop, drop_all))) > 1:
        raise UserError(
            "dead: found several of --retry, --retry-all, --drop, --drop-all, allowed: one of them"
        )
    with opened(store) as found:
        if retry or retry_all:
            shown.retry(found, queue, retry or None)
        elif drop or drop_all:
            shown.discard(found, queue, drop or None)
        else:
            shown.dead(found, queue, most, as_json=as_json)


@command()
def declare(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A file of `[[queue]]`, `[[message_type]]`, `[[contract]]`, `[[service]]`.",
        ),
    ],
    store: Url = None,
) -> None:
    """Set queues, and declare services, as a file says; prints their names.

    All of it or nothing. What the file does not say of one gets its default. A new SQLite file is
    made if need be.

    Example: `fairlead declare queues.toml`
    """
    from fairlead.cli.store import queues as shown
    from fairlead.config.services import load_declared

    load_declared(file)  # a file with a fault makes no store
    with opened(store, create=None) as found:
        shown.declare(found, file)


@command()
def journal(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="CURSOR|TIME", help="Go on after the event with this cursor, or from a time."
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
    store: Url = None,
) -> None:
    """Print what happened in a store, as JSON lines; each event has its `cursor`.

    With `--messages` a row is a message that was accepted, with its `service_time`, or a raise.
    With `--decisions` a row is one destination of a message.

    Example: `fairlead journal --cluster pool --decisions --since 2026-11-16 > pool.jsonl`
    """
    from fairlead.cli.store import journal as shown

    with opened(store) as found:
        shown.journal(
            *(found, since, queue, cluster),
            messages=messages,
            decisions=decisions,
            changes=changes,
        )


@command()
def top(
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Between two looks.")
    ] = 1,
    once: Annotated[bool, typer.Option("--once", help="Two looks, one table.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Show what the queues hold and how fast they move, until Ctrl-C."""
    from fairlead.cli.store import top as live

    with opened(store) as found:
        live.top(found, interval, once=once, as_json=as_json)


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
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="After the first failure; doubles, up to 5 minutes."
        ),
    ] = 1,
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

    options = done.Options(queue, processes, threads, until_empty, check_interval)
    raise typer.Exit(
        done.work(url_of(store), handlers, Handling(lease, retry_delay), grace, options)
    )


@upkeep_command()
def init(store: Url = None) -> None:
    """Make the schema where there is none. A new SQLite file is made by the first `send`, too."""
    from fairlead.cli.store import upkeep as done

    done.init(url_of(store))


@upkeep_command()
def upgrade(
    lock_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.001, help="Wait so long for each lock that others hold."
        ),
    ] = 5,
    store: Url = None,
) -> None:
    """Bring a schema that is there up to this version; several may do so at one time.

    Where a transaction of somebody else is in the way, on PostgreSQL, nothing is changed: nobody
    has to wait behind the upgrade.
    """
    from fairlead.cli.store import upkeep as done

    done.init(url_of(store), lock_timeout, upgrade=True)


@upkeep_command()
def prune(
    keep: Annotated[
        float,
        typer.Option(
            "--keep", parser=days("--keep"), metavar="DAYS", help="Events of so many days stay."
        ),
    ] = 30,
    store: Url = None,
) -> None:
    """Forget events of the journal that are older, at once, and ids whose time is over."""
    from fairlead.cli.store import upkeep as done

    with opened(store) as found:
        done.prune(found, keep * 86400)


@upkeep_command()
def retention(
    keep: Annotated[
        float | None,
        typer.Argument(
            parser=days("DAYS"), metavar="[DAYS]", help="Keep events so long; 0: for ever."
        ),
    ] = None,
    store: Url = None,
) -> None:
    """Set for how many days events of the journal are kept, or say it; readers forget older ones.

    30, unless it is set.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as found:
        done.retention(found, keep)


@upkeep_command()
def check(
    repair: Annotated[bool, typer.Option("--repair", help="Put right what was found.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Look for what should not be there: messages that nobody would get, times in the future, ….

    Status 0: nothing was found; 1: something was, and `--repair` has put it right. It reads all
    there is.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as found:
        status = done.check(found, repair=repair, as_json=as_json)
    raise typer.Exit(status)


@upkeep_command()
def roles(store: Url = None) -> None:
    """Make the roles of a store on PostgreSQL: who sends, works, operates, or only looks.

    Roles that are there get the rights of this version, and no others: so do it after an upgrade.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as found:
        done.roles(found)


@upkeep_command()
def recover(store: Url = None) -> None:
    """After a backup was restored: take back all work; no program may use the store meanwhile.

    A new epoch of the journal begins, so that who reads on from a cursor of before misses nothing.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as found:
        done.recover(found)


app.add_typer(upkeep, name="store", rich_help_panel=PANEL)
