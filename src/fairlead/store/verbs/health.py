"""What a store does where destinations of its clusters fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlead.order.queue import nothing_given
from fairlead.store.arguments import cluster_name, reason_of
from fairlead.store.database.retrying import again
from fairlead.store.queues.settlement import RELEASE
from fairlead.store.verbs.store_verbs import StoreVerbs
from fairlead.store.verbs.subscriptions import author_of

if TYPE_CHECKING:
    from fairlead.balance.health import HealthChange
    from fairlead.store.clusters.unwell import Report, UnwellDestination
    from fairlead.store.queues.settlement import Given
    from fairlead.store.queues.taken_group import TakenGroup
    from fairlead.store.work import HeldWork


class StoreHealth(StoreVerbs):
    """Each in a transaction of its own."""

    @again
    def report_health(
        self, cluster: str, destination: str, what: Report, reason: str = ""
    ) -> HealthChange | None:
        """Say how a destination of a cluster with `[health]` is; what follows, None: nothing does.

        `what`: `failing`: it has failed too often; of one that is down: `failed` or `well`, as what
        it was tried with has, or `untried`: nothing waits to try it with. `reason`: for the
        journal. Raises ChangeError, MessageError.
        """
        from fairlead.store.clusters.health import report
        from fairlead.store.clusters.unwell import check_report

        wanted, why = cluster_name(cluster), reason_of(reason)
        check_report(destination, what)
        with self._writing() as database:
            return report(database, wanted, destination, what, why, author_of(self._context))

    def send_elsewhere(self, cluster: str, work: HeldWork) -> list[str]:
        """Give what was given of a piece of work back to the choice; where each message goes now.

        `work`: taken from the queue of a destination of the cluster; it is settled then, without a
        failure, and the rest of its group stays. The policy chooses as it does for every message:
        it must not choose the same destination, which is therefore to be down, disabled or
        draining. Raises MessageError where it would, StaleWorkError, NoDestinationError; then
        nothing was done.
        """
        work.check_open()
        end = work.end(RELEASE)
        if not end.given:
            raise nothing_given(work.named)
        sent = self._send_elsewhere(cluster_name(cluster), work.queue, work.held, end.given)
        work.close()
        return sent

    @again
    def _send_elsewhere(
        self, cluster: str, queue: str, held: TakenGroup, given: Sequence[Given]
    ) -> list[str]:
        from fairlead.store.clusters.elsewhere import send_elsewhere

        with self._writing() as database:
            author = author_of(self._context)
            return send_elsewhere(
                database, self._context.memory, cluster, queue, held, given, author
            )

    def unwell(self, cluster: str) -> list[UnwellDestination]:
        """The destinations that have failed too often, and are not known to be well since."""
        from fairlead.store.clusters.health import unwell_destinations

        with self._connection() as database:
            return unwell_destinations(database, cluster_name(cluster), self._context.clock())
