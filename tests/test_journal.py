"""Every engine's journal has the same rows, and what a journal tells of can be decided anew."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import JournalRow, route
from fairlead.replay import replay
from fairlead.rows import ATTEMPT, DECISION, JOURNAL
from tests import engines
from tests.golden_cases import POLICIES
from tests.strategies import scenarios

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
EXAMPLES = settings(max_examples=30, suppress_health_check=SLOW)
Rows = list[dict[str, Any]]


def plain(rows: list[JournalRow]) -> Rows:
    return [{name: getattr(row, name) for name in JOURNAL} for row in rows]


def in_seconds(table: pa.Table) -> Rows:
    """The journal's columns of rows that have timestamps."""
    micros = table["time"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    rows: Rows = table.select(list(JOURNAL)).to_pylist()
    return [{**row, "time": at / 1_000_000} for row, at in zip(rows, micros, strict=True)]


@pytest.mark.parametrize("system", POLICIES)
@given(data=st.data())
@EXAMPLES
def test_a_table_in_memory_has_the_live_journal(system: str, data: Any) -> None:
    cluster, messages, changes = scenario = data.draw(scenarios(system))
    live = engines.journal(*scenario)
    if not messages:
        return
    given_ = (engines.cluster_of(cluster), engines.changes_of(changes))
    found = route(engines.table(messages), *given_, journal=True)
    assert in_seconds(found) == plain(live)
    assert found.select(DECISION).equals(route(engines.table(messages), *given_).select(DECISION))
    again = route(found, *given_, journal=True)
    assert in_seconds(again) == plain(live)
    assert again.column_names[-len(JOURNAL) :] == list(JOURNAL)


@pytest.mark.parametrize("system", POLICIES)
@given(data=st.data())
@EXAMPLES
def test_a_replay_has_a_row_for_each_attempt(system: str, data: Any) -> None:
    cluster, messages, changes = data.draw(scenarios(system))
    if not messages:
        return
    given_ = (engines.cluster_of(cluster), engines.changes_of(changes))
    traffic = engines.table([{"service_time": 0.5, **message} for message in messages])
    attempts, found = replay(traffic, *given_), replay(traffic, *given_, journal=True)
    added = [*DECISION, *ATTEMPT]
    assert found.select(added).equals(attempts.select(added))
    decided = ("position", "time", "id", "cluster", "version", "stream")
    told = {
        row["id"]: [row[name] for name in decided]
        for row in in_seconds(route(engines.table(messages), *given_, journal=True))
    }
    firsts = [row for row in in_seconds(found) if row["attempt"] == 1]
    assert all(told[row["id"]] == [row[name] for name in decided] for row in firsts)
    again = replay(found, *given_)
    assert again.select(added).equals(attempts.select(added))
