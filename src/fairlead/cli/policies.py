"""Print what policies there are, and what those of a file do."""

from __future__ import annotations

from pathlib import Path

from fairlead.balance.objects import on_one_line
from fairlead.balance.own import CHOICES as OWN_CHOICES
from fairlead.balance.own import ELIMINATIONS, brought
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.choices import CHOICES
from fairlead.balance.policies.composed import STEPS
from fairlead.balance.words.effective_policy import in_words, order_in_words, warnings
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.config.clusters import load_clusters


def show_policies() -> None:
    """Each policy, when to choose it and when not."""
    out = console()
    for name, policy in POLICIES.items():
        out.print(f"[bold]{name}[/bold]  {policy.about}")
        out.print(f"    choose it when {policy.choose_when}")
        out.print(f"    not when {policy.choose_when_not}")
    out.print("A file can compose others: [bold]\\[policy][/bold] eliminate = …, choose = …")
    out.print(f"    eliminations: {', '.join(STEPS)}{_of_packages(ELIMINATIONS)}", markup=False)
    out.print(f"    choice rules: {', '.join(CHOICES)}{_of_packages(OWN_CHOICES)}", markup=False)


def _of_packages(group: str) -> str:
    return "".join(f", {name} (of {package})" for name, package in brought(group).items())


def show_cluster(path: Path) -> None:
    """The effective policy of each cluster of a file, in words."""
    out = console()
    for cluster in load_clusters(path):
        words = in_words(cluster)
        name = printable(words.cluster)
        out.print(f"[bold]{name}[/bold]: {words.policy}, {words.about}", markup=True)
        for k, line in enumerate(words.steps, 1):
            out.print(f"  {k:2}. {line}", markup=False)
        if words.note:
            out.print(f"  {words.note}", markup=False)
        if order := order_in_words(cluster.tables.order):
            out.print(f"  order of what waits: {on_one_line(order)}", markup=False)
        for line in warnings(cluster):
            out.print(f"  warning: {on_one_line(line)}", markup=False)
        rows = [
            {
                "destination": printable(destination.name),
                "subject": printable(destination.subject or ""),
                "address": printable(destination.address),
                "condition": destination.condition,
                "weight": "" if destination.weight is None else str(destination.weight),
                "share": "" if destination.share is None else f"{destination.share:.2%}",
            }
            for destination in words.destinations
        ]
        print_table(out, filled(rows, right=("weight", "share")))
    out.print("ok")
