"""The rows that engines write are those that the documentation shows."""

from pathlib import Path

import pytest

from fairlead.rows import ATTEMPT_COLUMNS, DECISION_COLUMNS, JOURNAL_COLUMNS, Column

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("page", "columns"),
    [
        ("messages.md", DECISION_COLUMNS),
        ("replay.md", ATTEMPT_COLUMNS),
        ("journal.md", JOURNAL_COLUMNS),
    ],
    ids=["decision", "attempt", "journal"],
)
def test_the_pages_show_the_columns_in_their_order(page: str, columns: tuple[Column, ...]) -> None:
    rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
    assert "\n".join(rows) in (DOCS / page).read_text(encoding="utf-8")
