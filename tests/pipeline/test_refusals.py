"""A table that Python code gives wrong is told in Python's words, the command line's in its own."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fairlead import Cluster, dispatch, rejected, route
from fairlead.errors import MessageError, UserError
from fairlead.pipeline.intake.read import read

POOL = Cluster.of("fewest-pending", destination=[{"name": "a"}])


def test_what_is_no_dataframe_of_spark_is_named_with_its_package() -> None:
    wrong: Any
    for wrong, kind in (
        (pd.DataFrame({"id": ["1"], "time": [1]}), "pandas.DataFrame"),
        (pa.table({"id": ["1"]}), "pyarrow.Table"),
    ):
        for work in (dispatch, rejected):
            with pytest.raises(MessageError) as refused:
                work(wrong, POOL)
            assert str(refused.value) == (
                f"messages: found a {kind}, allowed: a DataFrame of Spark; "
                "fairlead.spark_session().createDataFrame makes one of it"
            )
    for wrong, expected in (
        (["1"], "list, allowed: a pyarrow.Table, a DataFrame of pandas or Polars, anything"),
        (5, "int, allowed: a pyarrow.Table, "),
    ):
        with pytest.raises(MessageError, match=rf"^messages: found a {expected}"):
            route(wrong, POOL)


@pytest.mark.parametrize(
    ("columns", "in_shell"),
    [
        ("time long", "; map one with --column id=…, or use --number-rows"),
        ("id string", "; map one with --column time=…"),
        ("id string, time long", "; map one with --column service_time=…"),
        ("id string, time long, outcome long", " with --column new_outcome=outcome --drop outcome"),
    ],
)
def test_a_column_that_is_wrong_is_told_without_options(
    spark: SparkSession, columns: str, in_shell: str
) -> None:
    with pytest.raises(MessageError) as refused:
        dispatch(spark.createDataFrame([], columns), POOL)
    assert "--" not in str(refused.value)
    assert refused.value.in_shell == f"{refused.value}{in_shell}"


@pytest.mark.parametrize(
    ("given", "python", "shell"),
    [
        ({"drop": ["tme"]}, "drop: found 'tme', allowed: id, time;", "--drop: found 'tme'"),
        ({"columns": {"x": "y +"}}, "columns: x=y +: ", "--column x=y +: "),
        ({"number_rows": True}, "number_rows makes the column id", "--number-rows makes"),
    ],
)
def test_what_read_is_given_wrong_is_told_without_options(
    spark: SparkSession, tmp_path: Path, given: dict[str, Any], python: str, shell: str
) -> None:
    file = tmp_path / "m.csv"
    file.write_text("id,time\na,1\n")
    with pytest.raises(UserError) as refused:
        read(spark, str(file), **given)
    assert str(refused.value).startswith(f"{file}: {python}")
    assert "--" not in str(refused.value)
    assert refused.value.in_shell.startswith(f"{file}: {shell}")
