"""Deliver to a store on PostgreSQL: many processes bring messages, one transaction publishes them.

bring → rank → reserve → publish
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from fairlead.balance.message import NO_DESTINATION
from fairlead.errors import MessageError, StoreError
from fairlead.runs.progress import Progress
from fairlead.runs.store_delivery import (
    KNOWN,
    SHOWN,
    DeliveredRun,
    TableRow,
    run_transaction,
)
from fairlead.store.clusters.choosing import as_said
from fairlead.store.clusters.staging import staged_row
from fairlead.store.database.retrying import again
from fairlead.store.queues.outgoing import published_of

if TYPE_CHECKING:
    from fairlead.store.clusters.reserving import Reservation
    from fairlead.store.clusters.staging import Brought, StagedCount, StagedRun
    from fairlead.store.store import Store


def deliver_staged(
    store: Store,
    delivered: DeliveredRun,
    bring: Callable[[StagedRun], Sequence[Brought]],
    progress: Progress,
) -> None:
    """Publish what `bring` copies into the run's table, and count it in `delivered`.

    Raises what `deliver_rows` does; then nothing was published.
    """
    with store.staged_run(delivered.run) as run:
        with progress("copy"):
            brought = bring(run)
        with progress("order in the store"):
            counts = run.rank(brought)
        with progress("publish"):
            again(_publish)(store, delivered, run, counts)
        nobody = [
            count.cluster
            for count in counts
            if count.messages and not delivered.destinations.get(count.cluster)
        ]
        if delivered.left_out:
            delivered.examples = [
                (id_, KNOWN if known else NO_DESTINATION)
                for id_, known in run.left_out(nobody, SHOWN)
            ]


def staged(attempt: str, key: int, row: TableRow) -> tuple[object, ...]:
    """A row as it waits in the store. Raises MessageError that names the message."""
    try:
        outgoing, attributes = published_of(row.plain, 0)
    except MessageError as error:
        raise MessageError(f"message {row.id!r}: {error}") from None
    return staged_row(attempt, row.cluster, key, outgoing, as_said(attributes))


def _publish(
    store: Store, delivered: DeliveredRun, run: StagedRun, counts: Sequence[StagedCount]
) -> None:
    """Reserve the turns, and publish; where that fails, the turns are nobody's."""
    prepared = {
        count.cluster: store.prepare_turns(count.cluster, count.messages) for count in counts
    }
    with store.transaction() as tx:
        reservations = [
            tx.reserve_turns(run.number, count.cluster, count.messages, prepared[count.cluster])
            for count in counts
        ]
    rows = {count.cluster: count.messages + count.control for count in counts}
    try:
        sent, left_out = _publish_all(store, delivered, run.number, reservations, rows)
    except BaseException:
        with suppress(StoreError):  # else whoever sweeps what is left does it
            run.give_back_turns()
        raise
    left_out[KNOWN] += sum(count.known for count in counts)
    for count, reservation in zip(counts, reservations, strict=True):
        if not reservation.has_destinations:
            left_out[NO_DESTINATION] += count.messages
    delivered.destinations = sent
    delivered.control = sum(count.control for count in counts)
    delivered.left_out = +left_out
    delivered.published = sum(counts.total() for counts in sent.values())


def _publish_all(
    store: Store,
    delivered: DeliveredRun,
    number: int,
    reservations: Sequence[Reservation],
    rows: Mapping[str, int],
) -> tuple[dict[str, Counter[str]], Counter[str]]:
    sent: dict[str, Counter[str]] = {}
    left_out: Counter[str] = Counter()
    with run_transaction(store, delivered) as tx:
        for cluster, to in tx.publish_staged(number, reservations, rows).items():
            left_out[KNOWN] += to.pop(None, 0)
            sent[cluster] = Counter({str(name): n for name, n in to.items()})
        tx.end_run(delivered.run, sum(counts.total() for counts in sent.values()))
    return sent, left_out
