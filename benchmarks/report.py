"""i: what the report costs: its facts while the results are measured, its drawing, its size."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.timing import Line, medians
from fairlead import Cluster
from fairlead.report import NAME

COMMAND = "fairlead dispatch messages --cluster weighted.toml --out out"
MANY = 10_000
FEW = len(data.WEIGHTS)
STAGES = ("measure", "report")


def part_i(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """With a report against `--no-report`: a few destinations, and ten thousand."""
    jobs, source = Jobs(spark, folder), data.messages(folder, rows)
    destinations = [{"name": f"D{k}", "weight": k % 100 + 1} for k in range(MANY)]
    many = Cluster.of("msmq", destination=destinations)
    stages: dict[str, list[dict[str, float]]] = {}
    sizes: dict[int, tuple[int, int]] = {}

    def ours(name: str, destinations: int, command: str | None) -> Callable[[], None]:
        ten, changes = (data.weighted(folder), data.changes(folder, rows))
        # Of many destinations there is one cluster, and nothing changes.
        chosen = (ten, changes, {"cluster": "queue"}) if destinations == FEW else (many, None, {})

        def work() -> None:
            found = jobs.dispatch(source, *chosen, trust_ids=True, command=command)
            assert (found.read, found.outcomes) == (rows, {"routed": rows})
            stages.setdefault(name, []).append(jobs.stages)
            if command is not None:
                page, summary = (Path(jobs.out) / each for each in (NAME, "summary.json"))
                sizes[destinations] = (page.stat().st_size, summary.stat().st_size)
                assert found.facts is not None
                over_time = found.facts.over_time
                assert over_time is not None
                assert sum(sum(each.counts) for each in over_time.outcomes) == rows

        return work

    contenders = {}
    for n in (FEW, MANY):
        for way, command in (("--no-report", None), ("a report", COMMAND)):
            name = f"{n:,} destinations, {way}"
            contenders[name] = ours(name, n, command)
    found = medians(contenders, runs)
    lines = []
    for n in (FEW, MANY):
        reported, quiet = (f"{n:,} destinations, {way}" for way in ("a report", "--no-report"))
        ratio = found[reported] / found[quiet]
        lines.append(Line("i", f"dispatch, {reported}", "--no-report", ratio, ""))
        seconds = {
            (name, stage): median(each.get(stage, 0.0) for each in stages[name][-runs:])
            for name in (reported, quiet)
            for stage in STAGES
        }
        ratio = seconds[reported, "measure"] / seconds[quiet, "measure"]
        lines.append(Line("i", f"measure, {reported}", "--no-report", ratio, ""))
        page, summary = sizes[n]
        print(f"    {reported}: measure {seconds[reported, 'measure']:.2f} s ", end="")
        print(f"(--no-report {seconds[quiet, 'measure']:.2f} s), ", end="")
        print(f"drawing {seconds[reported, 'report']:.2f} s; ", end="")
        print(f"{NAME} {page / 1e6:.2f} MB, summary.json {summary / 1e6:.2f} MB", flush=True)
    for k, name in enumerate((NAME, "summary.json")):
        ratio = sizes[MANY][k] / sizes[FEW][k]
        lines.append(Line("i", f"{name}, {MANY:,} destinations", f"{FEW}", ratio, "", "size"))
    return lines
