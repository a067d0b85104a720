"""Whether the database answers, as the pages have found it."""

from __future__ import annotations

import logging
import time
from typing import Final

from fairlead.errors import DeniedError, StoreError, UserError

LOGGER: Final = logging.getLogger("fairlead.console")


class DatabaseHealth:
    """Of the store's database; each call that is made says what became of it."""

    def __init__(self) -> None:
        """It answers, as far as is known."""
        self.lost_since: float | None = None
        """Seconds since 1970; None: it has answered last."""
        self.why = ""

    def failed(self, error: UserError) -> None:
        """A call has failed; where that is the database's fault, all pages say so."""
        if not is_lost(error):
            return
        self.why = str(error)
        if self.lost_since is None:
            self.lost_since = time.time()
            LOGGER.warning("event=database-lost why=%r", self.why)

    def answered(self) -> None:
        """Note that the database answers."""
        if self.lost_since is not None:
            LOGGER.warning("event=database-back seconds=%.0f", time.time() - self.lost_since)
        self.lost_since, self.why = None, ""


def is_lost(error: UserError) -> bool:
    """Whether a database did not do what was asked, and not because its user has no right to it."""
    return isinstance(error, StoreError) and not isinstance(error, DeniedError)
