"""What was asked of a store: the options of a reader, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from fairlead.balance.objects import hint, repr_of
from fairlead.balance.times import moment
from fairlead.errors import UserError

PATH: Final = "path"
STORE: Final = "store"
JOURNALS: Final = ("journal", "decisions")
"""Tables that only grow, of which parts are read side by side."""
VIEWS: Final = ("waiting", "dead_letters")
TABLES: Final = (*JOURNALS, *VIEWS)
OPTIONS: Final = {
    **dict.fromkeys(JOURNALS, ("cluster", "from", "until", "partitions")),
    **dict.fromkeys(VIEWS, ("queue",)),
}
"""Of each table, beside the store."""
PARTITIONS: Final = 8
MOST_PARTITIONS: Final = 10_000
FORMAT: Final = 'spark.read.format("fairlead")'


class StoreRequest(NamedTuple):
    """A table of a store, and which of its rows."""

    table: str
    url: str
    cluster: str | None
    queue: str | None
    start: float | None
    end: float | None
    """Seconds since 1970."""
    partitions: int

    def __repr__(self) -> str:
        """Without the URL, which may have a password."""
        return f"StoreRequest({self.table!r}, cluster={self.cluster!r}, queue={self.queue!r})"


def request_of(options: Mapping[str, str]) -> StoreRequest:
    """What the options ask for. Raises UserError."""
    settings = {name.lower(): value for name, value in options.items()}
    table = settings.pop(PATH, "")
    if table not in TABLES:
        raise UserError(
            f"{FORMAT}: found {repr_of(table)} as the table, allowed: .load() of "
            f"{', '.join(TABLES)}{hint(table, TABLES)}"
        )
    url = settings.pop(STORE, "")
    if not url:
        raise UserError(
            f"{FORMAT}: found no option store, allowed: sqlite:///FILE, or "
            "postgresql://USER@HOST/DATABASE"
        )
    allowed = OPTIONS[table]
    for name in settings:
        if name not in allowed:
            raise UserError(
                f"{FORMAT}: option: found {name!r} with {table}, allowed: store, "
                f"{', '.join(allowed)}{hint(name, allowed)}"
            )
    start, end = (_seconds(name, settings.get(name)) for name in ("from", "until"))
    cluster, queue = settings.get("cluster"), settings.get("queue")
    return StoreRequest(table, url, cluster, queue, start, end, _partitions(settings))


def _seconds(name: str, value: str | None) -> float | None:
    return None if value is None else moment(value, f"option {name}", UserError) / 1_000_000


def _partitions(settings: Mapping[str, str]) -> int:
    text = settings.get("partitions", str(PARTITIONS))
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PARTITIONS:
        raise UserError(
            f"option partitions: found {text!r}, allowed: an integer from 1 to {MOST_PARTITIONS:,}"
        )
    return int(text)
