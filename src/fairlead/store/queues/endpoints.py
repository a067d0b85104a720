"""The two ends of a dialog, as their rows say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from fairlead.store.database.port import Database

INITIATOR, TARGET = 0, 1
SIDES: Final = ("initiator", "target")
OPEN, FAILED, ENDED = 1, 2, 3
HANDLE: Final = re.compile("[0-9a-f]{32}")
"""An id of an end."""
DIALOG: Final = re.compile(r"d-([1-9]\d{0,17})(?:/([it]))?", re.ASCII)
"""What a dialog is called, or one end of it."""


class Endpoint(NamedTuple):
    """One end of a dialog."""

    id: int
    handle: str
    dialog: int
    side: int
    service: str
    far_service: str
    contract: str
    queue: str
    group: str
    state: int
    sent: int
    began: int
    lifetime: int | None
    bound: int | None

    def __repr__(self) -> str:
        return f"<Endpoint {self.end}>"  # without its handle

    @property
    def name(self) -> str:
        """The dialog's name, which both ends have."""
        return f"d-{self.dialog}"

    @property
    def end(self) -> str:
        """This end's name, for people; it opens nothing."""
        return end_name(self.dialog, self.side)


def end_name(dialog: int, side: int) -> str:
    """The name of one end of a dialog: d-17/i, d-17/t."""
    return f"d-{dialog}/{SIDES[side][0]}"


def endpoint_of(row: str) -> Endpoint:
    """An end as a function of the schema gives it."""
    return Endpoint(*msgspec.json.decode(row))


def by_handle(database: Database, handle: str) -> Endpoint | None:
    """The end with this handle."""
    rows = database.run("endpoint", handle=handle)
    return Endpoint(*rows[0]) if rows else None


def by_ids(database: Database, ids: Iterable[int]) -> dict[int, Endpoint]:
    """Some ends; those that are no more are left out."""
    wanted = sorted(set(ids))
    rows = database.run("endpoints", ids=wanted) if wanted else []
    return {row[0]: Endpoint(*row) for row in rows}


def far_end(database: Database, end: Endpoint) -> Endpoint | None:
    """The other end; None: nothing was sent to it yet, so it is not there."""
    rows = database.run("end_of", dialog=end.dialog, side=1 - end.side)
    return Endpoint(*rows[0]) if rows else None


def both_ends(database: Database, dialog: int, *, with_ids: bool = False) -> list[Endpoint]:
    """The ends of a dialog that are there, the initiator's first.

    `with_ids`: with their handles, which not everybody may read; else these are "".
    """
    statement = "ends_with_ids_of" if with_ids else "ends_of"
    return [Endpoint(*row) for row in database.run(statement, dialog=dialog)]


def group_of_dialog(database: Database, queue: str, name: str) -> str | None:
    """The group of a dialog, or of one end of it, in a queue; None: it has none there.

    Where both ends are of this queue, that is the group of the target's.
    """
    match = DIALOG.fullmatch(name)
    if match is None:
        return None
    ends = {end.side: end for end in both_ends(database, int(match[1]))}
    for side in sides_meant(match[2]):
        if side in ends and ends[side].queue == queue:
            return ends[side].group
    return None


def sides_meant(side: str | None) -> list[int]:
    """The sides that are meant by the end of a name: i, t, or None."""
    return {"i": [INITIATOR], "t": [TARGET]}.get(side or "", [TARGET, INITIATOR])


def is_past(end: Endpoint, now: int) -> bool:
    """Whether the lifetime of an end is over."""
    return end.lifetime is not None and end.lifetime <= now


def state_of(end: Endpoint, peer: Endpoint | None, now: int) -> str:
    """How an end stands; `peer`: the other one."""
    if end.state == ENDED:
        return "ended"
    if end.state == FAILED or is_past(end, now):
        return "failed"
    if peer is None:
        return "started"
    return "ended-by-other" if peer.state == ENDED else "conversing"
