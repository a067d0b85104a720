"""The engine in memory, held against Spark: the same rows, rejections, digest, summary and page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fairlead import Change, Cluster
from fairlead.compiled.intake.rows import CheckedTable
from fairlead.compiled.plan import Plan
from fairlead.errors import UserError
from fairlead.memory import dispatch as in_memory
from fairlead.memory import replay as replayed_in_memory
from fairlead.memory.columns import mapped
from fairlead.memory.diff import compare, decisions_of, diff, moved
from fairlead.memory.files import read
from fairlead.memory.whatif import what_if
from fairlead.pipeline import dispatch as on_spark
from fairlead.pipeline import replay as replayed_on_spark
from fairlead.pipeline.intake.read import read as read_on_spark
from fairlead.pipeline.measure.attempts import last_attempts
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.questions import diff as diff_on_spark
from fairlead.pipeline.questions.whatif import what_if as what_if_on_spark
from fairlead.results.comparison import Window
from fairlead.runs import run_folder
from fairlead.runs.files import kind_of
from fairlead.runs.options import Options
from fairlead.runs.read_rows import run_of

POOL = Cluster.of(
    "msmq",
    name="pool",
    destination=[{"name": f"D{k}", "weight": 1 + k, "address": f"tcp://{k}"} for k in range(4)],
)
FAILOVER = Cluster.of(
    "nanomsg",
    name="failover",
    destination=[{"name": "A", "priority": 1}, {"name": "B", "priority": 2, "capacity": 3}],
)
EVERYONE = Cluster.of("broadcast", name="everyone", destination=[{"name": "x"}, {"name": "y"}])
NEWS = Cluster.of(
    "smartsockets",
    name="news",
    message_type=[{"name": "tick", "mode": "weighted"}],
    subscriber=[
        {"name": "R1", "subject": "/a"},
        {"name": "R2", "subject": "/a"},
        {"name": "R3", "subject": "/b"},
    ],
)
CHANGES = [
    Change("D1", "enabled", False, 300),
    Change("A", "state", "down", 200),
    Change("A", "state", "up", 500),
    Change("D1", "enabled", True, 600),
]
WINDOWS = [Window("early", 0, 400_000_000), Window("never", -2, -1)]
CLUSTERS = [POOL, FAILOVER, EVERYONE, NEWS]
NAMES = ["pool", "failover", "everyone", "news", "nowhere", ""]


def traffic(seed: int, n: int = 600) -> list[dict[str, str | None]]:
    random = Random(seed)  # noqa: S311
    rows: list[dict[str, str | None]] = [
        {
            "id": f"m{random.randrange(n * 9 // 10):04}" if k % 7 else f"é{k}",
            "time": f"{random.uniform(0, 900):.3f}",
            "cluster": random.choice(NAMES),
            "group": random.choice(["", None, "g1", "g2", 'g,"3']),
            "subject": random.choice(["/a", "/b", "", "/c"]),
            "type": random.choice(["tick", "tock", "SetPriority"]) if k % 5 == 0 else "tick",
            "priority": random.choice(["", "1", "7", "300", "x"]) if k % 9 == 0 else None,
            "tenant": random.choice(["t1", "t2"]) if k % 40 == 0 else "t1",
            "service_time": random.choice(["0.5", "2", "1e-1", "-1", "-4e-7", ""]),
            "note": random.choice(["plain", "a, b", 'say "hi"', "", None]),
        }
        for k in range(n)
    ]
    rows[3]["time"], rows[4]["time"], rows[5]["id"] = "soon", "1772442000000", ""
    return rows


def as_csv(rows: Sequence[dict[str, str | None]], file: Path) -> Path:
    def cell(value: str | None) -> str:
        if value is None:
            return ""
        odd = value == "" or any(each in value for each in ',"\n')
        return '"' + value.replace('"', '""') + '"' if odd else value

    lines = [",".join(rows[0]), *(",".join(map(cell, row.values())) for row in rows)]
    lines[10:10] = ["too,few", ",".join(["x"] * (len(rows[0]) + 2)), "   "]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def as_json(rows: Sequence[dict[str, str | None]], file: Path) -> Path:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines[10:10] = ["{", "[1]", ""]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def as_parquet(rows: Sequence[dict[str, str | None]], file: Path) -> Path:
    table = pa.Table.from_pylist([*rows])
    times = pa.array([float(row["time"] or 0) if row["time"] != "soon" else None for row in rows])
    work = [row["service_time"] for row in rows]
    service = pa.array([None if each in ("", None) else float(str(each)) for each in work])
    table = table.set_column(1, "time", times)
    table = table.set_column(table.column_names.index("service_time"), "service_time", service)
    pq.write_table(table, file)
    return file


WRITERS: dict[str, Callable[..., Path]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}


def contents(folder: Path, file_format: str, spark: SparkSession) -> list[tuple[Any, ...]]:
    reader = spark.read.format(file_format)
    if file_format == "csv":
        reader = reader.options(header="true", escape='"', multiLine="true")
    frame = reader.load(str(folder))
    rows = [tuple(str(row[name]) for name in sorted(frame.columns)) for row in frame.collect()]
    return sorted(rows)


def plain(result: Any) -> dict[str, Any]:
    """Without what may differ between engines."""
    found = asdict(result)
    found.pop("seconds")
    found.pop("blocks", None)
    for made in (found.get("made"), (found.get("facts") or {}).get("made")):
        if made:
            made.pop("pyspark")
    return found


@pytest.mark.parametrize(
    "written",
    ["csv", *(pytest.param(each, marks=pytest.mark.slow) for each in ("json", "parquet"))],
)
def test_a_dispatch_gives_the_same_folder(
    spark: SparkSession, tmp_path: Path, written: str
) -> None:
    file_format = written
    file = WRITERS[file_format](traffic(1), tmp_path / f"messages.{file_format}")
    columns = {"tag": "upper(cluster)", "half": "time / 2"}
    place = FolderTables(str(tmp_path / "spark"), overwrite=False)
    with place as delivery:
        table = read_on_spark(spark, str(file), columns=columns)
        options = Options(where="m", file_format=written, command="x")
        wanted = on_spark.run(spark, table, CLUSTERS, CHANGES, delivery, options)
        delivery.finish()
    found = read(str(file), kind_of(str(file), None, {}))
    found = CheckedTable(mapped(found.table, str(file), columns, []), found.malformed)
    out = tmp_path / "memory"
    options_here = in_memory.MemoryOptions(where="m", file_format=written, command="x")
    result = in_memory.run(found, CLUSTERS, CHANGES, out, options_here)
    assert plain(result.summary) == plain(wanted)
    assert result.summary.digest == wanted.digest
    for part in ("decisions", "rejected"):
        same = contents(tmp_path / "spark" / part, written, spark)
        assert contents(out / part, written, spark) == same, part
    assert wanted.rejected > 50
    assert len(wanted.rejections) >= 3


@pytest.mark.slow
def test_a_table_ordered_by_position_and_one_that_is_trusted(
    spark: SparkSession, tmp_path: Path
) -> None:
    random = Random(5)  # noqa: S311
    rows = [row for row in traffic(2) if row["time"] not in ("soon", "1772442000000")]
    for k, row in enumerate(rows):
        row |= {"id": f"i{k}", "position": str(random.randrange(100))}
    file = as_json(rows, tmp_path / "messages.json")
    with FolderTables(str(tmp_path / "spark"), overwrite=False) as delivery:
        table = read_on_spark(spark, str(file))
        options = Options(trust_ids=True)
        wanted = on_spark.run(spark, table, CLUSTERS, CHANGES, delivery, options)
    found = read(str(file), kind_of(str(file), None, {}))
    out = tmp_path / "memory"
    result = in_memory.run(found, CLUSTERS, CHANGES, out, in_memory.MemoryOptions(trust_ids=True))
    assert plain(result.summary) == plain(wanted)


@pytest.mark.parametrize("dated", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_replay_gives_the_same_folder(spark: SparkSession, tmp_path: Path, dated: bool) -> None:
    rows = traffic(3)
    if dated:
        for row in rows:
            number = str(row["time"])
            if number != "soon" and len(number) < 10:
                seconds = float(number)
                row["time"] = f"2023-11-16 18:{int(seconds) // 60:02}:{seconds % 60:06.3f}"
    file = as_csv(rows, tmp_path / "messages.csv")
    weighted = [Cluster.of("weighted", name="pool", destination=[{"name": "D0", "readers": 2}])]
    by_priority = Cluster.of(
        "weighted", name="pool", destination=[{"name": "D0"}], order={"discipline": "priority"}
    )
    plans = {
        "all": Plan(CLUSTERS, []),
        "changed": Plan(CLUSTERS, [] if dated else CHANGES),
        "one": Plan(weighted, []),
        "by priority": Plan([by_priority], []),
    }
    with FolderTables(str(tmp_path / "spark"), overwrite=False) as delivery:
        table = read_on_spark(spark, str(file))
        options = Options(command="x", windows=WINDOWS)
        wanted = replayed_on_spark.run(spark, table, plans, delivery, options)
        delivery.finish()
    found = read(str(file), kind_of(str(file), None, {}))
    out = tmp_path / "memory"
    here = in_memory.MemoryOptions(command="x", windows=WINDOWS)
    result = replayed_in_memory.run(found, plans, out, here)
    mine, theirs = plain(result), plain(wanted)
    for one, other in zip(mine.pop("scenarios"), theirs.pop("scenarios"), strict=True):
        for name in one:
            assert one[name] == other[name], (one["name"], name)
    assert sum(len(scenario.by_phase) for scenario in wanted.scenarios) == (0 if dated else 5)
    assert mine == {**theirs, "made": {**theirs["made"], "messages": "messages"}}
    for scenario in wanted.scenarios:
        part = f"{scenario.folder}/decisions"
        same = contents(tmp_path / "spark" / part, "parquet", spark)
        assert contents(out / part, "parquet", spark) == same, part


@pytest.mark.slow
def test_a_diff_and_a_whatif_say_the_same(spark: SparkSession, tmp_path: Path) -> None:
    rows = [row for row in traffic(4) if row["time"] not in ("soon", "1772442000000")]
    file = as_csv(rows, tmp_path / "messages.csv")
    found = read(str(file), kind_of(str(file), None, {}))
    ordered = [
        Cluster.from_dict(
            {**each.to_dict(), "order": {"discipline": "priority"}}, default_name=each.name
        )
        for each in CLUSTERS
    ]
    changed = Plan(ordered, CHANGES)
    plans = {"plain": Plan(ordered, []), "changed": changed}
    out = tmp_path / "replayed"
    with FolderTables(str(out), overwrite=False) as delivery:
        options = in_memory.MemoryOptions()
        result = replayed_in_memory.run(found, plans, delivery.making, options)
        for scenario in result.scenarios:
            plan = plans[scenario.name]
            run_folder.write_scenario(delivery, scenario.folder, plan, "parquet")
        delivery.write_json("comparison.json", result.to_dict())
        delivery.finish()
    folders = [out / "plain", out / "changed"]
    runs = [run_of(each) for each in folders]
    frames = [
        diff_on_spark.joined(last_attempts(read_on_spark(spark, str(each / "decisions"))))
        for each in folders
    ]
    wanted = diff_on_spark.compare(*frames)
    mine = compare(*map(decisions_of, folders, runs))
    assert diff(mine) == diff_on_spark.diff(wanted)
    assert diff(mine).moved > 10
    same = sorted(row["id"] for row in diff_on_spark.moved(wanted).collect())
    assert sorted(moved(mine)["id"].to_pylist()) == same
    decisions = read_on_spark(spark, str(folders[1] / "decisions"))
    asked = ("g1", 100_000_000, 255)
    assert what_if(folders[1], runs[1], changed, *asked) == what_if_on_spark(
        decisions, changed, *asked
    )
    with pytest.raises(UserError, match="--promote: found 'g9', allowed: a group of"):
        what_if(folders[1], runs[1], changed, "g9", 0, 1)


@pytest.mark.slow
def test_hundreds_of_scenarios_on_spark_are_those_in_memory(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = as_csv(traffic(7, 400), tmp_path / "messages.csv")
    plans = {}
    for k in range(200):
        named = [{"name": "A", "readers": 1 + k % 7}, {"name": "B", "weight": 1 + k % 13}]
        pool = Cluster.of("weighted", name="pool", destination=named)
        plans[f"s{k:03}"] = Plan([pool], [Change("A", "enabled", False, k)])
    with FolderTables(str(tmp_path / "spark"), overwrite=False) as delivery:
        table = read_on_spark(spark, str(file))
        wanted = replayed_on_spark.run(spark, table, plans, delivery, Options(rows="none"))
        delivery.finish()
    found = read(str(file), kind_of(str(file), None, {}))
    options = in_memory.MemoryOptions(rows="none")
    mine = replayed_in_memory.run(found, plans, tmp_path / "memory", options)
    assert mine.scenarios == wanted.scenarios


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["late", "none"])
def test_fewer_rows_change_no_number(spark: SparkSession, tmp_path: Path, rows: str) -> None:
    file = as_csv(traffic(6, 3_000), tmp_path / "messages.csv")
    plans = {"all": Plan(CLUSTERS, []), "changed": Plan(CLUSTERS, CHANGES)}
    found = read(str(file), kind_of(str(file), None, {}))
    whole = replayed_in_memory.run(found, plans, tmp_path / "whole", in_memory.MemoryOptions())
    if rows == "none":  # nor a page: nobody asks for these
        nothing = {"digest": None, "queue": None, "waits_over_time": None, "use": None}
        whole = replace(whole, scenarios=[replace(each, **nothing) for each in whole.scenarios])
    options = in_memory.MemoryOptions(rows=rows)
    fewer = replayed_in_memory.run(found, plans, tmp_path / "fewer", options)
    assert plain(fewer) == plain(whole)
    with FolderTables(str(tmp_path / "spark"), overwrite=False) as delivery:
        table = read_on_spark(spark, str(file))
        on_spark_ = replayed_on_spark.run(spark, table, plans, delivery, Options(rows=rows))
        delivery.finish()
    assert plain(on_spark_)["scenarios"] == plain(whole)["scenarios"]
    for name in plans:
        folder = tmp_path / "fewer" / name / "decisions"
        if rows == "none":
            assert not folder.exists()
            assert not (tmp_path / "spark" / name / "decisions").exists()
        else:
            late = contents(folder, "parquet", spark)
            assert 0 < len(late) < 40
            assert contents(tmp_path / "spark" / name / "decisions", "parquet", spark) == late
    with pytest.raises(UserError, match=f"not all rows were kept \\(--rows {rows}\\)"):
        run_of(tmp_path / "spark" / "all")
