"""Whole tables are decided on: once, as they come, and with readers."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.options import (
    NEEDED,
    ChangesAnywhere,
    ClusterFile,
    Columns,
    Drop,
    EngineName,
    EngineOption,
    Every,
    FailIf,
    FilesABatch,
    Format,
    Horizon,
    InputFormat,
    Master,
    Messages,
    NoReport,
    NumberRows,
    OfCluster,
    OptionalOut,
    Out,
    Overwrite,
    ReadOptions,
    ResultFormat,
    RowsOption,
    RowsWritten,
    Since,
    Until,
    place,
    refuse_of_spark,
    refuse_with,
    whole,
)
from fairlead.cli.store.options import Url
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError
from fairlead.extras import need


class Others(StrEnum):
    """What becomes of those who would publish meanwhile."""

    wait = "wait"
    refuse = "refuse"


app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Decide")
DAY, EVERY = 86_400.0, 10.0
"""What a stream has where nothing else is said, in seconds."""


@command()
def dispatch(
    context: typer.Context,
    messages: Messages = None,
    cluster: ClusterFile = None,
    out: OptionalOut = None,
    store: Url = None,
    of: OfCluster = None,
    since: Since = None,
    until: Until = None,
    changes: ChangesAnywhere = None,
    column: Columns = None,
    drop: Drop = None,
    number_rows: NumberRows = False,
    input_format: InputFormat = None,
    read_option: ReadOptions = None,
    format: Format = ResultFormat.parquet,  # noqa: A002 - the option is called so
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
    deliver: Annotated[
        str | None,
        typer.Option(
            "--deliver",
            metavar="URL",
            help="Publish the messages into the queues of this store, which decides: "
            "`sqlite:///work.db` or `postgresql://user@host/database`.",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="With --deliver: the run's name, under which the store takes it once. Default: "
            "made of the files.",
        ),
    ] = None,
    body: Annotated[
        list[str] | None,
        typer.Option(
            "--body",
            metavar="COLUMN",
            help="With --deliver: the column of the body; several make one of JSON. Default: "
            "`body`.",
        ),
    ] = None,
    others: Annotated[
        Others | None,
        typer.Option(
            "--others",
            help="With --deliver: whoever publishes to the same clusters meanwhile waits, or is "
            "refused at once. Default: wait.",
        ),
    ] = None,
    kafka: Annotated[
        str | None,
        typer.Option(
            "--kafka",
            metavar="HOST:PORT",
            help="With --follow: a broker of the topic kafka:TOPIC, or several with commas.",
        ),
    ] = None,
    fail_if: FailIf = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only look: rows, rejections, times, what looks wrong."),
    ] = False,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    engine: EngineOption = EngineName.spark,
    master: Master = None,
) -> None:
    """Route a whole table of messages, as the live balancer would: on Spark, or in memory.

    MESSAGES is CSV (with a header), JSON lines or Parquet with the columns `id` and `time` (a
    timestamp, or a number of seconds); `--column` makes them from what the table has. The folder
    gets `decisions/`, `rejected/`, `summary.json` and `report.html`, all at once when everything
    is done.

    With `--follow` MESSAGES is a folder, and files that are moved into it are decided on in
    micro-batches; or it is kafka:TOPIC. The same command goes on where it ended.

    With `--deliver` a store decides, as if each message had been published there: all of them are
    in its queues afterwards, or none. The folder, if there is one, gets `rejected/` and
    `delivered.json`.

    `--fail-if` looks at rejected, no_destination and not_routed, as a number or in per cent.

    With `--of` there is no MESSAGES: what a cluster of a store has decided is decided anew.

    Example: `fairlead dispatch calls.csv -c pool.toml -o routed --column "time=started_at"`
    """
    need(NEEDED[engine], "dispatch")
    if engine is EngineName.memory:
        refuse_of_spark({"--master": master, "--horizon": horizon, "--follow": follow})
    from fairlead.cli.dispatch import run_dispatch
    from fairlead.cli.recorded import LOCAL, AskedStore, line_of, traffic
    from fairlead.cli.stream_options import FollowOptions, refuse_without_follow

    of_streams: dict[str, object] = {
        "--available-now": available_now,
        "--every": every,
        "--files-a-batch": files_a_batch,
        "--kafka": kafka,
    }
    stream = FollowOptions(horizon or DAY, every or EVERY, files_a_batch, available_now, kafka)
    files: dict[str, object] = {
        "--number-rows": number_rows,
        "--input-format": input_format,
        "--read-option": read_option,
        "--follow": follow,
        "--deliver": deliver,
    }
    of_store = AskedStore(store, of, since, until)
    where = master if engine is EngineName.spark else LOCAL
    cluster_files = [] if cluster is None else [cluster]
    with traffic(messages, cluster_files, of_store, files=files, master=where) as source:
        table = source.table(column, drop, number_rows, input_format, read_option, topics=follow)
        (cluster,) = source.clusters
        if deliver is not None:
            from fairlead.cli.deliver import DeliverOptions, run_deliver, run_deliver_stream

            unfit: dict[str, object] = {"--dry-run": dry_run, "--changes": changes}
            unfit |= {"--horizon": horizon, "--no-report": no_report}
            refuse_with("--deliver", unfit | {"--engine memory": engine is EngineName.memory})
            options = DeliverOptions(deliver, run, body or [], others and others.value)
            if follow:
                unfit = {"--overwrite": overwrite, "--fail-if": fail_if, "--trust-ids": trust_ids}
                refuse_with("--follow", unfit | {"--format": format is not ResultFormat.parquet})
                if out is None:
                    raise UserError("--out: found nothing, allowed with --follow: a folder")
                run_deliver_stream(table, cluster, out, options, master=master, follow=stream)
                return
            refuse_without_follow(of_streams)
            status = run_deliver(
                table,
                cluster,
                out,
                options,
                file_format=format.value,
                trust_ids=trust_ids,
                fail_if=fail_if or [],
                overwrite=overwrite,
                master=master,
            )
            raise typer.Exit(status)
        of_deliveries = {"--run": run, "--body": body, "--others": others}
        for name in (name for name, value in of_deliveries.items() if value):
            raise UserError(f"{name}: found without --deliver, allowed: with it")
        if dry_run:
            refuse_with("--dry-run", {"--follow": follow, "--horizon": horizon})
            from fairlead.cli.dry_run import run_dry

            status = run_dry(
                table,
                cluster,
                changes,
                out,
                file_format=format.value,
                fail_if=fail_if or [],
                overwrite=overwrite,
                page=not no_report,
                trust_ids=trust_ids,
                engine=engine,
                master=master,
            )
            raise typer.Exit(status)
        if out is None:
            raise UserError("--out: found nothing, allowed: a folder for the results, or --dry-run")
        whole_line = None if no_report else line_of(context.obj)
        if follow:
            from fairlead.cli.follow import run_follow

            if overwrite:
                raise UserError(
                    "--overwrite: found with --follow, which goes on with what is there"
                )
            refuse_with("--follow", {"--fail-if": fail_if})
            run_follow(
                table,
                cluster,
                out,
                changes=changes,
                file_format=format.value,
                trust_ids=trust_ids,
                master=master,
                command=whole_line,
                follow=stream,
            )
            return
        refuse_without_follow(of_streams)
        status = run_dispatch(
            table,
            cluster,
            out,
            changes=changes,
            file_format=format.value,
            trust_ids=trust_ids,
            horizon=horizon,
            fail_if=fail_if or [],
            overwrite=overwrite,
            engine=engine,
            master=master,
            command=whole_line,
        )
    raise typer.Exit(status)


@command()
def replay(
    context: typer.Context,
    out: Out,
    messages: Messages = None,
    cluster: Annotated[
        list[Path] | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="FILE",
            parser=place,
            help="A cluster file (or a folder of them); repeatable, each is a scenario. With --of "
            "by default the store's.",
        ),
    ] = None,
    store: Url = None,
    of: OfCluster = None,
    since: Since = None,
    until: Until = None,
    changes: ChangesAnywhere = None,
    column: Columns = None,
    drop: Drop = None,
    number_rows: NumberRows = False,
    input_format: InputFormat = None,
    read_option: ReadOptions = None,
    format: Format = ResultFormat.parquet,  # noqa: A002 - the option is called so
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
    window: Annotated[
        list[str] | None,
        typer.Option(
            "--window",
            metavar="NAME=START..END",
            help="Tell the waits of messages sent in this time; repeatable.",
        ),
    ] = None,
    rows: RowsOption = RowsWritten.all,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
    engine: EngineOption = EngineName.spark,
    master: Master = None,
) -> None:
    """Replay recorded messages: who would have waited how long, in each scenario.

    A scenario is a cluster file, or what a file of --scenarios makes of one.

    MESSAGES is a table as for `dispatch`, with `service_time` (seconds that each message takes),
    and perhaps `priority`, `group`, `tenant`, `cost` and `rollbacks`. The folder gets
    `comparison.json`, `rejected/`, `report.html` and, for each scenario, a folder with its
    `decisions/`.

    `--fail-if` looks at mean_wait, p50_wait, p90_wait, p99_wait, max_wait (with ms, s, min or h),
    waiting, redeliveries and groups_out_of_order; 'p99_wait in storm > 2h' looks into a --window.

    With `--of` there is no MESSAGES: what a cluster of a store has decided is replayed.

    Example: `fairlead replay calls.csv -c pool.toml -c pool-new.toml -o replayed`
    """
    need(NEEDED[engine], "replay")
    if engine is EngineName.memory:
        refuse_of_spark({"--master": master})
    from fairlead.cli.recorded import LOCAL, AskedStore, line_of, traffic
    from fairlead.cli.replay import run_replay

    files: dict[str, object] = {
        "--number-rows": number_rows,
        "--input-format": input_format,
        "--read-option": read_option,
    }
    of_store = AskedStore(store, of, since, until)
    where = master if engine is EngineName.spark else LOCAL
    with traffic(messages, cluster or [], of_store, files=files, master=where) as source:
        status = run_replay(
            source.table(column, drop, number_rows, input_format, read_option),
            source.clusters,
            out,
            changes=changes,
            file_format=format.value,
            scenario_file=scenarios,
            scale=scale_rate,
            seed=seed,
            fail_if=fail_if or [],
            window=window or [],
            rows=rows.value,
            overwrite=overwrite,
            engine=engine,
            master=master,
            command=None if no_report else line_of(context.obj),
        )
    raise typer.Exit(status)
