"""What would be better is searched for on recorded traffic."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.options import (
    Changes,
    ClusterFile,
    Columns,
    Drop,
    InputFormat,
    Messages,
    NoReport,
    NumberRows,
    OfCluster,
    Out,
    Overwrite,
    ReadOptions,
    Since,
    Until,
    whole,
)
from fairlead.cli.store.options import Url
from fairlead.cli.strict_options import Once
from fairlead.extras import need

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel="Decide")


@command()
def recommend(
    context: typer.Context,
    out: Out,
    target: Annotated[
        str,
        typer.Option(metavar="CONDITION", help="What must hold, such as 'p99_wait < 2s'."),
    ],
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="WHAT",
            help="What may vary: 'weight of h100-* 1..16', 'readers of each *', 'policy'.",
        ),
    ],
    messages: Messages = None,
    cluster: ClusterFile = None,
    store: Url = None,
    of: OfCluster = None,
    since: Since = None,
    until: Until = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PRICE", help="What a reader costs, such as '3 of h100-*'; 1 where not said."
        ),
    ] = None,
    changes: Changes = None,
    budget: Annotated[
        int,
        typer.Option(
            parser=whole("--budget", 1, 1_000_000),
            metavar="NUMBER",
            help="How many clusters to try at most.",
        ),
    ] = 200,
    column: Columns = None,
    drop: Drop = None,
    number_rows: NumberRows = False,
    input_format: InputFormat = None,
    read_option: ReadOptions = None,
    overwrite: Overwrite = False,
    no_report: NoReport = False,
) -> None:
    """Search for the cheapest cluster that keeps a wait, on recorded traffic, in memory.

    MESSAGES is a table as for `replay`. The search sees the earlier two thirds of its time; what it
    finds is verified on the last third. The folder gets `recommended.toml`, `recommendation.json`
    and `report.html`: what to set, what it costs to wait less, why, and what breaks it.

    `--target` is about p99_wait, p90_wait, p50_wait, max_wait or mean_wait. A pattern varies all
    destinations that it names together; `each` varies every one by itself. `policy` tries
    round-robin, weighted, fewest-pending, and `nanomsg` with as much capacity as readers.

    Ends with status 3 if nothing in the space meets the target.

    Example: `fairlead recommend calls.csv -c pool.toml --target "p99_wait < 2s" --vary policy
    --vary "readers of * 1..8" -o better`
    """
    need("tables", "recommend")
    from fairlead.cli.recommend import run_recommend
    from fairlead.cli.recorded import AskedStore, line_of, traffic

    files: dict[str, object] = {
        "--number-rows": number_rows,
        "--input-format": input_format,
        "--read-option": read_option,
    }
    cluster_files = [] if cluster is None else [cluster]
    with traffic(
        messages, cluster_files, AskedStore(store, of, since, until), files=files
    ) as source:
        (cluster,) = source.clusters
        status = run_recommend(
            source.table(column, drop, number_rows, input_format, read_option),
            cluster,
            out,
            target=target,
            vary=vary,
            cost=cost or [],
            changes=changes,
            budget=budget,
            overwrite=overwrite,
            command=None if no_report else line_of(context.obj),
        )
    raise typer.Exit(status)
