"""Every golden case in every engine."""

import pytest
from pyspark.sql import SparkSession

from tests import engines
from tests.golden_cases import FILES, Case, cases, check

ALL = [pytest.param(case, id=f"{file}-{case}") for file in FILES for case in cases(file)]
CLOSED_LOOP = ("fewest-pending", "nanomsg", "ready-ring", "smartsockets")
"""Policies and rules that choose by what is completed by then."""


def _rule(case: Case) -> str:
    policy = case.cluster["policy"]
    return policy["choose"] if isinstance(policy, dict) else policy


OPEN_LOOP = [each for each in ALL if _rule(each.values[0]) not in CLOSED_LOOP]


@pytest.mark.every
@pytest.mark.parametrize("case", ALL)
def test_live(case: Case) -> None:
    check(case, engines.live(case.cluster, case.messages, case.changes))


@pytest.mark.every
@pytest.mark.parametrize("case", ALL)
def test_compiled(case: Case) -> None:
    check(case, engines.compiled(case.cluster, case.messages, case.changes))


@pytest.mark.parametrize("case", OPEN_LOOP)
def test_replayed(case: Case) -> None:
    check(case, engines.replayed(case.cluster, case.messages, case.changes))


def test_spark(spark: SparkSession) -> None:
    every = [case for file in FILES for case in cases(file)]
    scenarios = [(case.cluster, case.messages, case.changes) for case in every]
    for case, decided in zip(every, engines.on_spark(spark, scenarios), strict=True):
        check(case, decided)
