"""The rows of a table in order, on every shape of table that Arrow has."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Cluster, route
from fairlead.compiled.order import in_order, taken
from fairlead.errors import MessageError

SEVERAL = settings(max_examples=300)
LOW, TOP = -(2**63), 2**63 - 1
NEAR = st.integers(0, 3)
KEY = st.one_of(
    NEAR,
    NEAR.map(lambda n: LOW + n),
    NEAR.map(lambda n: TOP - n),
    NEAR.map(lambda n: 2**62 + n),
    st.integers(LOW, TOP),
)
IDS = st.lists(st.text("aeé€😀\x00", min_size=1, max_size=4), unique=True, max_size=40)


def chunked(values: list[Any], kind: pa.DataType, cuts: list[int]) -> pa.ChunkedArray:
    """In pieces, each of them a part of a longer array, some of them empty."""
    whole = pa.array(values, kind)
    edges = [0, *sorted(cut % (len(values) + 1) for cut in cuts), len(values)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    return pa.chunked_array(pieces, kind)


@given(data=st.data(), ids=IDS, cuts=st.lists(st.integers(0, 40), max_size=3))
@SEVERAL
def test_rows_come_by_key_and_then_by_the_bytes_of_the_id(
    data: st.DataObject, ids: list[str], cuts: list[int]
) -> None:
    some = st.lists(KEY if data.draw(st.booleans()) else NEAR, min_size=len(ids), max_size=len(ids))
    keys = data.draw(some)
    expected = sorted(range(len(ids)), key=lambda row: (keys[row], ids[row].encode()))
    found = in_order(np.array(keys, np.int64), chunked(ids, pa.string(), cuts))
    rows = list(range(len(ids))) if found is None else found.tolist()
    assert rows == expected


@pytest.mark.parametrize("span", [2**40, 2**63 - 1, 2**64 - 1])
def test_many_rows_come_by_key_however_far_the_keys_lie_apart(span: int) -> None:
    random = np.random.default_rng(7)
    keys = random.integers(0, span, 20_000, dtype=np.uint64).view(np.int64)
    keys[5_000:15_000] = keys[:10_000] + random.integers(0, 3, 10_000)  # close neighbours, too
    ids = [f"m{k}" for k in random.permutation(len(keys)).tolist()]
    found = in_order(keys, pa.chunked_array([ids]))
    assert found is not None
    at = keys.tolist()
    assert found.tolist() == sorted(range(len(ids)), key=lambda row: (at[row], ids[row]))


COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "of one length": (["ab", "cd", "ef", "é"] * 3, pa.string()),
    "large": (["ab", "cd", "ef", "gh"] * 3, pa.large_string()),
    "of several lengths": (["ab", "c", "", "def"] * 3, pa.string()),
    "of one length at first": (["ab", "cd", "", "efgh"] * 3, pa.string()),
    "nothing in them": ([""] * 12, pa.string()),
    "some missing": (["ab", None, "ef", "gh"] * 3, pa.string()),
    "all missing": ([None] * 12, pa.string()),
    "numbers": (list(range(12)), pa.int64()),
    "words": (["ab", "cd", None, "ab"] * 3, pa.dictionary(pa.int32(), pa.string())),
    "bytes": ([b"ab", b"cd", b"ef", b"gh"] * 3, pa.binary()),
    "lists": ([[1], [], None, [2, 3]] * 3, pa.list_(pa.int64())),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("cuts", [[], [5], [0, 5, 5, 12]], ids=str)
@pytest.mark.parametrize("rows", [[], [3], [11, 0, 5, 5, 1], list(range(12))], ids=str)
def test_rows_are_taken_from_every_kind_of_column(
    name: str, cuts: list[int], rows: list[int]
) -> None:
    values, kind = COLUMNS[name]
    schema = pa.schema([pa.field("x", kind, metadata={"a": "b"})], metadata={"c": "d"})
    table = pa.Table.from_arrays([chunked(values, kind, cuts)], schema=schema)
    for each in (table, table.slice(2, 5)):
        here = [row for row in rows if row < len(each)]
        found = taken(each, np.array(here, np.int64))
        found.validate(full=True)
        assert found.schema.equals(schema, check_metadata=True)
        whole = each["x"].to_pylist()
        assert found["x"].to_pylist() == [whole[row] for row in here]


def test_nothing_is_taken_from_an_empty_table() -> None:
    for column in (pa.chunked_array([], pa.string()), pa.chunked_array([[]], pa.string())):
        found = taken(pa.table({"x": column}), np.empty(0, np.int64))
        assert found["x"].to_pylist() == []


# --- the same through `route` ----------------------------------------------------------------

PAIR = Cluster.of("round-robin", destination=[{"name": "A"}, {"name": "B"}])


@given(
    times=st.lists(st.integers(0, 4), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=3),
    zone=st.sampled_from([None, "UTC"]),
)
@SEVERAL
def test_a_table_in_pieces_is_routed_as_a_whole_one(
    times: list[int], cuts: list[int], zone: str | None
) -> None:
    ids = [f"m{-k}" for k in range(len(times))]
    table = pa.table(
        {
            "id": chunked(ids, pa.string(), cuts),
            "time": chunked([t * 1_000_000 for t in times], pa.timestamp("us", zone), cuts[1:]),
            "more": chunked(list(range(len(ids))), pa.int64(), cuts[:1]),
        }
    )
    expected = sorted(range(len(ids)), key=lambda row: (times[row], ids[row]))
    found = route(table, PAIR)
    assert (
        found.select(table.column_names).to_pylist()
        == table.take(pa.array(expected, pa.int64())).to_pylist()
    )
    assert found["destination"].to_pylist() == ["AB"[k % 2] for k in range(len(ids))]
    assert found["sequence"].to_pylist() == list(range(len(ids)))


def test_an_id_that_is_there_twice_is_found_in_pieces_too() -> None:
    ids = pa.chunked_array([["a", "b"], [], ["c", "a"]])
    table = pa.table({"id": ids, "time": [1, 2, 3, 4]})
    with pytest.raises(MessageError, match="row 3: id: found 'a' again, allowed: once"):
        route(table, PAIR)
    assert route(table, PAIR, trust_ids=True).num_rows == 4
