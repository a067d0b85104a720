"""WHO in the store: every golden case, on both databases."""

from collections.abc import Callable

import pytest

from fairlead import Store
from tests.golden_cases import FILES, Case, cases, check
from tests.store.balancers import in_store
from tests.stores import made_url
from tests.strategies import Row


def named(cluster: Row, message: Row) -> bool:
    """Whether a message is for the cluster; a store refuses any other name."""
    return message.get("cluster", "") in ("", cluster.get("name", "cluster"))


GOLDEN = [
    pytest.param(case, id=f"{file}-{case}")
    for file in FILES
    for case in cases(file)
    if all(named(case.cluster, message) for message in case.messages)
]


SOME = 5
"""Each one of so many is enough at first on PostgreSQL: what decides is the same on both."""
NOW, OFTEN = GOLDEN[::SOME], [case for k, case in enumerate(GOLDEN) if k % SOME]
ON_BOTH = [
    *(pytest.param("sqlite", *case.values, id=f"sqlite-{case.id}") for case in GOLDEN),
    *(pytest.param("postgresql", *case.values, id=f"postgresql-{case.id}") for case in NOW),
    *(
        pytest.param("postgresql", *case.values, id=f"postgresql-{case.id}", marks=pytest.mark.slow)
        for case in OFTEN
    ),
]


@pytest.mark.parametrize(("dialect", "case"), ON_BOTH)
def test_golden(dialect: str, case: Case, opened: Callable[..., Store]) -> None:
    store = opened(made_url(dialect))
    check(case, in_store(store, case.cluster, case.messages, case.changes))
