"""Hashes of rows, held against Spark's own."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fairlead.compiled import hashes

LONGS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.none() | st.integers(-(1 << 31), (1 << 31) - 1)
DOUBLES = st.none() | st.floats(allow_nan=False)
ROWS = st.lists(st.tuples(st.none() | st.text(max_size=90), LONGS, INTS, DOUBLES), max_size=20)
KINDS = {"t": pa.string(), "l": pa.int64(), "i": pa.int32(), "d": pa.float64()}


def hashed(table: pa.Table) -> list[int]:
    def numbers(name: str, kind: Any) -> tuple[Any, Any]:
        column = table[name].combine_chunks()
        return column.fill_null(0).to_numpy().astype(kind), np.asarray(column.is_valid())

    found = hashes.with_texts(hashes.new(len(table)), table["t"])
    found = hashes.with_longs(found, *numbers("l", np.int64))
    found = hashes.with_ints(found, *numbers("i", np.int64))
    found = hashes.with_doubles(found, *numbers("d", np.float64))
    return found.view(np.int64).tolist()


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS)
def test_rows_hash_as_spark_has_it(spark: SparkSession, rows: list[Any]) -> None:
    columns = zip(*rows, strict=True) if rows else ((),) * len(KINDS)
    arrays = [pa.array(each, kind) for each, kind in zip(columns, KINDS.values(), strict=True)]
    table = pa.Table.from_arrays(arrays, list(KINDS))
    frame = spark.createDataFrame(table)
    wanted = frame.selectExpr("xxhash64(t, l, i, d) AS h").toArrow()["h"].to_pylist()
    assert hashed(table) == wanted


def test_texts_of_every_length_and_of_a_slice() -> None:
    words = ["é" * n for n in range(80)]
    whole = pa.array(["x", *words])
    of_slice = hashes.with_texts(hashes.new(80), whole.slice(1))
    assert of_slice.tolist() == hashes.with_texts(hashes.new(80), pa.array(words)).tolist()
    assert len(set(of_slice.tolist())) == 80


def test_a_dictionary_hashes_as_its_texts_do() -> None:
    words = pa.array(["a", None, "b", "a"])
    plain = hashes.with_texts(hashes.new(4), words)
    assert hashes.with_texts(hashes.new(4), words.dictionary_encode()).tolist() == plain.tolist()
