"""Tables as people have them."""

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from fairlead import Cluster, route
from fairlead.errors import ChangeError, MessageError
from fairlead.replay import replay

POOL = Cluster.of("weighted", name="pool", destination=[{"name": "A"}, {"name": "B"}])
ROWS: list[dict[str, Any]] = [
    {"id": "1", "time": datetime(2026, 1, 1, tzinfo=UTC)},
    {"id": "2", "time": datetime(2026, 1, 2, tzinfo=UTC), "note": "late"},
    {"id": "3", "time": datetime(2026, 1, 3, tzinfo=UTC)},
]


class Stream:
    """Whatever has the Arrow stream interface, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested)


TABLE = pa.table({name: [row.get(name) for row in ROWS] for name in ("id", "time", "note")})


@pytest.mark.parametrize(
    "messages",
    [ROWS, tuple(ROWS), TABLE, TABLE.to_pydict(), pd.DataFrame(ROWS), Stream(TABLE)],
    ids=["dicts", "tuple", "Arrow", "columns", "pandas", "stream"],
)
def test_any_table_gives_the_same_decisions(messages: Any) -> None:
    found = route(
        messages,
        POOL,
        [{"time": "2026-01-03", "target": "A", "attribute": "present", "value": False}],
    )
    assert found["destination"].to_pylist() == ["A", "B", "B"]
    assert found.column_names[:3] == ["id", "time", "note"]


def test_a_replay_takes_dicts_too() -> None:
    rows = [{"id": "1", "time": 0, "service_time": 2.0}, {"id": "2", "time": 1, "service_time": 1}]
    found = replay(rows, Cluster.of("weighted", destination=[{"name": "A"}]))
    assert found["wait"].to_pylist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"time": 0, "target": "A"}, "change: found no attribute in .*, allowed: with it"),
        ({"when": 0, "target": "A"}, "change: found the key 'when', allowed: time, target,"),
        ([5], "change: found 5, allowed: a fairlead.Change, or a dict of time, target,"),
    ],
)
def test_a_change_that_is_none(given: Any, line: str) -> None:
    with pytest.raises(ChangeError, match=line):
        route(TABLE, POOL, given)


@pytest.mark.parametrize("messages", [["a"], "text", 5, {"id": ["1"], "time": [1, 2]}])
def test_what_is_no_table_is_named(messages: Any) -> None:
    with pytest.raises(MessageError, match=r"^messages: found a (list|str|int|dict)"):
        route(messages, POOL)


def test_a_frame_of_polars_is_routed_and_replayed() -> None:
    polars = pytest.importorskip("polars", reason="not here: polars")
    frame = polars.DataFrame(
        {"id": ["b", "a", "c"], "time": [1.0, 0.5, 2.0], "service_time": [1.0, 1.0, 1.0]}
    )
    cluster = Cluster.of("weighted", destination=[{"name": "A"}, {"name": "B"}])
    assert route(frame, cluster)["destination"].to_pylist() == ["A", "B", "A"]
    assert replay(frame, cluster)["id"].to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("time", "unit"),
    [
        (1_772_442_000_000, "ms"),
        (1_772_442_000_000.5, "ms"),
        ("1772442000000", "ms"),
        (1_772_442_000_000_000, "us"),
    ],
)
def test_numbers_that_count_other_units_than_seconds_are_refused(time: object, unit: str) -> None:
    with pytest.raises(MessageError, match=rf"pyarrow\.timestamp\('{unit}'\)"):
        route(pa.table({"id": ["a", "b"], "time": [time, time]}), POOL)
