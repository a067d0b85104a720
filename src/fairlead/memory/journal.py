"""The messages of a journal, which is a table of decisions."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.compiled.intake.rows import CheckedTable
from fairlead.compiled.journal import messages_of as of_table
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.rows import without_decisions


def messages_of(checked_table: CheckedTable, plans: Sequence[Plan], where: str) -> CheckedTable:
    """The messages that a journal tells of, each once; any other table is left as it is.

    Raises MessageError for a journal of which some lines are no rows.
    """
    names = checked_table.table.column_names
    if without_decisions(names) == names:
        return checked_table
    if checked_table.malformed is not None and any(checked_table.malformed):
        why = next(reason for reason in checked_table.malformed if reason)
        raise MessageError(f"{where}: found a journal with a line that is no row: {why}")
    table = of_table(checked_table.table, plans[0])
    for plan in plans[1:]:
        names = of_table(checked_table.table, plan).column_names
        if names != table.column_names:
            raise MessageError(
                f"{where}: found a journal of one cluster, allowed: scenarios that all have one, "
                "or all several"
            )
    return CheckedTable(table, None)
