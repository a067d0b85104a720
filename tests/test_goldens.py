"""Every golden case in every engine."""

import pytest
from pyspark.sql import SparkSession

from tests import engines
from tests.golden_cases import FILES, Case, cases, check

ALL = [pytest.param(case, id=f"{file}-{case}") for file in FILES for case in cases(file)]


@pytest.mark.parametrize("case", ALL)
def test_live(case: Case) -> None:
    check(case, engines.live(case.cluster, case.messages, case.changes))


@pytest.mark.parametrize("case", ALL)
def test_compiled(case: Case) -> None:
    check(case, engines.compiled(case.cluster, case.messages, case.changes))


@pytest.mark.parametrize("file", FILES)
def test_spark(file: str, spark: SparkSession) -> None:
    every = cases(file)
    scenarios = [(case.cluster, case.messages, case.changes) for case in every]
    for case, decided in zip(every, engines.on_spark(spark, scenarios), strict=True):
        check(case, decided)
