"""What the kernel counts by the clock is what the rows say: Little's law, exactly."""

from random import Random

import pytest
from tests.replay.engines import Kernel
from tests.replay.scenarios import KINDS, replay_scenario, some

from fairlead.replay.memory import AREA, DOOR, WAITING


@pytest.mark.parametrize("kind", some(KINDS))
def test_the_waits_of_all_rows_are_what_waited_over_time(kind: str) -> None:
    counted = 0
    for seed in range(60):
        scenario = replay_scenario(kind, Random(seed))  # noqa: S311
        if any(change["value"] == "failed" for change in scenario[2]) or not scenario[1]:
            continue  # what is given back before its start has waited, and no row says so
        kernel = Kernel(*scenario, by_events=True)
        rows = kernel.through()
        cells = kernel.run.memory.cells
        places = [*kernel.run.memory.servers, int(cells[DOOR])]
        if any(cells[place + WAITING] for place in places):
            continue  # some wait for ever
        counted += 1
        assert sum(row.wait or 0 for row in rows) == sum(int(cells[s + AREA]) for s in places)
    assert counted > 10
