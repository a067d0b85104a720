"""Which columns a table must have, so that the clusters' policies can do what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from fairlead.balance.objects import listed, on_one_line
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError

LONGEST_NAME: Final = 60
LONGEST_SERVICE: Final = 4_000_000_000
SECONDS: Final = f"a number of seconds from 0 to {LONGEST_SERVICE}"


class ServedClusters(NamedTuple):
    """Whose messages need a service time, in every engine that reads tables.

    A message of the type SET_PRIORITY is no work, and needs none.
    """

    clusters: Collection[str] | None
    """Their names, "" for messages that name none; None: all messages, whatever they name."""

    @property
    def nobody(self) -> bool:
        """Whether no message needs one."""
        return self.clusters is not None and not self.clusters


ALL_WORK: Final = ServedClusters(None)
"""In a replay every message is worked on."""


def served(plan: Plan) -> ServedClusters:
    """Where messages are only decided: those of clusters where completions decide who is busy."""
    timed = [name for name, timed in plan.timed.items() if timed]
    return ServedClusters({*timed, ""} if timed and len(plan.clusters) == 1 else {*timed})


def named(columns: Iterable[str]) -> str:
    """The names of columns for an error line, whatever a wrong kind of file has made of them."""
    return listed(on_one_line(_shortened(name)) for name in columns)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"


def check_columns(plan: Plan, columns: Sequence[str], where: str, *, worked: bool = False) -> None:
    """Refuse a table without a column that a policy or a replay needs. Raises MessageError.

    `where`: what error lines call the table; `worked`: whether messages are worked on (replay).
    """
    for name, why in _needed(plan, worked=worked):
        if name not in columns:
            line = f"{where}: no column {name!r}, found: {named(columns)}; {why}"
            raise MessageError(line, mapping(line, name))


def mapping(line: str, name: str) -> str:
    """A line about a column that is missing, as the command line says it."""
    return f"{line}; map one with --column {name}=…"


def _needed(plan: Plan, *, worked: bool) -> Iterator[tuple[str, str]]:
    """Column, and why it is needed."""
    if worked:
        yield "service_time", "a replay needs the seconds that each message takes"
    if len(plan.clusters) > 1:
        yield "cluster", "with several clusters each message names its own"
    for cluster, timed in plan.timed.items():
        if timed:
            who_is_busy = "completions decide (a capacity, or the fewest pending)"
            yield "service_time", f"in cluster {cluster} {who_is_busy}, and it says when one is due"
    for cluster in plan.stays:
        yield "group", f'affinity = "group" of cluster {cluster} follows it'
    for cluster, name in plan.keyed.items():
        yield name, f"cluster {cluster} chooses by it"
