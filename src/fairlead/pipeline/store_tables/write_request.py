"""What is asked of a writer: its options, checked, and what they make of the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.balance.objects import hint, listed
from fairlead.errors import UserError
from fairlead.store.arguments import cluster_name, run_name
from fairlead.store.clusters.held_clusters import checked_others

FORMAT: Final = 'df.write.format("fairlead")'
NEEDED: Final = ("store", "cluster", "run")
OPTIONS: Final = (*NEEDED, "body", "others")
BODY: Final = "body"


class WriteRequest(NamedTuple):
    """A run of many messages, and where it goes."""

    url: str
    cluster: str
    run: str
    body: tuple[str, ...]
    """The columns of the body; it is JSON of several."""
    others: str | None
    columns: tuple[str, ...]
    """Of the table."""

    def __repr__(self) -> str:
        """Without the URL, which may have a password."""
        return f"WriteRequest({self.cluster!r}, run={self.run!r})"


def write_request_of(
    options: Mapping[str, str], columns: Sequence[str], *, overwrite: bool
) -> WriteRequest:
    """What the options ask for. Raises UserError."""
    settings = {name.lower(): value for name, value in options.items()}
    if overwrite:
        raise UserError(f'{FORMAT}: found mode("overwrite"), allowed: mode("append")')
    for name in settings:
        if name not in OPTIONS:
            raise UserError(
                f"{FORMAT}: option: found {name!r}, allowed: {', '.join(OPTIONS)}"
                f"{hint(name, OPTIONS)}"
            )
    for name in NEEDED:
        if not settings.get(name):
            raise UserError(f"{FORMAT}: found no option {name}, allowed: with it")
    body = tuple(part.strip() for part in settings.get(BODY, BODY).split(","))
    for name in ("id", *body):
        if name not in columns:
            raise UserError(
                f"{FORMAT}: found no column {name!r}, allowed: it among {listed(columns)}"
            )
    if not {"time", "position"} & {*columns}:
        raise UserError(
            f"{FORMAT}: found no column 'time' or 'position', allowed: one among {listed(columns)}"
        )
    others = settings.get("others")
    return WriteRequest(
        settings["store"],
        cluster_name(settings["cluster"]),
        run_name(settings["run"]),
        body,
        None if others is None else checked_others(others),
        tuple(columns),
    )
