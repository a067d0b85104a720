"""The commands about conversations, and about queues that are off."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fairlead.balance.objects import on_one_line, shown
from fairlead.cli.options import whole
from fairlead.cli.output import acted
from fairlead.cli.store import tenants
from fairlead.cli.store.asking import is_wanted
from fairlead.cli.store.options import PANEL, AsJson, Most, QueueName, Url, opened
from fairlead.cli.store.printing import print_json, print_rows, say_if_cut, when
from fairlead.cli.strict_options import Once
from fairlead.errors import UserError
from fairlead.text import length, plural

if TYPE_CHECKING:
    from fairlead.store.admin.dialogs import DialogEnd, EndWaits, ListedService, OpenDialog
    from fairlead.store.conversation import Conversation
    from fairlead.store.store import Store

MAX_CODE: Final = 2**31 - 1

app = typer.Typer()
command = partial(app.command, cls=Once, rich_help_panel=PANEL)


def one_of(what: str, *allowed: str) -> Callable[[str], str]:
    """What reads a word; it raises UserError."""

    def read(value: str) -> str:
        if value not in allowed:
            raise UserError(f"{what}: found {shown(value)}, allowed: {', '.join(allowed)}")
        return value

    return read


@command()
def conversations(
    service: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those of this service, at either end.")
    ] = None,
    most: Most = 20,
    before: Annotated[
        str | None, typer.Option(metavar="DIALOG", help="Go on after this one, with older ones.")
    ] = None,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """List the dialogs that are open, the latest first; a line for each end.

    `waits`: messages; `raised`: to which priority its group was; `reader`: who holds that. Ids of
    ends are not shown: `fairlead conversation DIALOG --ids` does.
    """
    with opened(store) as open_store:
        every = open_store.conversations(service, most + 1, before)
    dialogs = every[:most]
    if as_json:
        print_json(_plain(dialog) for dialog in dialogs)
    else:
        now = time.time()
        print_rows(
            [row for dialog in dialogs for row in _rows(dialog, now)], right=("waits", "raised")
        )
    say_if_cut(len(every) == len(dialogs), "latest", most)


@command()
def conversation(
    dialog: Annotated[str, typer.Argument(metavar="DIALOG", help="Its name, such as d-17.")],
    most: Most = 10,
    ids: Annotated[
        bool,
        typer.Option("--ids", help="The ends' ids, too: who knows one can act as that end."),
    ] = False,
    end: Annotated[bool, typer.Option("--end", help="End it: nothing is left of it.")] = False,
    side: Annotated[
        str | None,
        typer.Option(
            metavar="initiator|target",
            parser=one_of("--side", "initiator", "target"),
            help="With --end: this end only; the other one is told.",
        ),
    ] = None,
    error: Annotated[
        int | None,
        typer.Option(
            metavar="CODE",
            parser=whole("--error", 1, MAX_CODE),
            help="With --side: the other one gets an Error.",
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --error: what it says.")
    ] = None,
    cleanup: Annotated[
        bool, typer.Option("--cleanup", help="With --side: the other one is not told.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    store: Url = None,
) -> None:
    """Show both ends of a dialog, what waits there, and why it does. Or end it (`--end`).

    On a terminal `--end` asks.

    Example: `fairlead conversation d-17 --end --side target --error 17 --description "closed"`
    """
    _check(
        end=end,
        side=side,
        error=error,
        description=description,
        cleanup=cleanup,
        shown=ids | as_json,
    )
    with opened(store) as open_store:
        if end:
            how = {"error": None if error is None else (error, description or "")}
            _end(open_store, dialog, side, yes=yes, cleanup=cleanup, **how)
            return
        shown = open_store.dialog(dialog)
        waits = {wait.side: wait for wait in open_store.dialog_waits(dialog, most)}
        names = (
            {dialog_end.side: dialog_end.id for dialog_end in open_store.ends(dialog)}
            if ids
            else {}
        )
    if as_json:
        print_json([_with_waits(shown, waits, names)])
    else:
        _show(shown, waits, names)
    for dialog_end in (shown.initiator, shown.target):
        if dialog_end is not None and dialog_end.side in waits:
            first = len(waits[dialog_end.side].messages)
            say_if_cut(first < most or dialog_end.waiting <= first, "first", most)


@command()
def services(as_json: AsJson = False, store: Url = None) -> None:
    """List the services that are declared: their queues, and what each side may send to whom.

    `open`: ends of dialogs that it has, and has not ended; `readers`: how many it may have.
    """
    with opened(store) as open_store:
        every = open_store.services()
    if as_json:
        print_json(_plain(service) for service in every)
    else:
        print_rows(
            [row for service in every for row in _contracts(service)], right=("readers", "open")
        )


@command()
def switch(
    queue: QueueName,
    to: Annotated[
        str, typer.Argument(metavar="on|off", parser=one_of("switch", "on", "off"), help="Which.")
    ],
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="For the journal, and for who looks.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this tenant of the queue.")
    ] = None,
    store: Url = None,
) -> None:
    """Switch a queue, or one tenant of it, on or off. What is off waits, and is not taken.

    What readers hold is settled as ever. `fairlead queues` says what is off, and why. Switched on
    again, a queue counts failures anew.

    Example: `fairlead switch orders off --tenant acme --reason "it floods us"`
    """
    with opened(store) as open_store:
        unknown = tenants.unknown(open_store, queue, tenant)
        changed = open_store.switch(queue, on=to == "on", reason=reason or "", tenant=tenant)
    acted()
    what = queue if tenant is None else f"tenant {tenant} of {queue}"
    print(on_one_line(f"{what}: {to}" if changed else f"{what}: was {to} already"))
    tenants.say(unknown)


def _check(
    *,
    end: bool,
    side: str | None,
    error: int | None,
    description: str | None,
    cleanup: bool,
    shown: bool,
) -> None:
    """Raises UserError for options that do not go together."""
    needs = (
        ("--side", side is not None, "--end", end),
        ("--error", error is not None, "--side", end and side is not None),
        ("--cleanup", cleanup, "--side", end and side is not None),
        ("--description", description is not None, "--error", error is not None),
    )
    for name, is_set, other, there in needs:
        if is_set and not there:
            raise UserError(f"conversation: found {name} alone, allowed: with {other}")
    if cleanup and error is not None:
        raise UserError("conversation: found --error and --cleanup, allowed: one of them")
    if end and shown:
        raise UserError("conversation: found --end with --json or --ids, allowed: without them")


def _end(
    store: Store,
    dialog: str,
    side: str | None,
    *,
    yes: bool,
    error: tuple[int, str] | None,
    cleanup: bool,
) -> None:
    """End one end of a dialog, or both: then nobody is left to be told."""
    ends = [end for end in store.ends(dialog) if side in (None, end.side)]
    if not ends:
        raise UserError(
            f"--side: found {side}, allowed: initiator; nothing was said to the other end yet"
        )
    if side is None:
        ends = [end for end in ends if end.state != "ended"]
    named = " and ".join(map(_named, ends))
    if not is_wanted(f"End {named}?", yes=yes):
        return
    with store.transaction() as tx:
        for end in ends:
            tx.conversation(end).end(error, cleanup=cleanup or side is None)
    acted()
    print(on_one_line(f"ended: {named}"))


def _named(end: Conversation) -> str:
    return f"{end.dialog}/{end.side[0]} ({end.service})"


def _rows(dialog: OpenDialog, now: float) -> list[dict[str, Any]]:
    """A line for each end."""
    near = _row(dialog, dialog.initiator, now)
    if dialog.target is not None:
        return [near, _row(dialog, dialog.target, now)]
    far = {"end": f"{dialog.dialog}/t", "service": dialog.far_service}
    return [near, dict.fromkeys(near, "") | far]


def _row(dialog: OpenDialog, end: DialogEnd, now: float) -> dict[str, Any]:
    first, name = end.side == "initiator", f"{dialog.dialog}/{end.side[0]}"
    return {
        "end": name,
        "service": end.service,
        "state": end.state,
        "queue": end.queue,
        "group": "" if end.group == name else end.group,
        "waits": end.waiting or "",
        "raised": end.priority,
        "reader": end.reader or ("yes" if end.held else ""),
        "age": _age(dialog.began, now) if first else "",
    }


def _show(dialog: OpenDialog, waits: Mapping[str, EndWaits], ids: Mapping[str, str]) -> None:
    now = time.time()
    over = "" if dialog.lifetime is None else f", over at {when(dialog.lifetime)}"
    print(
        on_one_line(
            f"{dialog.dialog}: contract {dialog.contract}, began {when(dialog.began)}{over}"
        )
    )
    for end in (dialog.initiator, dialog.target):
        if end is None:
            print(on_one_line(f"target: nothing was said to {dialog.far_service} yet"))
            continue
        _show_end(end, waits.get(end.side), ids.get(end.side), now)


def _show_end(end: DialogEnd, waits: EndWaits | None, id_: str | None, now: float) -> None:
    timer = "" if end.timer is None else f", timer due {_left(end.timer, now)}"
    print(on_one_line(f"{end.side}: {end.service}, {end.state}, {end.sent} sent{timer}"))
    print(on_one_line(f"  queue {end.queue}, group {end.group}"))
    if id_ is not None:
        print(f"  id {id_}")
    if waits is None:
        return
    print(on_one_line(f"  {waits.why}"))
    if waits.messages:
        print(f"  {plural(end.waiting, 'message')}:")
        print_rows(
            [
                {"": "   ", "id": message.id, "type": message.type, "age": _age(message.since, now)}
                for message in waits.messages
            ]
        )


def _with_waits(
    dialog: OpenDialog, waits: Mapping[str, EndWaits], ids: Mapping[str, str]
) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(dialog)
    for side in ("initiator", "target"):
        if plain[side] is not None:
            if side in waits:
                plain[side] |= {"why": waits[side].why, "messages": _plain(waits[side].messages)}
            if side in ids:
                plain[side]["id"] = ids[side]
    return plain


def _contracts(service: ListedService) -> list[dict[str, Any]]:
    """A line for each contract; what the service has stands in the first."""
    facts = {
        "service": service.service,
        "queue": service.queue,
        "readers": service.max_readers,
        "open": service.open,
    }
    rows = [
        {
            "contract": contract.name,
            "initiator sends": ", ".join(contract.types(0)),
            "target sends": ", ".join(contract.types(1)),
        }
        for contract in service.contracts
    ] or [dict.fromkeys(("contract", "initiator sends", "target sends"), "")]
    return [facts | rows[0], *(dict.fromkeys(facts, "") | row for row in rows[1:])]


def _plain(value: Any) -> Any:  # noqa: ANN401 - plain data of any shape
    """Rows as JSON has them."""
    if hasattr(value, "_asdict"):
        return {name: _plain(member) for name, member in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value


def _age(since: float, now: float) -> str:
    return length(round(max(now - since, 0), 1))


def _left(due: float, now: float) -> str:
    """How long it takes until then."""
    return f"in {length(round(due - now, 1))}" if due > now else "now"
