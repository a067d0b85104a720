"""Explain decisions: of invented messages, and of a run that was made."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.balance.balancer import Balancer
from fairlead.balance.decision import Decision
from fairlead.balance.explanation import Explanation
from fairlead.balance.objects import hint, listed, on_one_line
from fairlead.cli.arguments import pairs
from fairlead.cli.options import EngineName
from fairlead.cli.show import console, print_table, printable, table
from fairlead.cli.store.options import VARIABLE
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.runs.paths import is_elsewhere

if TYPE_CHECKING:
    from fairlead.pipeline.questions.explain import Why

MAX_LISTED = 100


def run_explain(
    out: str | None,
    cluster: Path | None,
    changes: Path | None,
    message: Sequence[str],
    count: int,
    message_id: str | None,
    store: str | None,
    order: tuple[str | None, str | None, str | None],
) -> None:
    """Explain what the options ask for. Raises UserError where they do not go together."""
    invented = cluster is not None or bool(message) or count != 1
    if store is None and _is_kept(out, message_id) and not invented and changes is None:
        store = os.environ.get(VARIABLE)
    queue, first, second = order
    if order != (None, None, None):
        others = (out, message_id, changes) != (None, None, None)
        if queue is None or first is None or second is None or invented or others:
            raise UserError(
                "explain --queue goes with --first and --second, and nothing else but --store: "
                "fairlead explain --queue NAME --first GROUP --second GROUP"
            )
        explain_order(store, queue, first, second)
    elif store is not None:
        if out is None or message_id is None or invented or changes is not None:
            raise UserError(
                "explain --store goes with a cluster's name and --id, and nothing else: fairlead "
                "explain CLUSTER --id ID --store URL; or with --queue, --first and --second"
            )
        explain_kept(store, out, message_id)
    elif out is not None and is_elsewhere(out):
        if message_id is None or invented or changes is not None:
            raise UserError(f"explain {out} takes --id ID and nothing else")
        explain_elsewhere(out, message_id)
    else:
        here = None if out is None else Path(out)
        _without_store(here, cluster, changes, message, count, message_id)


def _is_kept(out: str | None, message_id: str | None) -> bool:
    """Whether a decision is meant that a store has made: OUT is no file here, and no place."""
    return (
        message_id is not None
        and out is not None
        and not is_elsewhere(out)
        and not Path(out).exists()
    )


def check_engine(engine: EngineName | None, out: str | None) -> None:
    """Refuse an engine that OUT does not need, or that cannot look there. Raises UserError."""
    if engine is None:
        return
    there = out is not None and is_elsewhere(out)
    if engine is EngineName.spark and not there:
        raise UserError(
            "--engine: found spark, allowed: memory; what is on this machine is explained without "
            "Spark"
        )
    if engine is EngineName.memory and there:
        raise UserError(f"--engine: found memory, allowed for {out}: spark, which reads there")


def _without_store(
    out: Path | None,
    cluster: Path | None,
    changes: Path | None,
    message: Sequence[str],
    count: int,
    message_id: str | None,
) -> None:
    invented = cluster is not None or bool(message) or count != 1
    if out is not None and is_journal(out):
        if message_id is None or cluster is None or message or count != 1:
            raise UserError(
                f"explain {out}: found a journal, which needs --id ID and --cluster FILE, perhaps "
                "--changes FILE, and nothing else"
            )
        explain_journal(out, message_id, cluster, changes)
    elif changes is not None:
        raise UserError("explain --changes goes with a journal: fairlead explain JOURNAL --id ID")
    elif out is not None:
        if message_id is None and not invented:
            raise UserError(f"explain {out}: which message? say --id ID")
        if message_id is None or invented:
            raise UserError(
                "explain OUT takes --id and nothing else; leave OUT out for an invented message"
            )
        explain_made(out, message_id)
    elif message_id is not None:
        raise UserError(
            "explain --id needs the folder that dispatch or replay wrote: fairlead explain OUT "
            "--id ID"
        )
    elif cluster is None:
        raise UserError("explain needs --cluster FILE (an invented message) or OUT --id ID")
    else:
        explain_invented(cluster, message, count)


def explain_invented(path: Path, given: Sequence[str], count: int) -> None:
    """Send some equal messages to a cluster at its beginning, and explain the last choice."""
    clusters = load_clusters(path)
    message = pairs("--message", given)
    read = {"cluster", "type"}
    for cluster in clusters:
        read |= cluster.start().relevant_attributes()
    for name in message:
        if name not in read:
            raise UserError(
                f"--message {name}: the policy of {path} does not read it, "
                f"allowed: {listed(sorted(read))}{hint(name, read)}"
            )
    balancer = Balancer(clusters)
    decisions = [balancer.choose(message) for _ in range(count)]
    out = console()
    last = decisions[-1]
    head = on_one_line(f"-> {_goes(last)}")
    out.print(f"message {count} of {count} {head}" if count > 1 else head, markup=False)
    out.print(str(last.explain()), markup=False)
    if count == 1:
        return
    names = [_names(decision) or [f"({decision.outcome})"] for decision in decisions]
    more = f" … ({count - MAX_LISTED} more)" if count > MAX_LISTED else ""
    listed_ = " ".join("+".join(destinations) for destinations in names[:MAX_LISTED])
    out.print(on_one_line(f"choices: {listed_}{more}"), markup=False)
    totals = table("destination", "messages", "share", right=("messages", "share"))
    for destination, n in sorted(Counter(name for every in names for name in every).items()):
        totals.add_row(printable(destination), str(n), f"{n / count:.2%}")
    print_table(out, totals)


def _names(decision: Decision) -> list[str]:
    return [copy.destination for copy in decision.copies]


def _goes(decision: Decision) -> str:
    return ", ".join(_names(decision)) or f"none ({decision.outcome})"


def is_journal(place: Path) -> bool:
    """Whether it is one. Raises EnvironmentProblem, as what reads both is an extra."""
    need("tables", f"explain {place}")
    from fairlead.runs import run_folder

    return run_folder.is_journal(place)


def explain_made(folder: Path, message_id: str) -> None:
    """Explain one decision of a run, or why a message of a replay's scenario waited."""
    from fairlead.cli.waited import explain_waited
    from fairlead.pipeline.questions.explain import why

    if explain_waited(folder, message_id):
        return
    _print(message_id, why(folder, message_id))


