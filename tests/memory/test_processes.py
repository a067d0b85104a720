"""Scenarios and trials in several processes: what they find is what one process finds."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from fairlead import Change, Cluster
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.rows import CheckedTable, validate
from fairlead.compiled.plan import Plan
from fairlead.memory import processes
from fairlead.memory.dispatch import MemoryOptions
from fairlead.memory.prepared import PreparedMessages, prepared
from fairlead.memory.replay import run
from fairlead.recommend.goal import cost_of, target_of
from fairlead.recommend.recommend import SearchRequest, recommend
from fairlead.recommend.space import space_of

SCENARIOS = 200


def traffic(n: int = 300) -> pa.Table:
    random = Random(2)  # noqa: S311
    rows = [
        {
            "id": f"m{k:03}",
            "time": random.randint(0, 900) / 10,
            "service_time": random.choice([0.1, 0.7, 1.5]),
            "group": random.choice(["", "a", "b"]),
            "priority": random.choice([None, 3, 200]),
        }
        for k in range(n)
    ]
    return pa.Table.from_pylist(rows)


def cluster(k: int) -> Cluster:
    named = [{"name": "A", "readers": 1 + k % 7, "weight": 1 + k % 11}, {"name": "B"}]
    order = {"discipline": "priority" if k % 2 else "fifo"}
    return Cluster.of("weighted", name="pool", destination=named, order=order)


@pytest.mark.slow
def test_hundreds_of_scenarios_in_processes_are_those_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [Change("A", "enabled", False, 30), Change("A", "enabled", True, 50)]
    plans = {f"s{k:03}": Plan([cluster(k)], away if k % 3 else []) for k in range(SCENARIOS)}
    told: list[tuple[int, int]] = []
    found = CheckedTable(traffic(), None)
    asked = MemoryOptions(rows="none", command="fairlead replay")
    alone = run(found, plans, tmp_path / "alone", asked)
    monkeypatch.setattr(processes, "WORTH", 0)
    spread = run(found, plans, tmp_path / "spread", replace(asked, progress=Listening(told)))
    assert spread.scenarios == alone.scenarios
    assert told == [(k, SCENARIOS) for k in range(1, SCENARIOS + 1)]
    assert len({each.digest for each in alone.scenarios}) > 20


class Listening:
    """Keeps what a stage tells."""

    def __init__(self, told: list[tuple[int, int]]) -> None:
        self.told = told

    def __call__(self, _: str) -> "Listening":
        return self

    def __enter__(self) -> object:
        return lambda done, of: self.told.append((done, of))

    def __exit__(self, *_: object) -> None:
        return


@pytest.mark.slow
def test_a_search_ahead_finds_what_a_search_alone_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    for vary in (["readers of * 1..5"], ["readers of * 1..9", "weight of A 1..9", "policy"]):
        alone = searched(vary)
        monkeypatch.setattr(processes, "WORTH", 0)
        ahead = searched(vary)
        monkeypatch.undo()
        assert {**alone, "seconds": 0} == {**ahead, "seconds": 0}


def searched(vary: list[str]) -> dict[str, object]:
    given = cluster(1)
    asked = SearchRequest(
        space_of(given, vary), target_of("p99_wait < 1s"), cost_of([], given), budget=20
    )
    return recommend(ready(), asked).recommendation.to_dict()


def ready() -> PreparedMessages:
    plan = Plan([cluster(1)], [])
    return prepared(accepted(validate(CheckedTable(traffic(), None), plan, worked=True)), [plan])


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    given = ready()
    processes.save(given, tmp_path)
    found = processes.load(tmp_path)
    assert found.messages.table.equals(given.messages.table)
    assert found.messages.ids.equals(given.messages.ids)
    assert (found.messages.times == given.messages.times).all()
    assert (found.messages.services == given.messages.services).all()
    assert (found.read, found.dated) == (given.read, given.dated)
