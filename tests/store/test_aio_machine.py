"""Random days of a store that is asked in threads and on a loop in turns, beside the model."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from fairlead import Store
from tests.store import test_machine as days
from tests.store.mixed import Mixed
from tests.stores import made_url


@cache
def mixed(dialect: str) -> days.Opened:
    """One for all days of a process; its clock is that of the other days."""
    url = made_url(dialect)

    def clock() -> Fraction:
        return Fraction(days.Clock.now, days.SECOND)

    store: Any = Mixed(Store.open(url, clock=clock), url, clock=clock)
    return days.Opened(store, days.connected(url))


@pytest.fixture(scope="module", autouse=True)
def closed() -> Any:
    yield
    for dialect in ("sqlite", "postgresql"):
        found = mixed(dialect)
        found.connection.close()
        found.store.close()
    mixed.cache_clear()


class Days(days.Days):
    """What may happen to a queue, in a thread or on a loop."""

    open: Callable[[str], days.Opened] = staticmethod(mixed)


class OnPostgreSQL(Days):
    """The same on PostgreSQL."""

    dialect = "postgresql"


TestSQLite = days.machine(Days, 15)
TestPostgreSQL = days.machine(OnPostgreSQL, 6)
TestManyDaysOnSQLite = pytest.mark.slow(pytest.mark.timeout(1800)(days.machine(Days, 1500)))
TestManyDaysOnPostgreSQL = pytest.mark.slow(
    pytest.mark.timeout(1800)(days.machine(OnPostgreSQL, 500))
)
