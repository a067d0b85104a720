"""The commands about channels, and about the queue manager that a store is."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from fairlead.balance.objects import hint
from fairlead.cli.store.options import PANEL, AsJson, Url, opened
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)
ACTS: Final = ("list", "start", "stop", "pause", "resume", "reset")
OWN_ACTS: Final = ("show", "suspend", "resume", "disable", "enable")


@command()
def channels(
    act: Annotated[
        str, typer.Argument(metavar="|".join(ACTS), help="What to do; `list` shows all.")
    ] = "list",
    name: Annotated[str | None, typer.Argument(metavar="CHANNEL", help="Which one.")] = None,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Show the channels of a queue manager, and start, stop, pause or reset one.

    `reset` is for a channel whose two ends do not agree, as after a restored backup: what the other
    end has last is taken for right.

    Example: `fairlead channels stop TO.QM2`
    """
    from fairlead.cli.store import channels as done

    _check("channels", act, ACTS)
    if act == "list":
        if name is not None:
            raise UserError(f"channels list: found {name!r}, allowed: nothing more")
        with opened(store) as open_store:
            done.show(open_store, as_json=as_json)
        return
    if name is None or as_json:
        what = "no CHANNEL" if name is None else "--json"
        raise UserError(f"channels {act}: found {what}, allowed: the name of a channel")
    with opened(store) as open_store:
        done.act(open_store, act, name)


@command("queue-manager")
def queue_manager(
    act: Annotated[
        str, typer.Argument(metavar="|".join(OWN_ACTS), help="What to do; `show` says what is so.")
    ] = "show",
    queue: Annotated[
        str | None, typer.Argument(metavar="QUEUE", help="Which, to disable or enable.")
    ] = None,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Show, suspend or resume the queue manager that a store is; disable or enable puts to a queue.

    All other queue managers are told, on their channels.

    Example: `fairlead queue-manager suspend`
    """
    from fairlead.cli.store import channels as done

    _check("queue-manager", act, OWN_ACTS)
    of_queue = act in ("disable", "enable")
    if of_queue != (queue is not None):
        what = "no QUEUE, allowed: its name" if of_queue else f"{queue!r}, allowed: nothing more"
        raise UserError(f"queue-manager {act}: found {what}")
    if as_json and act != "show":
        raise UserError(f"queue-manager {act}: found --json, allowed: with show")
    with opened(store) as open_store:
        if act == "show":
            done.show_manager(open_store, as_json=as_json)
        else:
            done.change_manager(open_store, act, queue)


def _check(verb: str, act: str, acts: tuple[str, ...]) -> None:
    if act not in acts:
        raise UserError(f"{verb}: found {act!r}, allowed: {', '.join(acts)}{hint(act, acts)}")
