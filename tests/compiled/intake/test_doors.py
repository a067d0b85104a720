"""A row is a message at both doors to tables in memory, or at none, and for the same reason."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Cluster, route
from fairlead.balance.objects import on_one_line
from fairlead.compiled.intake.accepted import one_tenant, unique
from fairlead.compiled.intake.rows import validate
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.memory import dispatch
from fairlead.memory.files import read
from fairlead.replay import replay
from fairlead.runs.files import kind_of

CLUSTERS = {
    "sticky": Cluster.of(
        "weighted", options={"affinity": "group"}, destination=[{"name": "a"}, {"name": "b"}]
    ),
    "busy": Cluster.of("nanomsg", destination=[{"name": "a", "capacity": 1}, {"name": "b"}]),
    "keyed": Cluster.of("rendezvous", destination=[{"name": "a"}, {"name": "b"}]),
    "words": Cluster.of(
        "ibm-mq",
        queue_manager={"name": "HUB", "clusters": ["PLANT"], "use_queue": "any"},
        remote=[{"name": "A"}],
        channel=[{"name": "TO.A", "queue_manager": "A"}],
        queue=[{"name": "Q", "queue_manager": name} for name in ("HUB", "A")],
    ),
}
Build = Callable[[list[Any]], pa.Array]


def texts(kind: pa.DataType, words: list[Any]) -> pa.Array:
    """Texts of which some may be bytes that are no text."""
    raw = [word.encode() if isinstance(word, str) else word for word in words]
    column = pa.array(raw, pa.binary())
    unchecked = pa.StringArray.from_buffers(
        len(column), column.buffers()[1], column.buffers()[2], column.buffers()[0]
    )
    return column if kind == pa.binary() else unchecked.cast(kind)


def coded(words: list[Any]) -> pa.Array:
    return texts(pa.string(), words).dictionary_encode()


def of(kind: pa.DataType) -> Build:
    return lambda values: pa.array(values, kind)


def halves(values: list[Any]) -> pa.Array:
    every = [None if value is None else np.float16(value) for value in values]
    return pa.array(every, pa.float16())


TEXT_TYPES: list[Build] = [
    *(partial(texts, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    coded,
]
WORDS = ["", None, "x", "5", " 7\t", "1.0", "1e1", "-1", "0.0000005", "1_0", "nan", "٣", b"\xe9"]
MOMENTS = ["2026-11-21", "2026-11-21T12:30:00Z", "2026-02-30", "1772442000000", "9" * 16]
WHOLE = [None, 0, 1, 5, 255, 256, 2**31 - 1]
LONG = [*WHOLE, -1, -(2**63), 2**63 - 1, 1_772_442_000_000, 1_772_442_000_000_000]
FLOATS = [None, 0.0, 1.0, -1.0, 1.5, 7.0000000001, 1e300, float("nan"), float("inf"), 4e9, 1.8e12]
FINE = [None, Decimal(1), Decimal("1.5"), Decimal("-0.0000005"), Decimal(1_772_442_000_000)]
SECONDS = 1_772_442_000
NUMBERS: list[tuple[Build, list[Any]]] = [
    *((build, WORDS) for build in TEXT_TYPES),
    *((of(kind), WHOLE) for kind in (pa.uint32(), pa.int32(), pa.uint64())),
    (of(pa.int64()), LONG),
    (of(pa.uint64()), [None, 1, 2**63, 2**64 - 1]),
    (of(pa.float64()), FLOATS),
    (of(pa.float32()), [None, 1.0, 1.5, 0.25]),
    (halves, [None, 1.0, 1.5, 60_000.0]),
    *((of(pa.decimal128(digits, 7)), FINE) for digits in (20, 38)),
    (of(pa.decimal128(38, 12)), FINE),
    (of(pa.bool_()), [True, None]),
]
TIMES: list[tuple[Build, list[Any]]] = [
    *((build, [*WORDS, *MOMENTS]) for build in TEXT_TYPES),
    *NUMBERS[len(TEXT_TYPES) :],
    *((of(pa.timestamp(unit)), [None, SECONDS, -1]) for unit in ("s", "ms", "us", "ns")),
    (of(pa.timestamp("us", "Europe/Berlin")), [None, SECONDS, 2**62]),
    *((of(kind), [None, 0, 86_400_000]) for kind in (pa.date64(), pa.timestamp("ms", "UTC"))),
    (of(pa.date32()), [None, 0, -20_000]),
    (partial(texts, pa.binary()), ["1"]),
]
SPELLED: list[tuple[Build, list[Any]]] = [
    *((build, ["a", "b", "c", "", None, "true", b"\xe9"]) for build in TEXT_TYPES),
    (partial(texts, pa.binary()), ["a", "b", "é", None, b"\xe9"]),
    (of(pa.int16()), [1, 2, 3, None]),
    (of(pa.bool_()), [True, False, None]),
    (of(pa.float64()), [1.5, 2.0, None]),
    (of(pa.decimal128(5, 1)), [Decimal("1.5"), None]),
    (of(pa.date32()), [1, 2, None]),
]
FLAGS: list[tuple[Build, list[Any]]] = [
    *((build, ["true", "false", "", None, "yes"]) for build in TEXT_TYPES),
    (of(pa.bool_()), [True, False, None]),
]
BOUND = [(TEXT_TYPES[0], ["on-open", "not-fixed", "on-group", "", None, "on-Open"])]
KINDS = ["", "work", "SetPriority", None]
COLUMNS = {
    "position": NUMBERS,
    "service_time": NUMBERS,
    "priority": NUMBERS,
    "cost": NUMBERS,
    "rollbacks": NUMBERS,
    "group": SPELLED,
    "tenant": SPELLED,
    "queue": [(build, ["Q", "", None]) for build in TEXT_TYPES],
    "type": [(build, KINDS) for build in TEXT_TYPES],
    "bind": BOUND,
    "pcf": FLAGS,
    "via_cluster_channel": FLAGS,
    "cluster": [(build, ["default", "", None, "elsewhere"]) for build in TEXT_TYPES],
}


READ = {"sticky": "group", "busy": "service_time", "keyed": "group", "words": "queue"}
"""A column without which a cluster's table is refused, or decides nothing."""


