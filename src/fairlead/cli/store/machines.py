"""The commands about clusters in a store: who is in them, and what an administrator changes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairlead.balance.objects import shown
from fairlead.cli.arguments import pairs
from fairlead.cli.options import place, whole
from fairlead.cli.output import acted
from fairlead.cli.store.options import PANEL, AsJson, Url, opened
from fairlead.cli.store.printing import print_json, print_rows
from fairlead.cli.strict_options import CommandGroup, Once, is_near
from fairlead.errors import UserError

if TYPE_CHECKING:
    from fairlead.store.clusters.shares import MachineShare, PoolShares
    from fairlead.store.store import Store


class OrList(CommandGroup):
    """A group whose first word may be missing: then it is `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer hides it
        """Read the command line. Raises UserError for what is no command, nor a cluster alone."""
        known = bool(args) and args[0] in {*self.commands, "-h", "--help"}
        if not known and len(_plain_words(args)) > 1:
            raise UserError(self._no_such(args[0] if args[0] in _plain_words(args) else args[-1]))
        return super().parse_args(ctx, args if known else ["list", *args])

    def _no_such(self, word: str) -> str:
        if word == "undrain":
            close = "; `machines drain CLUSTER NAME --stop` does that"
        else:
            near = next((verb for verb in self.commands if is_near(word, verb)), None)
            close = "" if near is None else f"; did you mean {near!r}?"
        return f"machines: found {shown(word)}, allowed: {', '.join(self.commands)}{close}"


def _plain_words(args: list[str]) -> list[str]:
    """What is no option, nor the value of one."""
    return [
        word
        for before, word in zip(["", *args], args, strict=False)
        if not word.startswith("-") and before != "--store"
    ]


app = typer.Typer()
machines = typer.Typer(
    cls=OrList,
    help="Look at the clusters of a store and change them; what changes counts from the next "
    "choice, for everybody.",
)
app.add_typer(machines, name="machines", rich_help_panel=PANEL)
command = partial(machines.command, cls=Once)

ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster's name.")]
MachineName = Annotated[str, typer.Argument(metavar="NAME", help="The destination's name.")]
Attributes = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]…", help="As its file would have it.")
]


@command("load")
def load(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", parser=place, help="A cluster file, or a folder.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Start anew where the file has changed.")
    ] = False,
    store: Url = None,
) -> None:
    """Begin with the clusters of a file, in the store from then on.

    A cluster that is there already goes on, if its file is the same.

    Example: `fairlead machines load pool.toml`
    """
    with opened(store, create=None) as open_store:
        names = open_store.load_clusters(path, replace=replace)
        acted()
        for name in names:
            print(name)


@command("list")
def list_(
    cluster: Annotated[
        str | None, typer.Argument(metavar="[CLUSTER]", help="This one; else all.")
    ] = None,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """List the destinations, with what they were sent since the last reset, against their weights.

    Example: `fairlead machines list pool`, or `fairlead machines pool`
    """
    with opened(store) as open_store:
        pools = [
            open_store.pool(name) for name in ([cluster] if cluster else open_store.clusters())
        ]
    if as_json:
        print_json(
            {"cluster": pool.name, "version": pool.version, **_plain(machine)}
            for pool in pools
            for machine in pool.machines
        )
        return
    for pool in pools:
        _show(pool)


@command("add")
def add(
    cluster: ClusterName, name: MachineName, attributes: Attributes = None, store: Url = None
) -> None:
    """Add a destination that no file listed.

    Example: `fairlead machines add pool DEV4 weight=50 address=10.0.0.4`
    """
    table = {"name": name, **_typed(attributes or [])}
    with opened(store) as open_store:
        open_store.add_destination(cluster, table)
        _print(open_store, cluster)


@command("remove")
def remove(cluster: ClusterName, name: MachineName, store: Url = None) -> None:
    """Remove a destination for good; what was published to it stays in its queue."""
    with opened(store) as open_store:
        open_store.remove_destination(cluster, name)
        _print(open_store, cluster)


@command("set")
def set_(
    cluster: ClusterName, name: MachineName, attributes: Attributes = None, store: Url = None
) -> None:
    """Change attributes of a destination, as one step.

    Example: `fairlead machines set pool DEV3 weight=20 enabled=true`
    """
    from fairlead.balance.change import Change

    if not attributes:
        raise UserError("machines set: found no KEY=VALUE, allowed: at least one")
    changes = [Change(name, key, value) for key, value in pairs("KEY=VALUE", attributes).items()]
    with opened(store) as open_store:
        open_store.apply(cluster, changes)
        _print(open_store, cluster)


@command("weight")
def weight(
    cluster: ClusterName,
    name: MachineName,
    to: Annotated[
        int,
        typer.Argument(metavar="WEIGHT", parser=whole("WEIGHT", 0, 2**63 - 1), help="From 0 on."),
    ],
    store: Url = None,
) -> None:
    """Give a destination another weight."""
    _change(store, cluster, name, "weight", to)


@command("enable")
def enable(cluster: ClusterName, name: MachineName, store: Url = None) -> None:
    """Let a destination get messages again."""
    _change(store, cluster, name, "enabled", value=True)


@command("disable")
def disable(cluster: ClusterName, name: MachineName, store: Url = None) -> None:
    """Let a destination get no messages."""
    _change(store, cluster, name, "enabled", value=False)


@command("drain")
def drain(
    cluster: ClusterName,
    name: MachineName,
    stop: Annotated[bool, typer.Option("--stop", help="Not any more.")] = False,
    store: Url = None,
) -> None:
    """Let nothing new start on a destination; groups that are bound to it stay."""
    _change(store, cluster, name, "draining", value=not stop)


@command("reset")
def reset(cluster: ClusterName, store: Url = None) -> None:
    """Count everybody as not served."""
    with opened(store) as open_store:
        open_store.reset(cluster)
        _print(open_store, cluster)


@command("next")
def next_(
    cluster: ClusterName, attributes: Attributes = None, as_json: AsJson = False, store: Url = None
) -> None:
    """Choose where the next message goes, and count it; prints the name, and the address.

    Status 3: nobody can get it. For scripts: `host=$(fairlead machines next pool group=kim)`
    """
    with opened(store) as open_store:
        decision = open_store.next_destination(cluster, **pairs("KEY=VALUE", attributes or []))
    acted()
    if as_json:
        plain = decision._asdict()
        print_json([{name: plain[name] for name in plain if name not in {"to", "messages"}}])
    else:
        for name, address in decision.copies:
            print(f"{name}\t{address}" if address else name)
    if not decision.copies:
        raise typer.Exit(3)


def _change(store: str | None, cluster: str, name: str, key: str, value: object) -> None:
    with opened(store) as open_store:
        open_store.change(cluster, name, key, value)
        _print(open_store, cluster)


def _print(store: Store, cluster: str) -> None:
    acted()
    _show(store.pool(cluster))


def _show(shares: PoolShares) -> None:
    print(_head(shares))
    print_rows(
        [_row(machine) for machine in shares.machines],
        right=("sent", "share", "by weight", "weight"),
    )


def _head(shares: PoolShares) -> str:
    counted = " by tickets" if shares.allocation == "ticket" else ""
    version, choices = shares.version, shares.choices
    return f"{shares.name}: {shares.policy}, version {version}, {choices} choices{counted}"


def _row(share: MachineShare) -> dict[str, Any]:
    weight = share.attributes.get("weight")
    return {
        "destination": share.name,
        "address": share.address,
        "weight": weight,
        "sent": share.sent,
        "share": f"{share.share:.2%}",
        "by weight": None if share.expected is None else f"{share.expected:.2%}",
        "now": share.why_not,
    }


def _plain(share: MachineShare) -> dict[str, Any]:
    plain = share._asdict()
    plain["destination"] = plain.pop("name")
    return plain


def _typed(attributes: list[str]) -> dict[str, Any]:
    """Numbers and flags as a file would have them; all else is text."""
    values: dict[str, Any] = {}
    for key, value in pairs("KEY=VALUE", attributes).items():
        if value in {"true", "false"}:
            values[key] = value == "true"
        elif key not in {"name", "address", "queue"} and value.lstrip("-").isdecimal():
            values[key] = int(value)
        else:
            values[key] = value
    return values
