"""The journal of a live balancer is whole: what it tells of can be decided again, and explained."""

import json
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import Balancer, Change, Cluster, EventRow, JournalRow, load_changes, route
from fairlead.balance.journal_rerun import JournalRerun
from fairlead.errors import UserError
from fairlead.pipeline.questions.explain import Why, why_in_journal
from fairlead.rows import JOURNAL, OWN
from tests import engines
from tests.golden_cases import POLICIES
from tests.mixed import in_order, mixed
from tests.strategies import scenarios

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
EXAMPLES = settings(max_examples=20, suppress_health_check=SLOW)
Rows = list[JournalRow | EventRow]


def written(place: Path, rows: Rows) -> Path:
    place.write_text("".join(json.dumps(row.to_dict(), default=float) + "\n" for row in rows))
    return place


def told(row: JournalRow, rows: Rows) -> tuple[Any, ...]:
    """What was decided live, as an explanation of it tells it."""
    copies = [copy.destination for copy in row.decision.copies]
    place = (row.outcome, row.cluster, row.version, row.stream, row.sequence)
    return copies, *place, str(row.decision.explain())


def explained(found: Why) -> tuple[Any, ...]:
    place = (found.outcome, found.cluster, found.version, found.stream, found.sequence)
    return found.destinations, *place, str(found.explanation)


@pytest.mark.parametrize("system", POLICIES)
@given(data=st.data())
@EXAMPLES
def test_every_decision_is_made_and_explained_again(
    system: str, data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster, messages, changes = data.draw(scenarios(system))
    rows = engines.whole_journal(cluster, messages, changes)
    decisions = [row for row in rows if isinstance(row, JournalRow)]
    said = {name for row in decisions for name in row.message}
    columns = said | {name for row in rows for name in row.to_dict()}
    plain = [{name: row.to_dict().get(name) for name in columns} for row in rows]
    again = JournalRerun(engines.cluster_of(cluster)).decisions(plain, said)
    seen: dict[str, tuple[Any, ...]] = {row.id: told(row, rows) for row in decisions}
    for own, decision in again:
        found = next(iter(JournalRow.of(decision, 0, {})))
        assert told(found, rows) == seen.pop(own[0]["id"])
    assert not seen
    if decisions and len(rows) > len(decisions):
        row = data.draw(st.sampled_from(decisions))
        place = written(tmp_path_factory.mktemp("journal") / "live.jsonl", rows)
        found_ = why_in_journal(place, row.id, engines.cluster_of(cluster))
        assert explained(found_) == told(row, rows)


POOL = Cluster.of(
    "fewest-pending",
    name="pool",
    options={"failback_delay": 10},
    destination=[{"name": "a"}, {"name": "b"}],
)


def lived() -> Rows:
    """A balancer that looks at load, with a change, a completion, and steps that follow."""
    rows: Rows = []
    balancer = Balancer(POOL, journal=rows.append)
    first = balancer.choose({"id": "m0", "time": 0})
    balancer.choose({"id": "m1", "time": 1})
    balancer.completed(first)
    balancer.choose({"id": "m2", "time": 2, "group": "kim"})
    balancer.apply([Change("b", "state", "down", 3), Change("b", "state", "up", 4)])
    balancer.at(20)
    balancer.choose({"id": "m3", "time": 21})
    return rows


def test_what_happened_between_decisions_stands_in_the_journal() -> None:
    happened = [
        (row.position, row.time, row.version, row.outcome, row.destination, row.target, row.value)
        for row in lived()
        if isinstance(row, EventRow)
    ]
    assert happened == [
        (2, None, 0, "completed", "a", None, None),
        (3, 3, 1, "changed", None, "destination:b", "down"),
        (3, 4, 2, "changed", None, "destination:b", "up"),
        (3, 14, 3, "changed", None, None, None),
    ]


def test_a_journal_of_a_policy_that_looks_at_load_is_explained(tmp_path: Path) -> None:
    rows = lived()
    place = written(tmp_path / "live.jsonl", rows)
    for row in rows:
        if isinstance(row, JournalRow):
            assert explained(why_in_journal(place, row.id, POOL)) == told(row, rows)
    other = Cluster.of("fewest-pending", destination=[{"name": "c"}, {"name": "d"}])
    with pytest.raises(UserError, match="position 0: found a decision that these clusters"):
        why_in_journal(place, "m2", other)
    with pytest.raises(UserError, match="has the changes that were made itself, allowed: w"):
        why_in_journal(place, "m3", POOL, Change("b", "state", "down", 3))
    with pytest.raises(UserError, match="no message has this id"):
        why_in_journal(place, "m9", POOL)


def test_a_journal_of_another_name_is_explained_by_the_only_cluster(tmp_path: Path) -> None:
    rows = lived()
    place = written(tmp_path / "live.jsonl", rows)
    other = Cluster.from_dict(POOL.to_dict() | {"name": "other"}, default_name="other")
    assert why_in_journal(place, "m3", other).destinations == [rows[-1].destination]


def test_only_the_decisions_of_a_journal_are_messages() -> None:
    names = dict.fromkeys(name for row in lived() for name in row.to_dict())
    plain = [{name: row.to_dict().get(name) for name in names} for row in lived()]
    table = pa.Table.from_pylist(plain)
    found = route(table, Cluster.of("round-robin", destination=[{"name": "a"}, {"name": "b"}]))
    assert found["id"].to_pylist() == ["m0", "m1", "m2", "m3"]
    assert not {"target", "attribute", "value"} & {*found.column_names}


def test_the_changes_of_a_journal_are_a_file_of_changes(tmp_path: Path) -> None:
    found = load_changes(written(tmp_path / "live.jsonl", lived()))
    assert [(each.target, each.attribute, each.value, each.micros) for each in found] == [
        ("destination:b", "state", "down", 3_000_000),
        ("destination:b", "state", "up", 4_000_000),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_journal_of_several_clusters_is_decided_again(seed: int, tmp_path: Path) -> None:
    """By its events one after another, and as a table with its changes."""
    case = mixed(Random(300 + seed), 5, 80)  # noqa: S311
    clusters = [Cluster.from_dict(each, default_name=each["name"]) for each in case.clusters]
    rows: Rows = []
    messages, changes = in_order(case.messages), engines.changes_of(case.changes)
    deque(engines.decisions(case.clusters, clusters, messages, changes, rows.append), maxlen=0)
    names = dict.fromkeys(name for row in rows for name in row.to_dict())
    plain = [{name: row.to_dict().get(name) for name in names} for row in rows]
    wanted = [
        (row.id, row.destination, row.outcome, row.sequence)
        for row in rows
        if isinstance(row, JournalRow)
    ]
    decided = [
        (own[0]["id"], name, decision.outcome, decision.sequence)
        for own, decision in JournalRerun(clusters).decisions(
            plain, names.keys() - {*JOURNAL} | {*OWN}
        )
        for name in [copy.destination for copy in decision.copies] or [None]
    ]
    assert decided == wanted
    happened = load_changes(written(tmp_path / "live.jsonl", rows))
    texts = [{**row, "time": row["time"] or 0} for row in plain]
    found = route(engines.table(texts), clusters, happened)
    assert [
        (row["id"], row["destination"], row["outcome"], row["sequence"])
        for row in found.to_pylist()
    ] == wanted
