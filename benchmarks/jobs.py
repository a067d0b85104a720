"""The contenders on Spark, all Parquet to Parquet in one session."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks import data
from fairlead import Cluster, report
from fairlead.compiled.plan import Plan
from fairlead.config.changes import load_changes
from fairlead.config.clusters import load_clusters
from fairlead.pipeline import dispatch, replay
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.results.comparison import Comparison
from fairlead.results.summary import Summary
from fairlead.runs.constants import ALL_ROWS
from fairlead.runs.options import Options
from fairlead.runs.progress import Tell


class Jobs:
    """What is run; each writes to `out`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.out = str(folder / "out")
        self.stages: dict[str, float] = {}
        """Seconds of each stage of the last run."""

    def write(self, table: DataFrame, by: str | None = None) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        (table.write.partitionBy(by) if by else table.write).parquet(self.out)

    def copy(self, source: Path) -> None:
        self.write(self.spark.read.parquet(str(source)))

    def order(self, source: Path) -> None:
        self.write(self.spark.read.parquet(str(source)).orderBy("time", "id"))

    def floor(self, source: Path, *, in_order: bool) -> None:
        """What nobody can do without, who decides by place: a count of each stream, the order, four
        columns more, and a count of what was written that recognises each row."""
        table = self.spark.read.parquet(str(source))
        ends = (F.count(F.lit(1)), F.min("time"), F.max("time"))
        table.groupBy("queue").agg(*ends).collect()
        place = F.monotonically_increasing_id()
        spots = F.array(*(F.lit(each) for each in data.spots()))
        decided = {
            "destination": F.element_at(spots, (F.pmod(place, F.size(spots)) + 1).cast("int")),
            "address": F.lit(None).cast("string"),
            "outcome": F.lit("routed"),
            "sequence": place,
        }
        self.write((table if in_order else table.orderBy("time", "id")).withColumns(decided))
        row = F.xxhash64("id", *decided)
        written = self.spark.read.parquet(self.out).groupBy("queue", "destination", "outcome")
        written.agg(
            F.count(F.lit(1)), F.bit_xor(row), F.sum(F.shiftrightunsigned(row, 33))
        ).collect()

    def window(self, source: Path) -> None:
        """What a Spark user writes: number each stream, join a schedule of 36 places."""
        spots = data.spots()
        schedule = self.spark.createDataFrame(
            list(enumerate(spots)), "place int, destination string"
        )
        order = Window.partitionBy("queue").orderBy("time", "id")
        table = self.spark.read.parquet(str(source))
        numbered = table.withColumn("n", F.row_number().over(order))
        placed = numbered.withColumn("place", F.pmod(F.col("n") - 1, F.lit(len(spots))))
        self.write(placed.join(F.broadcast(schedule), "place"))

    def dispatch(
        self,
        source: Path,
        cluster: Path | Cluster,
        changes: Path | None,
        columns: Mapping[str, str],
        *,
        trust_ids: bool,
        drop: Sequence[str] = (),
        command: str | None = None,
    ) -> Summary:
        """`command`: None for a run without a report."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.stages = {}
        with FolderTables(self.out, overwrite=False) as delivery:
            summary = dispatch.run(
                self.spark,
                read(self.spark, str(source), columns=columns, drop=drop),
                load_clusters(cluster) if isinstance(cluster, Path) else [cluster],
                load_changes(changes) if changes else [],
                delivery,
                Options(
                    where=str(source),
                    trust_ids=trust_ids,
                    as_in_files=True,
                    command=command,
                    progress=self._timed,
                ),
            )
            if command is not None:
                with self._timed("report"):
                    delivery.write_text(report.NAME, report.render(summary.to_dict()))
            delivery.finish()
        return summary

    def replay(
        self,
        source: Path,
        clusters: Sequence[Cluster],
        *,
        drop: Sequence[str] = (),
        kept: str = ALL_ROWS,
    ) -> Comparison:
        """A scenario for each cluster, without a report. `kept`: which rows are written."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.stages = {}
        with FolderTables(self.out, overwrite=False) as delivery:
            found = replay.run(
                self.spark,
                read(self.spark, str(source), drop=drop),
                {f"s{k}": Plan([each], []) for k, each in enumerate(clusters)},
                delivery,
                Options(where=str(source), rows=kept, progress=self._timed),
            )
            delivery.finish()
        return found

    @contextmanager
    def _timed(self, stage: str) -> Iterator[Tell]:
        began = perf_counter()
        yield lambda _done, _all: None
        self.stages[stage] = perf_counter() - began
