"""Spark = the model, on random clusters, changes and messages, cut into small blocks."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from tests import engines, oracle
from tests.golden_cases import POLICIES
from tests.strategies import scenarios

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


def expected(scenario: engines.Scenario) -> engines.Decided:
    return [(d.destination, d.outcome, d.sequence) for d in oracle.route(*scenario)]


def drawn(system: str, n: int) -> list[engines.Scenario]:
    """Some random scenarios, to be routed with others: one job on Spark instead of many."""
    found: list[engines.Scenario] = []

    @settings(max_examples=n, phases=[Phase.generate], suppress_health_check=SLOW, database=None)
    @given(scenario=scenarios(system))
    def collect(scenario: engines.Scenario) -> None:
        found.append(scenario)

    collect()
    return found


@pytest.mark.slow
def test_spark(spark: SparkSession) -> None:
    check_on_spark(spark, [each for system in POLICIES for each in drawn(system, 8)])


@pytest.mark.slow
@pytest.mark.parametrize("system", POLICIES)
def test_spark_with_more(system: str, spark: SparkSession) -> None:
    check_on_spark(spark, drawn(system, 40))


def check_on_spark(spark: SparkSession, batch: list[engines.Scenario]) -> None:
    found = engines.on_spark(spark, batch, partitions=5, rows_a_block=60)
    for scenario, decided in zip(batch, found, strict=True):
        assert decided == expected(scenario), scenario
