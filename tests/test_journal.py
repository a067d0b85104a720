"""Every engine's journal has the same rows, and what a journal tells of can be decided anew."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import Balancer, Cluster, JournalRow, route
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.questions.explain import why_in_journal
from fairlead.replay import replay
from fairlead.rows import ATTEMPT, DECISION, JOURNAL
from tests import engines
from tests.golden_cases import POLICIES
from tests.strategies import scenarios

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
EXAMPLES = settings(max_examples=20, suppress_health_check=SLOW)
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


@pytest.mark.parametrize("system", POLICIES)
@given(data=st.data())
@EXAMPLES
def test_a_decision_of_a_journal_is_explained_as_it_was_live(
    system: str, data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster, messages, changes = scenario = data.draw(scenarios(system))
    live = engines.journal(*scenario)
    if not messages:
        return
    place = tmp_path_factory.mktemp("journal") / "live.jsonl"
    place.write_text("".join(json.dumps(row.to_dict(), default=float) + "\n" for row in live))
    row = data.draw(st.sampled_from(live))
    found = why_in_journal(place, row.id, engines.cluster_of(cluster), engines.changes_of(changes))
    told = (found.outcome, found.cluster, found.version, found.sequence)
    assert told == (row.outcome, row.cluster, row.version, row.sequence)
    assert str(found.explanation) == str(row.decision.explain())


POOL = Cluster.of("weighted", destination=[{"name": "a"}, {"name": "b", "weight": 2}])


def live_table(balancer_of: list[Cluster], messages: list[dict[str, object]]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    balancer = Balancer(balancer_of, journal=lambda row: rows.append(row.to_dict()))
    for k, message in enumerate(messages):
        balancer.choose({"id": f"m{k}", "time": k, "cluster": None, "type": None, **message})
    return pa.Table.from_pylist(rows)


def test_a_journal_of_one_cluster_is_decided_by_the_only_one_whatever_its_name() -> None:
    journal = live_table([POOL], [{}, {}, {"type": "SetPriority"}])
    found = route(journal, replace(POOL, name="other"), journal=True)
    assert found["cluster"].to_pylist() == ["other", "other", ""]
    assert "cluster" not in route(journal, replace(POOL, name="other")).column_names


def test_in_a_journal_of_several_clusters_messages_keep_theirs() -> None:
    two = [replace(POOL, name="east"), replace(POOL, name="west")]
    said = [{"cluster": "east"}, {"cluster": "west"}, {}, {"cluster": "none"}]
    journal = live_table(two, [*said, {"type": "SetPriority"}])
    assert (
        route(journal, two, journal=True).select(JOURNAL).to_pylist()
        == journal.select(JOURNAL).to_pylist()
    )
    alone = route(journal, two[0])
    assert alone["outcome"].to_pylist() == [
        "routed",
        "no-destination",
        *["routed"],
        *["no-destination"],
        "control",
    ]


@pytest.mark.parametrize("decide", [route, replay])
def test_a_column_that_a_journal_would_hide_is_refused(decide: Any) -> None:
    table = pa.table({"id": ["m"], "time": [1], "service_time": [1], "stream": ["x"]})
    assert decide(table, POOL)["stream"].to_pylist() == ["x"]
    with pytest.raises(MessageError, match="column 'stream' is what a journal adds; rename it"):
        decide(table, POOL, journal=True)


def test_what_only_looks_like_a_journal_is_none() -> None:
    journal = live_table([POOL], [{}])
    with pytest.raises(MessageError, match="column 'destination' is what the decisions add"):
        route(journal.drop_columns(["version"]), POOL)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: rows, "position 0: found a decision that these clusters and changes do not"),
        (lambda rows: rows.slice(1), "position 1: found a decision that"),
        (lambda rows: rows.drop_columns(["version"]), "allowed: a journal of a live balancer"),
        (lambda rows: replay(rows, POOL, journal=True), "allowed: a journal of a live balancer"),
    ],
)
def test_a_journal_that_does_not_fit_is_not_explained(
    change: Any, told: str, tmp_path: Path
) -> None:
    other = Cluster.of("weighted", destination=[{"name": "b"}, {"name": "a", "weight": 2}])
    journal = live_table([POOL], [{"service_time": 1}] * 3)
    pq.write_table(change(journal), tmp_path / "journal.parquet")
    with pytest.raises(UserError, match=told):
        why_in_journal(tmp_path, "m2", other)
