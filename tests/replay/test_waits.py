"""What the kernel counts by the clock is what the rows say: Little's law, exactly, in every run."""

from random import Random

import pytest
from tests.replay.engines import Kernel
from tests.replay.scenarios import KINDS, replay_scenario, some

from fairlead.errors import FairleadError
from fairlead.replay.layout import queue


@pytest.mark.parametrize("kind", some(KINDS))
def test_the_waits_of_all_rows_are_what_waited_over_time(kind: str) -> None:
    waited = 0
    for seed in range(60):
        scenario = replay_scenario(kind, Random(seed))  # noqa: S311
        if not scenario[1]:
            continue
        kernel = Kernel(*scenario, by_events=True)
        waited += any(row.wait for row in kernel.through())  # it checks itself in the end
    assert waited > 10


def test_a_wait_that_no_row_reports_stops_the_run() -> None:
    kernel = Kernel(*replay_scenario("weighted", Random(1)), by_events=True)  # noqa: S311
    kernel.run.memory.cells[kernel.run.memory.queues[0] + queue.AREA] += 1
    with pytest.raises(FairleadError, match=r"the clock saw .*a fault of Fairlead's"):
        kernel.through()
