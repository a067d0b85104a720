"""WHO in the store: every golden case, and every decision again from the journal."""

from collections.abc import Callable
from random import Random

import pytest

from fairlead import Store
from tests.golden_cases import FILES, POLICIES, Case, cases, check
from tests.store.balancers import in_store
from tests.stores import made_url
from tests.strategies import Row, Scenario, random_scenario


def named(cluster: Row, message: Row) -> bool:
    """Whether a message is for the cluster; a store refuses any other name."""
    return message.get("cluster", "") in ("", cluster.get("name", "cluster"))


def scenario(policy: str, seed: str) -> Scenario:
    plain, messages, changes = random_scenario(policy, Random(seed))  # noqa: S311
    return plain, [each for each in messages if named(plain, each)], changes


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


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(2))
def test_every_decision_of_the_past_is_brought_back(policy: str, seed: int, store: Store) -> None:
    in_store(store, *scenario(policy, f"{policy} past {seed}"))
    for event in [each for each in store.journal() if each.kind == "decided"]:
        again = store.decision(event.position)
        assert event.destination in ([copy.destination for copy in again.copies] or [None])
        assert (again.outcome, again.sequence) == (event.outcome, event.sequence)
