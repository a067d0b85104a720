"""The golden cases of Service Broker's order, live and in the oracle."""

import pytest
from tests.order.service import ENGINES, MILLI, Case, cases, run, written_out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case, engine: str) -> None:
    started = run(ENGINES[engine](case.order, case.weights), case)
    assert set(case.expect) <= {"taken", "started"}
    if "taken" in case.expect:
        assert [each.item for each in started] == written_out(case.expect["taken"])
    if "started" in case.expect:
        lines = [f"{each.item} {each.at // MILLI} {each.reader}" for each in started]
        assert lines == case.expect["started"]
