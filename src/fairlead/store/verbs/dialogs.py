"""What an operator asks a store of conversations."""

from __future__ import annotations

from typing import Final

from fairlead.store.admin.dialogs import (
    EndWaits,
    ListedService,
    OpenDialog,
    described,
    ends_of_open,
    listed_services,
    number_of,
    waits,
)
from fairlead.store.arguments import whole
from fairlead.store.conversation import Conversation, DialogSession
from fairlead.store.database.clock import time_of
from fairlead.store.queues.endpoints import Endpoint
from fairlead.store.verbs.store_verbs import StoreVerbs

MAX_SHOWN: Final = 10_000
LAST: Final = 2**63 - 1
"""Behind every dialog."""


class StoreDialogs(StoreVerbs, DialogSession):
    """What an operator asks of conversations."""

    def conversations(
        self, service: str | None = None, most: int = 20, before: str | None = None
    ) -> list[OpenDialog]:
        """The dialogs that are open, the latest first, at most so many.

        `service`: those in which it speaks, at either end. `before`: go on after this dialog.
        Ids of ends are not in it: `ends` gives these. Raises MessageError.
        """
        whole("most", most, 0, MAX_SHOWN)
        last = LAST if before is None else number_of(before)
        with self._connection() as database:
            if service is None:
                rows = database.run("dialogs", before=last, most=most)
            else:
                declaration = self._context.declared.get(database).service(service)
                rows = database.run("dialogs_of", service=declaration.name, before=last, most=most)
            now = time_of(database, self._context.clock())
            return described(database, [Endpoint(*row) for row in rows], now)

    def dialog(self, dialog: str) -> OpenDialog:
        """A dialog that is open, by its name. Raises MessageError."""
        with self._connection() as database:
            now = time_of(database, self._context.clock())
            (description,) = described(database, ends_of_open(database, dialog), now)
            return description

    def dialog_waits(self, dialog: str, most: int = 10) -> list[EndWaits]:
        """What waits at each end of a dialog, at most so many messages, and why it does.

        Raises MessageError.
        """
        whole("most", most, 0, MAX_SHOWN)
        with self._connection() as database:
            queues = {end.queue for end in ends_of_open(database, dialog)}
        for queue in sorted(queues):
            self._maintain(queue)  # else what was raised has no place yet
        with self._connection() as database:
            ends = ends_of_open(database, dialog)
            return waits(database, ends, self._context.clock(), most)

    def ends(self, dialog: str) -> list[Conversation]:
        """The ends of a dialog, the initiator's first, with their ids: to act as either.

        Raises MessageError.
        """
        with self._connection() as database:
            ends = ends_of_open(database, dialog, with_ids=True)
            return [Conversation(end, self) for end in ends]

    def services(self) -> list[ListedService]:
        """The services that are declared, and how many ends of dialogs each has."""
        with self._connection() as database:
            return listed_services(database, self._context.declared.get(database))
