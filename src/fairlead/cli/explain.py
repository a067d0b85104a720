"""Explain decisions: of invented messages, and of a run that was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.balance.balancer import Balancer
from fairlead.balance.decision import Decision
from fairlead.balance.objects import hint, listed, on_one_line
from fairlead.cli.arguments import pairs
from fairlead.cli.show import console, print_table, printable, table
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError

if TYPE_CHECKING:
    from fairlead.pipeline.questions.explain import Why

MAX_LISTED = 100


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
    names = [_names(each) or [f"({each.outcome})"] for each in decisions]
    more = f" … ({count - MAX_LISTED} more)" if count > MAX_LISTED else ""
    listed_ = " ".join("+".join(each) for each in names[:MAX_LISTED])
    out.print(on_one_line(f"choices: {listed_}{more}"), markup=False)
    totals = table("destination", "messages", "share", right=("messages", "share"))
    for each, n in sorted(Counter(name for every in names for name in every).items()):
        totals.add_row(printable(each), str(n), f"{n / count:.2%}")
    print_table(out, totals)


def _names(decision: Decision) -> list[str]:
    return [copy.destination for copy in decision.copies]


def _goes(decision: Decision) -> str:
    return ", ".join(_names(decision)) or f"none ({decision.outcome})"


def is_journal(place: Path) -> bool:
    """Whether it is one."""
    from fairlead.pipeline.output import run_folder

    return run_folder.is_journal(place)


def explain_made(folder: Path, message_id: str) -> None:
    """Explain one decision of a run."""
    from fairlead.pipeline.questions.explain import why

    _print(message_id, why(folder, message_id))


def explain_journal(place: Path, message_id: str, cluster: Path, changes: Path | None) -> None:
    """Explain one decision of a journal."""
    from fairlead.cli.dispatch import changes_from
    from fairlead.pipeline.questions.explain import why_in_journal

    clusters, happened = load_clusters(cluster), changes_from(changes)
    _print(message_id, why_in_journal(place, message_id, clusters, happened))


def _print(message_id: str, found: Why) -> None:
    out = console()
    goes = ", ".join(found.destinations) or f"none ({found.outcome})"
    out.print(on_one_line(f"{message_id} -> {goes}"), markup=False)
    where = [f"cluster {found.cluster}, version {found.version}"] if found.cluster else []
    if found.sequence is not None:
        where.append(f"stream {found.stream}, sequence {found.sequence}")
    if where:
        out.print(on_one_line(", ".join(where)), markup=False)
    out.print(str(found.explanation), markup=False)
