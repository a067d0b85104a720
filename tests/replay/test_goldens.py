"""Golden cases: those of replays, and those of the order of work as far as a table can say them."""

import pytest
from tests.replay.engines import Kernel, oracle, table
from tests.replay.goldens import CANNOT_BE_SAID, Golden, goldens

ENGINES = {
    "table": table,
    "interpreted": lambda *case: Kernel(*case, interpreted=True).through(),
    "by events": lambda *case: Kernel(*case, by_events=True).through(),
    "oracle": oracle,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", goldens(), ids=lambda case: case.name)
def test_golden(case: Golden, engine: str) -> None:
    case.check(ENGINES[engine](case.cluster, case.messages, case.changes))


def test_what_a_table_cannot_say() -> None:
    assert CANNOT_BE_SAID == [
        "80 rolled back at 2100 ms is taken again at once",
        "a group can be raised while it is worked on, and is after a rollback",
        "a rollback of what nobody raised restores the place by arrival",
    ]
