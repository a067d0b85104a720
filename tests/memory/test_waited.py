"""Why a replayed message waited: what is said is what the rows say, and what a replay gives."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Change, Cluster
from fairlead.compiled.plan import Plan
from fairlead.errors import UserError
from fairlead.memory import replay as in_memory
from fairlead.memory.files import read
from fairlead.memory.waited import why_it_waited
from fairlead.memory.write import write
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.replay import replay
from fairlead.runs import run_folder
from fairlead.runs.files import kind_of
from fairlead.runs.read_rows import RunFolder, run_of

NAMES = ("a", "b")
Row = dict[str, Any]


def cluster_of(policy: str, discipline: str = "priority") -> Cluster:
    more = {"capacity": 3} if policy == "nanomsg" else {}
    return Cluster.of(
        policy,
        name="pool",
        order={"discipline": discipline},
        destination=[{"name": name, "readers": 1 + k, **more} for k, name in enumerate(NAMES)],
    )


def traffic(seed: int, many: int = 120) -> list[Row]:
    random = Random(seed)  # noqa: S311
    return [
        {
            "id": f"m{k:03}",
            "time": float(k // 2),
            "service_time": random.choice([1.0, 2.0, 4.0]),
            "group": random.choice(["", "kim", "lee", "mia"]),
            "priority": random.choice([None, None, 5, 100]),
        }
        for k in range(many)
    ]


def scenario(folder: Path, rows: list[Row], plan: Plan) -> tuple[Path, RunFolder]:
    """The folder of a scenario, as replay writes it."""
    table = pa.Table.from_pylist(rows)
    write(table, folder / "messages", "parquet")
    found = read(str(folder / "messages"), kind_of(str(folder / "messages"), None, {}))
    with FolderTables(str(folder / "out"), overwrite=False) as delivery:
        result = in_memory.run(found, {"pool": plan}, delivery.making, in_memory.MemoryOptions())
        run_folder.write_scenario(delivery, "pool", plan, "parquet")
        delivery.write_json("comparison.json", result.to_dict())
        delivery.finish()
    return folder / "out" / "pool", run_of(folder / "out" / "pool")


def starts(rows: list[Row], plan: Plan) -> dict[str, float]:
    found = replay(pa.Table.from_pylist(rows), plan.clusters, plan.changes).to_pylist()
    return {row["id"]: row["start"] for row in found if row["outcome"] == "routed"}


@pytest.mark.parametrize("policy", ["fewest-pending", "weighted", "nanomsg"])
def test_what_is_said_is_what_happened(policy: str, tmp_path: Path) -> None:
    rows = traffic(1)
    plan = Plan([cluster_of(policy)], [])
    folder, run = scenario(tmp_path, rows, plan)
    told = replay(pa.Table.from_pylist(rows), plan.clusters).to_pylist()
    waited = [row for row in told if row["wait"] > 0]
    assert len(waited) > 20
    for row in waited[::9]:
        found = why_it_waited(folder, run, plan, row["id"])
        names = ("destination", "reader", "start", "finish", "attempt")
        assert all(getattr(found, name) == row[name] for name in names)
        assert found.wait == row["wait"]
        here = [o for o in told if o["destination"] == row["destination"] and o is not row]
        came, start = row["time"], row["start"]
        assert {each.id for each in found.holding} == {
            o["id"] for o in here if o["start"] <= came < o["finish"]
        }
        before = [o for o in here if came < o["start"] < start]
        assert {each.id for each in (*found.earlier, *found.overtook)} == {o["id"] for o in before}
        assert all((each.came, each.id) > (came, row["id"]) for each in found.overtook)
        if found.until is not None:
            assert (found.until.reader, found.until.finish) == (row["reader"], start)


@pytest.mark.parametrize("policy", ["fewest-pending", "nanomsg"])
def test_what_would_have_helped_is_what_a_replay_gives(policy: str, tmp_path: Path) -> None:
    rows = traffic(2)
    changes = [Change("a", "readers", 2, time=20)]
    plan = Plan([cluster_of(policy)], changes)
    folder, run = scenario(tmp_path, rows, plan)
    last = max(starts(rows, plan).items(), key=lambda each: each[1])[0]
    found = why_it_waited(folder, run, plan, last)
    raised = [{**row, "priority": 255} if row["id"] == last else row for row in rows]
    readers = {"a": 1, "b": 2}[found.destination or ""] + 1
    more = Plan(plan.clusters, [Change(found.destination or "", "readers", readers), *changes])
    assert [(each.what, each.start) for each in found.otherwise] == [
        ("a priority of 255", starts(raised, plan)[last]),
        (f"one more reader at {found.destination}", starts(rows, more)[last]),
    ]


def test_first_come_first_served_no_priority_would_have_helped(tmp_path: Path) -> None:
    rows = traffic(3)
    plan = Plan([cluster_of("weighted", "fifo")], [])
    folder, run = scenario(tmp_path, rows, plan)
    found = why_it_waited(folder, run, plan, "m119")
    assert [each.what for each in found.otherwise] == [f"one more reader at {found.destination}"]


def test_the_last_attempt_is_told_of(tmp_path: Path) -> None:
    rows = traffic(4)
    plan = Plan([cluster_of("fewest-pending")], [Change("a", "state", "failed", time=30)])
    folder, run = scenario(tmp_path, rows, plan)
    told = replay(pa.Table.from_pylist(rows), plan.clusters, plan.changes).to_pylist()
    again = next(row["id"] for row in told if row["attempt"] == 2)
    found = why_it_waited(folder, run, plan, again)
    assert (found.attempt, found.came) == (2, 30.0)


def test_a_message_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    plan = Plan([cluster_of("weighted")], [])
    folder, run = scenario(tmp_path, traffic(5, 4), plan)
    with pytest.raises(UserError, match="found no decision on 'm9'; no message has this id"):
        why_it_waited(folder, run, plan, "m9")
