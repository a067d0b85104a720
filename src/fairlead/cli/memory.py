"""The engine in memory for commands: read, run, and write what Spark would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from fairlead.runs import run_folder
from fairlead.runs.disk_full import writing
from fairlead.runs.folder import of_this_machine
from fairlead.runs.paths import COMPARISON, SUMMARY

if TYPE_CHECKING:
    from fairlead.cli.progress import Stages
    from fairlead.cli.table import MessagesTable
    from fairlead.compiled.plan import Plan
    from fairlead.results.comparison import Comparison, Window
    from fairlead.results.summary import Summary
    from fairlead.runs.delivery import ResultsDelivery


def dispatch_in_memory(
    table: MessagesTable,
    plan: Plan,
    delivery: ResultsDelivery,
    file_format: str,
    stages: Stages,
    *,
    trust_ids: bool,
    command: str | None,
) -> Summary:
    """Dispatch a table into a delivery, which the caller finishes."""
    from fairlead.memory.dispatch import MemoryOptions, run

    options = MemoryOptions(
        where=table.called,
        file_format=file_format,
        trust_ids=trust_ids,
        command=command,
        progress=stages,
    )
    place = of_this_machine(delivery)
    with stages("read"):
        intake = table.read_here()
    with writing(place.final):
        result = run(intake, plan.clusters, plan.changes, place.making, options)
    delivery.write_json(run_folder.MANIFEST, result.manifest)
    delivery.write_json(SUMMARY, result.summary.to_dict())
    return result.summary


def replay_in_memory(
    table: MessagesTable,
    plans: Mapping[str, Plan],
    differs: Mapping[str, Sequence[str]],
    delivery: ResultsDelivery,
    file_format: str,
    stages: Stages,
    *,
    rows: str,
    windows: Sequence[Window],
    scaled: Mapping[str, tuple[Decimal, int]],
    command: str | None,
) -> Comparison:
    """Replay a table into a delivery, which the caller finishes."""
    from fairlead.memory.dispatch import MemoryOptions
    from fairlead.memory.replay import run
    from fairlead.replay.scale import Scale

    options = MemoryOptions(
        where=table.called,
        file_format=file_format,
        rows=rows,
        windows=windows,
        command=command,
        progress=stages,
    )
    place = of_this_machine(delivery)
    with stages("read"):
        intake = table.read_here()
    with writing(place.final):
        rates = {name: Scale(*scale) for name, scale in scaled.items()}
        result = run(intake, plans, place.making, options, scaled=rates, differs=differs)
    for scenario in result.scenarios:
        run_folder.write_scenario(
            delivery, scenario.folder, plans[scenario.name], file_format, rows
        )
    delivery.write_json(COMPARISON, result.to_dict())
    return result
