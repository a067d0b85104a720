"""The command about schedules."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fairlead.cli.options import whole
from fairlead.cli.store.options import PANEL, AsJson, Url, opened
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


@command()
def schedules(
    name: Annotated[
        str | None, typer.Argument(metavar="SCHEDULE", help="Show the next ticks of this one.")
    ] = None,
    ticks: Annotated[
        int | None,
        typer.Option(
            parser=whole("--ticks", 1, 10_000), metavar="NUMBER", help="So many of them, not 5."
        ),
    ] = None,
    pause: Annotated[
        bool, typer.Option("--pause", help="Send nothing until it is resumed.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Send again, from the next tick on.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Forget the schedule.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """List schedules: what they send, to which queue, and when the next tick is.

    Schedules are declared in a file (`fairlead declare`); `fairlead work` sends what is due. A tick
    is a moment at which a schedule sends.

    Example: `fairlead schedules nightly --ticks 3`
    """
    from fairlead.cli.store import schedules as shown

    acts = {"--pause": pause, "--resume": resume, "--drop": drop}
    options = [option for option, is_given in acts.items() if is_given]
    if len(options) > 1 or (options and (ticks is not None or as_json)):
        more = [*options, *(["--ticks"] if ticks is not None else []), *(["--json"] * as_json)]
        raise UserError(f"schedules: found {' and '.join(more)}, allowed: one of them")
    if name is None and (options or ticks is not None):
        raise UserError(
            f"schedules {(options or ['--ticks'])[0]}: found no SCHEDULE, allowed: a name"
        )
    with opened(store) as open_store:
        if name is None:
            shown.schedules(open_store, as_json=as_json)
        elif drop:
            shown.drop(open_store, name)
        elif pause or resume:
            shown.pause(open_store, name, paused=pause)
        else:
            shown.ticks(open_store, name, 5 if ticks is None else ticks, as_json=as_json)
