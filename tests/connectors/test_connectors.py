"""Kafka, Delta, Iceberg, S3 and Spark Connect for real, on the Spark that has them."""

import pytest
from tests.connectors.environment import need, run_cases

NEEDED = {
    "kafka": ("spark", "kafka", "broker"),
    "delta": ("spark", "delta"),
    "iceberg": ("spark", "iceberg"),
    "s3a": ("spark", "s3a"),
}
ALL_SLOW = {
    "kafka_tls": ("spark", "kafka", "broker"),
    "delta_killed": ("spark", "delta"),
    "s3a_streams": ("spark", "s3a"),
    "connect": ("spark",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_the_cases_hold(name: str) -> None:
    need(*NEEDED[name])
    run_cases(name, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NEEDED, *ALL_SLOW])
def test_the_slow_cases_hold(name: str) -> None:
    need(*(NEEDED | ALL_SLOW)[name])
    run_cases(name, slow=True)
