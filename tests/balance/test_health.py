"""Passive health against a plain model, which looks at all that has happened each time."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Cluster
from fairlead.balance.health import HealthChange, HealthOptions, HealthRecord
from fairlead.errors import ConfigError

NAMES = ["a", "b", "c", "d"]
SECOND = 1_000_000


class PlainHealth:
    """Who is down when, from the list of all that has happened."""

    def __init__(self, options: HealthOptions, names: list[str]) -> None:
        self.options = options
        self.names = names
        self.recent: dict[str, list[int]] = {name: [] for name in names}
        self.down: dict[str, tuple[int, int]] = {}
        self.trial: dict[str, int] = {}

    def room(self) -> bool:
        share = Decimal(len(self.down) + 1) / len(self.names)
        return share <= self.options.at_most

    def failed(self, name: str, now: int) -> str:
        def longer(old: int) -> int:
            return min(int(old * self.options.factor), int(self.options.limit * SECOND))

        if name in self.down:
            until, length = self.down[name]
            if now < until:
                return "-"
            self.down[name] = now + longer(length), longer(length)
            return "stays"
        if name in self.trial:
            if not self.room():
                return "-"
            length = longer(self.trial.pop(name))
            self.down[name] = now + length, length
            return "down"
        self.recent[name].append(now)
        last = self.recent[name][-self.options.failures :]
        if len(last) < self.options.failures or last[-1] - last[0] > self.options.within * SECOND:
            return "-"
        self.recent[name] = []
        if not self.room():
            return "-"
        length = int(self.options.cool_down * SECOND)
        self.down[name] = now + length, length
        return "down"

    def succeeded(self, name: str, now: int) -> str:
        self.recent[name] = []
        if name in self.trial:
            del self.trial[name]
            return "well"
        if name in self.down and now >= self.down[name][0]:
            del self.down[name]
            return "up"
        return "-"

    def tried(self, now: int) -> list[str]:
        due = [name for name, (until, _) in self.down.items() if now >= until]
        for name in due:
            self.trial[name] = self.down.pop(name)[1]
        return sorted(due)


def word(change: HealthChange | None) -> str:
    if change is None:
        return "-"
    if change.state is not None:
        return change.state
    return "well" if change.unwell is None else "stays"


options = st.builds(
    HealthOptions,
    failures=st.integers(1, 4),
    within=st.sampled_from([Decimal(1), Decimal(5)]),
    cool_down=st.sampled_from([Decimal("0.5"), Decimal(3)]),
    factor=st.sampled_from([Decimal(1), Decimal("1.5"), Decimal(2)]),
    limit=st.sampled_from([Decimal(3), Decimal(8)]),
    at_most=st.sampled_from([Decimal("0.25"), Decimal("0.5"), Decimal(1)]),
)
steps = st.lists(
    st.tuples(
        st.integers(0, 4 * SECOND),
        st.sampled_from(["failed", "failed", "failed", "succeeded", "try"]),
        st.sampled_from(NAMES),
    ),
    max_size=60,
)


@given(options, st.integers(1, 4), steps)
def test_it_does_what_the_plain_model_does(
    options: HealthOptions, many: int, steps: list[tuple[int, str, str]]
) -> None:
    names = NAMES[:many]
    health, model, now = HealthRecord(options), PlainHealth(options, names), 0
    for passed, what, drawn in steps:
        now += passed
        name = names[NAMES.index(drawn) % many]
        if what == "try":
            found = sorted(change.destination for change in health.try_due(now))
            assert found == model.tried(now)
        elif what == "failed":
            assert word(health.failed(name, names, now, "x")) == model.failed(name, now)
        else:
            assert word(health.succeeded(name, now)) == model.succeeded(name, now)
        down = {name for name, unwell in health.standings.items() if not unwell.on_trial}
        assert down == model.down.keys()
        assert Decimal(len(down)) / many <= options.at_most
        assert health.due == min((until for until, _ in model.down.values()), default=None)


def test_the_reason_says_how_many_in_what_time_and_the_last() -> None:
    health = HealthRecord(HealthOptions(failures=2, at_most=Decimal(1)))
    assert health.failed("a", ["a"], 0, "one") is None
    change = health.failed("a", ["a"], 1_500_000, "503")
    assert change is not None
    assert change.reason == "2 failures in a row within 1.5 s, the last: 503"
    assert [(each.target, each.attribute, each.value) for each in change.changes] == [
        ("a", "state", "down")
    ]


@pytest.mark.parametrize(
    ("policy", "health", "line"),
    [
        (
            "weighted",
            {"failures": 0},
            "health.failures: found 0, allowed: an integer from 1 to 1000",
        ),
        (
            "weighted",
            {"within": 0},
            "health.within: found 0, allowed: seconds, from 0.001 to 86400",
        ),
        ("weighted", {"factor": 0.5}, "health.factor: found 0.5, allowed: a number from 1 to 100"),
        (
            "weighted",
            {"at_most": 1.5},
            "health.at_most: found 1.5, allowed: a number from 0.01 to 1",
        ),
        (
            "weighted",
            {"at_most": 0.333},
            "health.at_most: found 0.333, allowed: a number from 0.01",
        ),
        ("weighted", {"limit": 5}, "health.limit: found 5, allowed: at least the cool_down, 10"),
        ("weighted", {"probe": "x"}, "health.probe: found 'x', allowed: a path that begins with /"),
        ("weighted", {"cooldown": 5}, "health.cooldown: found an unknown key"),
        ("msmq", {}, "health: found it with the policy msmq, whose destinations have no state"),
        ("ibm-mq", {}, "health: found a key of"),
    ],
)
def test_a_table_is_refused_in_one_line(policy: str, health: dict[str, Any], line: str) -> None:
    tables: dict[str, Any] = {"destination": [{"name": "a"}]}
    if policy == "msmq":
        tables = {"destination": [{"name": "a", "weight": 1}]}
    with pytest.raises(ConfigError) as found:
        Cluster.of(policy, health=health, **tables)
    assert line in str(found.value)
