"""The rows that engines write are those that the documentation shows."""

from pathlib import Path

import pytest

from fairlead.rows import (
    ATTEMPT_COLUMNS,
    DECISION_COLUMNS,
    EVENT,
    EVENT_COLUMNS,
    JOURNAL,
    JOURNAL_COLUMNS,
    Column,
)
from fairlead.store.journal.events import Event

PAGES = Path(__file__).parent.parent / "docs" / "reference"


@pytest.mark.parametrize(
    ("page", "columns"),
    [
        ("messages.md", DECISION_COLUMNS),
        ("replay.md", ATTEMPT_COLUMNS),
        ("journal.md", JOURNAL_COLUMNS),
        ("store-journal.md", EVENT_COLUMNS),
    ],
    ids=["decision", "attempt", "journal", "event"],
)
def test_the_pages_show_the_columns_in_their_order(page: str, columns: tuple[Column, ...]) -> None:
    rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
    assert "\n".join(rows) in (PAGES / page).read_text(encoding="utf-8")


def test_the_rows_of_a_store_have_all_that_a_journal_has() -> None:
    assert Event._fields == EVENT
    assert {*JOURNAL} <= {*EVENT}