def explain_elsewhere(uri: str, message_id: str) -> None:
    """Explain one decision of a run at a URI; Spark finds the files that are needed."""
    from fairlead.cli.progress import Stages
    from fairlead.cli.spark import started

    need("spark", f"explain {uri}")
    with Stages(2) as stages:
        spark = started(None, stages)
        from fairlead.pipeline.questions.elsewhere import why_at

        with stages("find the message"):
            answer = why_at(spark, uri, message_id)
    _print(message_id, answer)


def explain_journal(place: Path, message_id: str, cluster: Path, changes: Path | None) -> None:
    """Explain one decision of a journal."""
    from fairlead.cli.dispatch import changes_from
    from fairlead.pipeline.questions.explain import why_in_journal

    clusters, happened = load_clusters(cluster), changes_from(changes)
    _print(message_id, why_in_journal(place, message_id, clusters, happened))


def explain_kept(url: str, cluster: str, message_id: str) -> None:
    """Explain one decision that a store has made."""
    from fairlead.store.store import Store

    with Store.open(url, create=False) as store:
        decision = store.decision_about(cluster, message_id)
    version = decision.frame.version if decision.frame else 0
    place = (decision.cluster, version, decision.stream, decision.sequence)
    _show(message_id, _goes(decision), place, decision.explain())


def explain_order(url: str | None, queue: str, first: str, second: str) -> None:
    """Explain why one group of a store went before another."""
    from fairlead.cli.store.options import opened

    with opened(url) as store:
        explanation = store.explain_order(queue, first, second)
    out = console()
    for line in str(explanation).splitlines():
        out.print(on_one_line(line), markup=False)


def _print(message_id: str, why: Why) -> None:
    goes = ", ".join(why.destinations) or f"none ({why.outcome})"
    place = (why.cluster, why.version, why.stream, why.sequence)
    _show(message_id, goes, place, why.explanation)


def _show(
    message_id: str, goes: str, place: tuple[str, int, str, int | None], explanation: Explanation
) -> None:
    out = console()
    out.print(on_one_line(f"{message_id} -> {goes}"), markup=False)
    cluster, version, stream, sequence = place
    where = [f"cluster {cluster}, version {version}"] if cluster else []
    if sequence is not None:
        where.append(f"stream {stream}, sequence {sequence}")
    if where:
        out.print(on_one_line(", ".join(where)), markup=False)
    out.print(str(explanation), markup=False)
