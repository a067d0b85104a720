"""The command `recommend`: search on recorded traffic, verify, say why, write the cluster file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead import report
from fairlead.cli.dispatch import changes_from, own_changes
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.table import MessagesTable
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.rows import ATTEMPT
from fairlead.text import length, percent, plural

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.compiled.plan import Plan
    from fairlead.memory.prepared import PreparedMessages
    from fairlead.results.recommendation import Held, Recommendation

NOTHING_MEETS: Final = 3
"""The status where nothing was found that meets the target, on held-out traffic too."""
CLUSTER_FILE: Final = "recommended.toml"
NEAREST_FILE: Final = "nearest.toml"
"""Of what does not meet the target, and is not worse than the file as it is."""


def run_recommend(
    table: MessagesTable,
    cluster: Path,
    out: str,
    *,
    target: str,
    vary: Sequence[str],
    cost: Sequence[str],
    changes: Path | None,
    budget: int,
    overwrite: bool,
    command: str | None,
) -> int:
    """Everything that can be refused is refused before anything is read; returns the status.

    `command`: the line that a report shows as the way to this run; None: no report.
    """
    from fairlead.compiled.plan import Plan
    from fairlead.config.written import as_toml
    from fairlead.measure.facts import made
    from fairlead.recommend.goal import cost_of, target_of
    from fairlead.recommend.recommend import SearchRequest, recommend
    from fairlead.recommend.space import space_of
    from fairlead.runs.constants import RESERVED
    from fairlead.runs.folder import FolderDelivery
    from fairlead.runs.names import check_replayed
    from fairlead.runs.paths import RECOMMENDATION

    aim = target_of(target)
    clusters = load_clusters(cluster)
    if len(clusters) != 1:
        raise UserError(f"{cluster}: found {len(clusters)} clusters, allowed for recommend: one")
    (baseline,) = clusters
    path = own_changes(table, None if changes is None else str(changes))
    changes = None if path is None else Path(path)
    space, prices = space_of(baseline, vary), cost_of(cost, baseline)
    plan = Plan([baseline], changes_from(changes))
    if command is not None:
        report.check_installed()
    table.refuse((*RESERVED, *ATTEMPT), lambda names: check_replayed(names, table.called, [plan]))
    also = [cluster, *([changes] if changes else [])]
    place = FolderDelivery(out, overwrite=overwrite, read=table.where, also_read=also)
    with place as delivery, Stages(5) as stages:
        ready, rejected = _read(table, plan, stages)
        request = SearchRequest(space, aim, prices, plan.changes, budget)
        of_run = None if command is None else made(table.called, command)
        advice = recommend(ready, request, where=table.called, made=of_run, progress=stages)
        result = advice.recommendation
        if rejected:
            notes = [
                *result.notes,
                f"left out, because they are no messages: {plural(rejected, 'row')}",
            ]
            result = replace(result, notes=notes)
        delivery.write_json(RECOMMENDATION, result.to_dict())
        file = CLUSTER_FILE if result.met else NEAREST_FILE if result.said else None
        if file is not None:
            what = "Recommended for" if result.met else "The nearest, which does not keep"
            comment = f"{what} {aim.text}: {', '.join(result.said) or 'as it was'}."
            delivery.write_text(file, as_toml(advice.cluster, comment))
        if command is not None:
            with stages("report"):
                delivery.write_text(report.NAME, report.render_recommendation(result.to_dict()))
        delivery.finish()
    acted()
    _print(console(), result, out, file, page=command is not None)
    return 0 if result.met else NOTHING_MEETS


def _read(table: MessagesTable, plan: Plan, stages: Stages) -> tuple[PreparedMessages, int]:
    """The messages, ready to be replayed, and how many rows are none. Raises MessageError."""
    from fairlead.compiled.intake.accepted import accepted, one_tenant, unique
    from fairlead.compiled.intake.rows import refuse_other_units, validate
    from fairlead.memory.journal import messages_of
    from fairlead.memory.prepared import prepared

    with stages("read"):
        rows = validate(messages_of(table.read_here(), [plan], table.called), plan, worked=True)
        unique(rows)
        one_tenant(rows, [plan])
        if rows.reasons and not rows.good.any():
            refuse_other_units(rows, table.called)
        return prepared(accepted(rows), [plan]), len(rows.reasons)


def _print(to: Console, advice: Recommendation, out: str, file: str | None, *, page: bool) -> None:
    to.print(advice.verdict + ("" if advice.met else ":"), markup=False)
    for setting in advice.said or ["the cluster file as it is"]:
        to.print(f"  {printable(setting)}", markup=False)
    to.print("on traffic that the search never saw:", markup=False)
    _table(to, [advice.now, advice.then], "cluster")
    if advice.why:
        to.print("with one setting as in the file:", markup=False)
        _table(to, advice.why, f"{advice.then.name}, but")
    to.print("what breaks it:", markup=False)
    _table(to, advice.breaks, "what if")
    to.print(
        f"how sure: the target is met in {advice.tenths} of 10 tenths of the held-out time, and in "
        f"{percent(advice.sure)} of samples of these",
        markup=False,
    )
    for note in advice.notes:
        to.print(f"note: {note}", markup=False)
    if file is not None:
        to.print(f"cluster file: {Path(out) / file}", markup=False)
    if page:
        to.print(f"report: {Path(out) / report.NAME}", markup=False)


def _table(to: Console, every: Sequence[Held], what: str) -> None:
    rows = [
        {
            what: printable(cluster.name),
            "cost": f"{cluster.cost:g}",
            "p50": length(cluster.p50),
            "p99": length(cluster.p99),
            "longest": length(cluster.max),
            "never started": f"{cluster.unserved:,}" if cluster.unserved else "",
            "target": "met" if cluster.met else "missed",
        }
        for cluster in every
    ]
    numbers = ("cost", "p50", "p99", "longest", "never started")
    print_table(to, filled(rows, right=numbers))