@st.composite
def tables(draw: st.DrawFn, *needed: str) -> pa.Table:
    rows = draw(st.integers(1, 5))

    def column(kinds: list[tuple[Build, list[Any]]]) -> pa.Array:
        build, values = draw(st.sampled_from(kinds))
        return build(draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows)))

    plain = [(of(pa.string()), [f"m{k}" for k in range(rows)])]
    once = draw(st.integers(0, 3)) > 0
    columns = {
        "id": pa.array([f"m{k}" for k in range(rows)]) if once else column([*plain, *SPELLED]),
        "time": pa.array(range(rows)) if draw(st.booleans()) else column(TIMES),
    }
    others = draw(st.lists(st.sampled_from([*COLUMNS]), max_size=2, unique=True))
    for name in dict.fromkeys((*needed, *others)):
        columns[name] = column(COLUMNS[name])
    return pa.table(columns)


def in_a_file(table: pa.Table, folder: Path) -> str:
    """The table as a file, which has no numbers of 16 bits."""
    fields = [
        field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field
        for field in table.schema
    ]
    file = folder / "t.parquet"
    pq.write_table(table.cast(pa.schema(fields)), file)
    return str(file)


def refusal(work: Callable[[], object]) -> str | None:
    try:
        work()
    except MessageError as error:
        return str(error)
    return None


@settings(max_examples=200, deadline=None)
@given(data=st.data(), name=st.sampled_from([*CLUSTERS]))
def test_route_refuses_where_a_dispatch_in_memory_rejects(data: st.DataObject, name: str) -> None:
    cluster, table = CLUSTERS[name], data.draw(tables(READ[name]))
    with TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        file = in_a_file(table, folder)
        intake = read(file, kind_of(file, None, {}))
        run = partial(dispatch.run, intake, [cluster], (), folder, dispatch.MemoryOptions())
        line = refusal(run)
        if line is None or "found no message" in line:
            rows = validate(intake, Plan([cluster], []))
            unique(rows)
            if rows.reasons:
                row = min(rows.reasons)
                line = f"messages: row {row}: {on_one_line(rows.reasons[row])}"
        refused = refusal(lambda: route(table, cluster))
        assert before_ways(refused) == before_ways(line)
        if line is not None:
            return
        added = ["destination", "outcome", "sequence"]
        decided = pq.read_table(folder / "decisions").select(added)
        assert route(table, cluster).select(added).to_pylist() == decided.to_pylist()


def before_ways(line: str | None) -> str | None:
    """A line without how a timestamp is made, which is said to each in his own words."""
    return line and line.partition("; ")[0] if line and "1970" in line else line


@settings(max_examples=100, deadline=None)
@given(data=st.data(), name=st.sampled_from(["sticky", "busy"]))
def test_replay_refuses_where_one_in_memory_rejects(data: st.DataObject, name: str) -> None:
    table = data.draw(tables(READ[name], "service_time"))
    plan = Plan([CLUSTERS[name]], [])
    with TemporaryDirectory() as folder:
        file = in_a_file(table, Path(folder))
        intake = read(file, kind_of(file, None, {}))
    rows = []

    def look() -> None:
        rows.append(validate(intake, plan, worked=True))
        unique(rows[0])
        one_tenant(rows[0], [plan])

    line = refusal(look)
    if rows and rows[0].reasons:
        row = min(rows[0].reasons)
        line = f"messages: row {row}: {on_one_line(rows[0].reasons[row])}"
    assert before_ways(refusal(lambda: replay(table, CLUSTERS[name]))) == before_ways(line)
