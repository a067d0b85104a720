"""Scenarios: all that a report says of one, from what was counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fairlead.balance.message import RELEASED
from fairlead.measure.attempts import End, digest_of
from fairlead.measure.waits import ALL, PHASE
from fairlead.replay.words import AGAIN
from fairlead.results.comparison import Longest, Queue, Scenario, Waits, Worker

NOTHING: Final = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


def last_finishes(ends: Mapping[int, Iterable[End]], latest: int) -> dict[int, int]:
    """By scenario: when the last of its attempts was finished; `latest` where none was."""
    return {
        k: max((each.last for each in own if each.last is not None), default=latest)
        for k, own in ends.items()
    }


def scenario(
    name: str,
    ends: Sequence[End],
    waits: Mapping[str, list[Waits]],
    workers: list[Worker],
    queue: Queue | None,
    groups: tuple[int, int],
    longest: Longest | None,
) -> Scenario:
    """What became of the messages in one scenario."""
    outcomes: dict[str, int] = {}
    for each in sorted(ends, key=lambda each: each.outcome):
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.rows
    number, torn = groups
    return Scenario(
        name=name,
        messages=sum(n for outcome, n in outcomes.items() if outcome not in AGAIN),
        outcomes=outcomes,
        waiting=sum(each.waiting for each in ends),
        redeliveries=sum(each.redeliveries for each in ends),
        failovers=outcomes.get(RELEASED, 0),
        waits=next(iter(waits[ALL]), NOTHING),
        by_destination=waits["destination"],
        by_priority=waits["priority"],
        by_tenant=waits["tenant"],
        by_phase=waits[PHASE],
        workers=workers,
        queue=queue,
        groups=number,
        groups_out_of_order=torn,
        digest=digest_of(ends),
        longest=longest,
    )
