"""What engines agree on beside the rows: how many make a block, names, and how CSV is written."""

from typing import Final

from fairlead.rows import DECISION

ROWS_A_BLOCK: Final = 500_000
ALL_ROWS: Final = "all"
LATE_ROWS: Final = "late"
"""Of a replay's attempts those that count and waited longer than the scenario's p99."""
NO_ROWS: Final = "none"
PREFIX: Final = "__fairlead_"
"""How columns begin that the stages add and drop again; a user's own must not."""
MALFORMED: Final = PREFIX + "malformed"
"""The column that says why a line of a file is no row, such as one of CSV with too few cells."""
ROW_DIGITS: Final = 10
"""Row numbers are padded, so that ids of one file sort in the file's order."""
NO_CHARACTER: Final = "\ufffd"
"""What is read of bytes that are no UTF-8."""
CSV: Final = {
    # Every value stays the text that it is: ids such as 01 and 1.0, names with blanks.
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
"""How Spark reads and writes CSV."""
SPELLED_OUT: Final = ((1e7, 1e18), (1e-6, 1e-3))
"""From and below which numbers are written in CSV without a power of ten, although Java has one."""
MAX_MOVES: Final = 1_000
"""Pairs of destinations that a diff lists: from where messages go where."""
MAX_LISTED: Final = 20
"""Messages, and groups, that a whatif lists."""
MAX_NAMED: Final = 3
"""Groups that are named where one is not known."""
RESERVED: Final = (*DECISION, "reason")
"""Columns that a table of messages must not have."""
