"""What an explanation says would have led to another choice is tried, and leads to it."""

import re
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from tests.engines import changes_of, cluster_of, decisions, in_order
from tests.golden_cases import POLICIES
from tests.strategies import random_scenario

from fairlead import Balancer, Change, Cluster
from fairlead.balance.decision import Decision
from fairlead.balance.rules.least_served import UNIT
from fairlead.balance.rules.paced import Paced
from fairlead.errors import ChangeError, ConfigError

LARGEST = 2**63 - 1
CHOSEN = " would have been chosen "
WEIGHT = re.compile(r"with a weight of (\d+) or more$")
SERVED = re.compile(r"had been served (\d+) times?$")
HELD = re.compile(r"had held (\d+) more$")


class Watched(Balancer):
    """Tries what each of its decisions says of itself."""

    def __init__(self, clusters: list[Cluster]) -> None:
        super().__init__(clusters)
        self.clusters_ = clusters
        self.said: Counter[str] = Counter()

    def choose(self, message: Mapping[str, object] = {}) -> Decision:
        before = self.snapshot()
        found = super().choose(message)
        if found.moment is not None:
            self._try(found, message, before)
        return found

    def _try(self, found: Decision, message: Mapping[str, object], before: dict[str, Any]) -> None:
        explanation = found.explain()
        line = explanation.otherwise
        if not line:
            self.said["nothing"] += 1
            return
        first, second = explanation.ranks[0][0], explanation.runner_up
        tried = Tried(self.clusters_, message, before, found)
        if line == f"no weight would have brought {second} before {first}":
            self.said["no weight"] += 1
            for weight in (1, 2, 99, 10_000, LARGEST):
                assert tried.after(second, "weight", weight) != second, (line, weight)
            return
        who, _, what = line.partition(CHOSEN)
        if found_in := WEIGHT.search(what):
            self.said["weight"] += 1
            number = int(found_in[1])
            assert tried.after(second, "weight", number) == who == second, line
            assert tried.after(second, "weight", number - 1) != who, line
        elif found_in := SERVED.search(what):
            self.said["served"] += 1
            number = int(found_in[1])
            assert tried.counted(first, number) == who == second, line
            assert tried.counted(first, number - 1) != who, line
        elif found_in := HELD.search(what):
            self.said["held"] += 1
            number = int(found_in[1])
            assert tried.holding(first, number) == who == second, line
            assert tried.holding(first, number - 1) != who, line
        else:
            self.said["gone"] += 1
            assert what.removesuffix("busy or gone").removesuffix("gone") == f"if {first} had been "
            assert tried.after(first, "present", value=False) == who, line


class Tried:
    """The moment before a decision, again and again, each time with one thing that is otherwise."""

    def __init__(
        self,
        clusters: list[Cluster],
        message: Mapping[str, object],
        before: dict[str, Any],
        found: Decision,
    ) -> None:
        self.clusters, self.message, self.before = clusters, message, before
        assert found.moment is not None
        self.moment = found.moment
        self.members = self.moment.eliminate(found.values)[0].members

    def after(self, name: str | None, attribute: str, value: object) -> str | None:
        """Whom a balancer chooses after a change; "" where the change is refused."""
        balancer = Balancer(self.clusters)
        balancer.restore(self.before)
        member = self.moment.members.index(name)
        target = str(self.moment.frame.cluster.object_of(self._member(name, member)))
        try:
            balancer.apply(Change(target, attribute, value))
        except (ChangeError, ConfigError):
            return ""
        return balancer.choose(self.message).destination

    def _member(self, name: str | None, first: int) -> int:
        """A name may stand for several, in other subjects."""
        same = [i for i in self.members if self.moment.members[i] == name]
        return same[0] if same else first

    def counted(self, name: str, times: int) -> str:
        rule: Any = self.moment.rule().copy()
        unit = 1000 if isinstance(rule, Paced) else rule.state.setting[UNIT]
        rule.state.count[self._member(name, 0)] = times * unit
        return self.moment.members[rule.choose(self.members)]

    def holding(self, name: str, more: int) -> str:
        rule: Any = self.moment.rule().copy()
        rule.state.pending[self._member(name, 0)] += more
        return self.moment.members[rule.choose(self.members)]


def watch(policy: str, seed: int) -> Counter[str]:
    plain, messages, changes = random_scenario(policy, Random(seed))  # noqa: S311
    watched = Watched([cluster_of(plain)])
    told = decisions(
        [plain], [cluster_of(plain)], in_order(messages), changes_of(changes), balancer=watched
    )
    for _ in told:
        pass
    return watched.said


@pytest.mark.parametrize("policy", POLICIES)
def test_what_would_have_led_to_another_choice_does(policy: str) -> None:
    said: Counter[str] = Counter()
    for seed in range(25):
        said += watch(policy, seed)
    del said["nothing"]
    assert (said.total() > 50) == (policy != "broadcast"), "who sends to all chooses nobody"


@pytest.mark.parametrize(
    ("policy", "seed"),
    [
        pytest.param("smartsockets", 59, id="a message that is lost whoever is chosen"),
        pytest.param("smartsockets", 519, id="a message that the next one loses"),
        pytest.param("priority-failover", 580, id="a group that would not have left"),
    ],
)
def test_what_was_said_and_did_not_hold_is_said_no_more(policy: str, seed: int) -> None:
    assert watch(policy, seed).total()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_what_would_have_led_to_another_choice_does_in_long_runs(policy: str) -> None:
    for seed in range(25, 600):
        watch(policy, seed)


def test_what_a_file_cannot_say_is_not_said() -> None:
    machines = [{"name": "a", "weight": LARGEST}, {"name": "b", "weight": 1}]
    balancer = Balancer(Cluster.of("msmq", destination=machines))
    assert balancer.choose().explain().otherwise == "b would have been chosen if a had been gone"


def test_one_time_is_one_time() -> None:
    machines = [{"name": "a", "weight": 2}, {"name": "b", "weight": 1}]
    balancer = Balancer(Cluster.of("msmq", destination=machines))
    balancer.choose()
    lines = [balancer.choose().explain().otherwise for _ in range(8)]
    served = [line for line in lines if "had been served 1 " in line]
    assert served
    assert all(line.endswith("1 time") for line in served)
