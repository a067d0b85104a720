"""Views of the schema whose rows a program reads as a table, all as of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.rows import MOMENT, TEXT, WHOLE
from fairlead.store.database.port import Database, Row

BYTES: Final = "bytes"
VIEW_COLUMNS: Final = {
    "waiting": {
        "queue": TEXT,
        "place": WHOLE,
        "in_group": TEXT,
        "id": TEXT,
        "tenant": TEXT,
        "priority": WHOLE,
        "raised_to": WHOLE,
        "messages": WHOLE,
        "since": MOMENT,
        "why": TEXT,
        "until": MOMENT,
        "failures": WHOLE,
    },
    "dead_letters": {
        "queue": TEXT,
        "number": WHOLE,
        "id": TEXT,
        "in_group": TEXT,
        "tenant": TEXT,
        "priority": WHOLE,
        "reason": TEXT,
        "attempt": WHOLE,
        "died": MOMENT,
        "cost": WHOLE,
        "type": TEXT,
        "body_text": TEXT,
        "body": BYTES,
    },
}
"""View → column → what kind of value it has; moments are seconds since 1970."""
STATEMENTS: Final = {"waiting": "rows_waiting", "dead_letters": "rows_dead_letters"}


def view_rows(database: Database, view: str, queue: str | None) -> Sequence[Row]:
    """The rows of a view, by one statement: of one queue, or of all."""
    return database.run(STATEMENTS[view], queue=queue)
