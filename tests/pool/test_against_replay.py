"""What a pool decides is what a replay tells, message for message."""

from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.engines import cluster_of
from tests.pool.driver import pool
from tests.replay.engines import Kernel
from tests.replay.scenarios import KINDS, replay_scenario, scenarios

FANS_OUT = ("smartsockets", "broadcast")
KINDS_OF_POOLS = [kind for kind in KINDS if kind not in FANS_OUT]


@pytest.mark.parametrize("kind", KINDS_OF_POOLS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_pool_decides_what_a_replay_tells(kind: str, data: st.DataObject) -> None:
    scenario = data.draw(scenarios(kind))
    if not scenario[1] or cluster_of(scenario[0]).policy.fans_out:
        return
    found, alike = pool(*scenario)
    event(f"compared: {alike}")
    if alike:
        assert found == Kernel(*scenario, interpreted=True).through()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS_OF_POOLS)
def test_a_thousand_are_what_a_replay_tells(kind: str) -> None:
    compared = 0
    for seed in range(1_500):
        scenario = replay_scenario(kind, Random(seed))  # noqa: S311
        if not scenario[1] or cluster_of(scenario[0]).policy.fans_out:
            continue
        found, alike = pool(*scenario)
        if alike:
            compared += 1
            assert found == Kernel(*scenario, interpreted=True).through(), seed
    assert compared > 700
