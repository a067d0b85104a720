"""`dispatch --dry-run`: look at a table, and decide nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.balance.times import MICROS
from fairlead.cli.dispatch import (
    GATES,
    changes_here,
    check_out,
    files_here,
    judged_rows,
    own_changes,
    refuse_elsewhere,
)
from fairlead.cli.fail_if import gate
from fairlead.cli.options import EngineName
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console
from fairlead.cli.spark import started
from fairlead.cli.table import MessagesTable
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.runs.paths import local
from fairlead.text import duration, moment

if TYPE_CHECKING:
    from fairlead.compiled.plan import Plan
    from fairlead.results.look import TableLook


def run_dry(
    table: MessagesTable,
    cluster: Path,
    changes: str | None,
    out: str | None,
    *,
    file_format: str,
    fail_if: Sequence[str],
    overwrite: bool,
    page: bool,
    trust_ids: bool,
    engine: EngineName,
    master: str | None,
) -> int:
    """Say what a dispatch would read, reject and write, and what looks wrong; the status.

    What the dispatch would be refused for, this is refused for, too.
    """
    gates = [gate(text, GATES) for text in fail_if]
    if overwrite and out is None:
        raise UserError("--overwrite says what to do with --out DIR, which is not given")
    from fairlead.compiled.plan import Plan
    from fairlead.compiled.required_columns import check_columns
    from fairlead.pipeline.output.choose_target import delivery_to
    from fairlead.runs.constants import RESERVED
    from fairlead.runs.names import check_names

    changes = own_changes(table, changes)
    refuse_elsewhere(changes, "--dry-run")
    plan = Plan(load_clusters(cluster), changes_here(changes))

    def check(names: Sequence[str]) -> None:
        check_names(names, table.called)
        check_columns(plan, names, table.called)

    table.refuse(RESERVED, check)
    if out is not None:
        check_out(out, file_format, page=page)
        also = [cluster, *files_here(changes)]
        delivery_to(out, overwrite=overwrite, read=table.where, also_read=also, tables=True)
    with Stages(4) as stages:
        if engine is EngineName.memory:
            look = _in_memory(table, plan, stages, trust_ids=trust_ids)
        else:
            look = _on_spark(table, plan, stages, master, trust_ids=trust_ids)
    acted()
    _print(look)
    if out is not None:
        there = local(out)
        way = "replaced" if there is not None and there.exists() else "made"
        console().print(f"{out} would be {way}", markup=False)
    console().print("nothing was decided or written")
    return judged_rows(look.rejected, look.read, gates)


def _in_memory(table: MessagesTable, plan: Plan, stages: Stages, *, trust_ids: bool) -> TableLook:
    from fairlead.compiled.intake.accepted import accepted, rejections, unique
    from fairlead.compiled.intake.columns import text as text_of
    from fairlead.compiled.intake.rows import check_keys, validate
    from fairlead.memory.dispatch import narrow
    from fairlead.memory.journal import messages_of
    from fairlead.results.look import TableLook

    with stages("read"):
        intake = messages_of(table.read_here(), [plan], table.called)
        check_keys(plan, intake.table, table.called)
        rows = validate(intake, plan)
        if not trust_ids:
            unique(rows)
        messages = accepted(rows)
    names = Counter(text_of(narrow(messages.table, [plan]), "cluster").to_pylist())
    return TableLook(len(rows.good), rejections(rows), messages.period, _unknown(names, plan))


def _on_spark(
    table: MessagesTable, plan: Plan, stages: Stages, master: str | None, *, trust_ids: bool
) -> TableLook:
    from fairlead.pipeline.intake.read import reading
    from fairlead.results.look import TableLook

    with reading():
        spark = started(master, stages, small=table.is_small)
        from fairlead.pipeline.dispatch import prepare
        from fairlead.pipeline.output.read_back import rejections
        from fairlead.runs.options import Options

        options = Options(where=table.called, trust_ids=trust_ids, keep=True, progress=stages)
        ready = prepare(table.read(spark), plan.clusters, plan.changes, options)
        survey = ready.survey
        names = Counter[str]()
        for code, n in survey.messages.items():
            names[ready.plan.classes[code].cluster] += n
        reasons = rejections(ready.rejected()) if survey.rejected else {}
        ready.release()
    read = survey.accepted + survey.rejected
    return TableLook(read, reasons, survey.period, _unknown(names, plan))


def _unknown(names: Counter[str], plan: Plan) -> dict[str, int]:
    known = {cluster.name for cluster in plan.clusters}
    if len(known) == 1:
        known.add("")
    return {name: n for name, n in names.most_common() if name not in known}


def _print(look: TableLook) -> None:
    to = console()
    messages = look.read - look.rejected
    to.print(
        f"rows: {look.read:,} = messages {messages:,} + rejected {look.rejected:,}", markup=False
    )
    for reason, n in look.rejections.items():
        to.print(f"rejected, {reason}: {n:,}", markup=False)
    if look.period is not None:
        first, last = look.period
        to.print(f"first: {moment(first)}", markup=False)
        to.print(f"last: {moment(last)}, {duration(last - first)} later", markup=False)
    odd = look.odd(int(time.time() * MICROS))
    for remark in odd:
        to.print(f"looks wrong: {remark}", markup=False)
    if not odd:
        to.print("nothing looks wrong")
