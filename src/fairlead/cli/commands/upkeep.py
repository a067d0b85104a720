"""A store is made and kept: `fairlead store …`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.options import days
from fairlead.cli.store.options import PANEL, AsJson, Url, opened, url_of
from fairlead.cli.strict_options import CommandGroup, Once

app = typer.Typer()
upkeep = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Make and keep a store.")
app.add_typer(upkeep, name="store", rich_help_panel=PANEL)
command = partial(upkeep.command, cls=Once)


@command()
def init(store: Url = None) -> None:
    """Make the schema where there is none. A new SQLite file is made by the first `send`, too."""
    from fairlead.cli.store import upkeep as done

    done.init(url_of(store))


@command()
def upgrade(
    lock_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.001, help="Wait so long for each lock that others hold."
        ),
    ] = 5,
    store: Url = None,
) -> None:
    """Bring a schema that is there up to this version; several may do so at one time.

    Where a transaction of somebody else is in the way, on PostgreSQL, nothing is changed: nobody
    has to wait behind the upgrade.
    """
    from fairlead.cli.store import upkeep as done

    done.init(url_of(store), lock_timeout, upgrade=True)


@command()
def prune(
    keep: Annotated[
        float,
        typer.Option(
            "--keep", parser=days("--keep"), metavar="DAYS", help="Events of so many days stay."
        ),
    ] = 30,
    store: Url = None,
) -> None:
    """Forget events of the journal that are older, at once, and ids whose time is over."""
    from fairlead.cli.store import upkeep as done

    with opened(store) as open_store:
        done.prune(open_store, keep * 86400)


@command()
def retention(
    keep: Annotated[
        float | None,
        typer.Argument(
            parser=days("DAYS"), metavar="[DAYS]", help="Keep events so long; 0: for ever."
        ),
    ] = None,
    store: Url = None,
) -> None:
    """Set for how many days events of the journal are kept, or say it; readers forget older ones.

    30, unless it is set.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as open_store:
        done.retention(open_store, keep)


@command()
def check(
    repair: Annotated[bool, typer.Option("--repair", help="Put right what was found.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Look for what should not be there: messages that nobody would get, times in the future, ….

    Status 0: nothing was found; 1: something was, and `--repair` has put it right. It reads all
    there is.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as open_store:
        status = done.check(open_store, repair=repair, as_json=as_json)
    raise typer.Exit(status)


@command()
def roles(store: Url = None) -> None:
    """Make the roles of a store on PostgreSQL: who sends, works, operates, or only looks.

    Roles that are there get the rights of this version, and no others: so do it after an upgrade.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as open_store:
        done.roles(open_store)


@command()
def recover(store: Url = None) -> None:
    """After a backup was restored: take back all work; no program may use the store meanwhile.

    A new epoch of the journal begins, so that who reads on from a cursor of before misses nothing.
    """
    from fairlead.cli.store import upkeep as done

    with opened(store) as open_store:
        done.recover(open_store)
