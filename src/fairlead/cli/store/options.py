"""Options that several commands of the store take, and the store that they open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fairlead.cli.options import whole

if TYPE_CHECKING:
    from fairlead.store.store import Store

VARIABLE: Final = "FAIRLEAD_STORE"
DEFAULT: Final = "sqlite:///fairlead.db"
PANEL: Final = "Queue"

Url = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="`sqlite:///work.db` or `postgresql://user@host/database`. Default: "
        f"`${VARIABLE}`, else `{DEFAULT}`. Others see arguments (`ps`): a password belongs into "
        f"`${VARIABLE}`, `$PGPASSWORD` or `~/.pgpass`.",
    ),
]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON lines instead of a table.")]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="This group, not the best one.")]
Priority = Annotated[
    int | None,
    typer.Option(
        parser=whole("--priority", 0, 255), metavar="NUMBER", help="0 to 255, the highest."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Most = Annotated[
    int,
    typer.Option(
        "--most", parser=whole("--most", 1, 10_000), metavar="NUMBER", help="At most so many."
    ),
]


def url_of(given: str | None) -> str:
    """The store's URL."""
    return given or os.environ.get(VARIABLE) or DEFAULT


def opened(given: str | None, *, create: bool | None = False) -> Store:
    """The store; `create`: as `Store.open` says, where only what writes makes a file."""
    from fairlead.store.store import Store

    return Store.open(url_of(given), create=create)
