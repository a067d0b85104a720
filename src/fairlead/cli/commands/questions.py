"""What is asked of decisions: what would change, what did, and why."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairlead.balance.message import WHOLE_NUMBERS
from fairlead.cli.options import (
    NEEDED,
    Changes,
    ChangesAnywhere,
    EngineName,
    EngineOption,
    Master,
    OfCluster,
    Overwrite,
    Since,
    Until,
    one_of,
    path,
    place,
    refuse_of_spark,
    run_place,
    whole,
)
from fairlead.cli.store.options import Url
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError
from fairlead.extras import need

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Decide")


@command()
def whatif(
    promote: Annotated[str, typer.Option("--promote", metavar="GROUP", help="The group to raise.")],
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="When: seconds, or a timestamp (UTC).")
    ],
    out: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT",
            parser=run_place,
            help="A scenario's folder of replay, such as replayed/pool; with --of there is none.",
        ),
    ] = None,
    store: Url = None,
    of: OfCluster = None,
    since: Since = None,
    until: Until = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            "--cluster",
            "-c",
            parser=place,
            metavar="FILE",
            help="With --of: replay under this file. Default: as the store has the cluster.",
        ),
    ] = None,
    changes: ChangesAnywhere = None,
    priority: Annotated[
        int,
        typer.Option(
            parser=whole("--priority", *WHOLE_NUMBERS["priority"]),
            metavar="NUMBER",
            help="To which priority; 255 is the highest.",
        ),
    ] = 255,
    engine: EngineOption = EngineName.spark,
    master: Master = None,
) -> None:
    """Raise a group in a replayed scenario: when it would go, whom that delays and by how much.

    The order of the scenario must be by priority (`[order] discipline = "priority"`).

    With `--of` there is no OUT: what a cluster of a store has decided is replayed first, as
    `replay --of` does it.

    Example: `fairlead whatif replayed/pool --promote g17 --at 1200`
    """
    need(NEEDED[engine], "whatif")
    if engine is EngineName.memory:
        refuse_of_spark({"--master": master})
    from fairlead.cli.recorded import LOCAL, AskedStore, recorded
    from fairlead.cli.whatif import run_whatif, run_whatif_of

    of_store = AskedStore(store, of, since, until)
    only_of = {"--cluster": cluster, "--changes": changes}
    if of is not None:
        where = master if engine is EngineName.spark else LOCAL
        with recorded(out, of_store, "OUT", files={}, master=where, by_time=True) as recording:
            files = recording.clusters if cluster is None else [cluster]
            run_whatif_of(recording, files, changes, promote, at, priority, engine, master)
        return
    of_store.refuse_alone()
    for name in (name for name, value in only_of.items() if value is not None):
        raise UserError(f"{name}: found without --of, allowed: with --of CLUSTER")
    if out is None:
        raise UserError("Missing argument 'OUT', or --of CLUSTER of a --store.")
    run_whatif(out, promote, at, priority, engine, master)


@command()
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="OUT_A",
            parser=run_place,
            help="A folder of dispatch, or a scenario's of replay, or a journal.",
        ),
    ],
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT_B",
            parser=run_place,
            help="Another one of the same messages; with --of there is no OUT_A.",
        ),
    ] = None,
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
    store: Url = None,
    of: OfCluster = None,
    since: Since = None,
    until: Until = None,
    overwrite: Overwrite = False,
    engine: EngineOption = EngineName.spark,
    master: Master = None,
) -> None:
    """Compare two runs: which messages and groups moved, who gains, who loses.

    A journal, of a live balancer say, counts as a run; with `--of` what a cluster of a store has
    decided takes the place of OUT_A. Also two scenarios of a replay: which messages start sooner,
    and which later.

    `--fail-if` looks at moved, no_longer_routed, newly_routed, groups_moved, sooner, later,
    only_before or only_after (messages that one run has and the other not), as a number or in per
    cent.

    Example: `fairlead diff old new --fail-if "moved > 5%" --fail-if "no_longer_routed > 0"`
    """
    need(NEEDED[engine], "diff")
    if engine is EngineName.memory:
        refuse_of_spark({"--master": master})
    from fairlead.cli.diff import run_diff
    from fairlead.cli.recorded import LOCAL, AskedStore, compared

    of_store = AskedStore(store, of, since, until)
    where = master if engine is EngineName.spark else LOCAL
    with compared(before, after, of_store, master=where) as runs:
        status = run_diff(
            *runs,
            out=out,
            fail_if=fail_if or [],
            overwrite=overwrite,
            engine=engine,
            master=master,
        )
    raise typer.Exit(status)


@command()
def explain(
    out: Annotated[
        str | None,
        typer.Argument(
            metavar="[OUT]",
            parser=run_place,
            help="A folder that dispatch wrote, a scenario's of replay, a journal, or a cluster of "
            "--store; needs --id.",
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
    engine: Annotated[
        EngineName | None,
        typer.Option(
            metavar="ENGINE",
            parser=one_of("--engine", EngineName),
            help="`memory`, or `spark` for a place elsewhere; by default what the place needs.",
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
        from fairlead.cli.explain_interval import explain_between

        others = (cluster, changes, message, id, queue, first, second, store)
        if out is None or count != 1 or any(value is not None for value in others):
            raise UserError(
                "explain --between goes with a device's journal, and nothing else: "
                "fairlead explain JOURNAL --between TIME TIME"
            )
        explain_between(Path(out), *between)
        return
    from fairlead.cli.explain import check_engine, run_explain

    check_engine(engine, out)
    order = (queue, first, second)
    run_explain(out, cluster, changes, message or [], count, id, store, order)
