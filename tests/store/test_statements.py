"""Each statement stands in the room that uses it, and somebody uses it."""

import re
from pathlib import Path

import pytest

import fairlead.store
from fairlead.store.admin.checking import CHECKS
from fairlead.store.database.statements import ROOMS, statements_of

STORE = Path(fairlead.store.__file__).parent
MADE = {f"{what}_{name}" for name in CHECKS for what in ("find", "mend", "complete", "acknowledge")}
MADE |= {"add_journal_taken", "add_journal_accepted"}
"""Those whose names are put together."""


def words_in(pattern: str, *places: str) -> set[str]:
    """What stands in the code of some rooms where a name of a statement may stand."""
    files = [file for place in places for file in (STORE / place).rglob("*.py")]
    return {word for file in files for word in re.findall(pattern, file.read_text("utf-8"))}


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("room", ROOMS)
def test_each_statement_is_used(room: str, dialect: str) -> None:
    assert {*statements_of(room, dialect)} <= words_in(r'"(\w+)"', ".") | MADE


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_runs_the_statements_of_one_above(room: str) -> None:
    own = {*statements_of(room, "sqlite"), *statements_of(room, "postgresql")}
    below = ROOMS[: ROOMS.index(room)]
    assert not own & words_in(r'\b(?:run|many)\(\s*"(\w+)"', *below)


def test_no_two_rooms_have_a_statement_of_one_name() -> None:
    for dialect in ("sqlite", "postgresql"):
        every = [name for room in ROOMS for name in statements_of(room, dialect)]
        assert len(every) == len({*every})
