"""t: micro-batches of a stream beside dispatches of the same messages, and without a message."""

import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.timing import Line, medians
from fairlead.cli.follow import files_of, names_of
from fairlead.cli.table import MessagesTable
from fairlead.config.clusters import load_clusters
from fairlead.pipeline.streaming.follow import Following, StreamRequest, start
from fairlead.runs.options import Options
from fairlead.runs.stream_folder import StreamFolder

PART_OF_ROWS = 5
HORIZON = 86_400.0
EVERY = 0.1
LOOK = 0.01
FEW = 1
COLUMNS = {"cluster": "queue"}


def part_t(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """A fifth of the rows a micro-batch; then one message, and none."""
    jobs, size = Jobs(spark, folder), max(FEW, rows // PART_OF_ROWS)
    clusters = data.weighted(folder)
    batches = [batch(folder, size, k) for k in range(runs + 1)]
    small = [batch(folder, FEW, k) for k in range(runs + 1)]
    lines = []
    for trust, what in ((False, "ids checked"), (True, "--trust-ids")):
        with stream(spark, folder, clusters, trust=trust) as seen:
            took = {
                name: seen.median(each)
                for name, each in (
                    ("whole", batches),
                    ("one", small),
                    ("none", [None] * (runs + 1)),
                )
            }
        places = iter(batches)

        def whole(trust: bool = trust, places: Iterator[Path] = places) -> None:
            jobs.dispatch(next(places), clusters, None, COLUMNS, trust_ids=trust)

        alone = medians({f"dispatch, {what}": whole}, runs)[f"dispatch, {what}"]
        name = f"messages a second, micro-batches of {size:,}"
        lines.append(Line("t", name, f"dispatch, {what}", alone / took["whole"], ">= 0.8"))
        for name, which in (("one", "of one message"), ("none", "without a message")):
            lines.append(Line("t", f"micro-batch {which}", f"a second, {what}", took[name], ""))
    return lines


def batch(folder: Path, size: int, number: int) -> Path:
    """The messages of one micro-batch, whose ids and times are its own; made once."""
    place = folder / f"batches-{size}" / f"{number:02}"
    if place.exists():
        return place
    making = place.with_name(f"making-{number}")
    making.mkdir(parents=True, exist_ok=True)
    for file in sorted(data.messages(folder, size).glob("*.parquet")):
        table = pq.read_table(file)
        ids = pc.binary_join_element_wise(f"{size}.{number}", table["id"], "-")
        later = pa.scalar(number * size * 1_000, pa.duration("us"))
        table = table.set_column(0, "id", ids)
        table = table.set_column(1, "time", pc.add(table["time"], later))
        pq.write_table(table, making / file.name)
    making.rename(place)
    return place


class Seen:
    """A stream that runs, and how long its micro-batches take."""

    def __init__(self, source: Path, out: Path, following: Following) -> None:
        self.source, self.following = source, following
        self.results = StreamFolder(out)
        self.number = 0

    def median(self, batches: Sequence[Path | None]) -> float:
        """Seconds from the moment when files are there until they are decided; the first warms.

        `batches`: folders of files; None: an empty file.
        """
        seconds = [self._decided(each) for each in batches]
        return statistics.median(seconds[1:])

    def _decided(self, batch: Path | None) -> float:
        self.number += 1
        hidden = self.source / f".{self.number}"
        hidden.mkdir()
        if batch is None:
            (hidden / "empty.parquet").touch()
        for file in batch.iterdir() if batch else ():
            shutil.copy(file, hidden / file.name)  # with a time of now
        before = self._batches()
        began = time.perf_counter()
        hidden.rename(self.source / str(self.number))
        while self._batches() == before:
            self.following.wait(LOOK)
        took = time.perf_counter() - began
        print(f"    micro-batch {self.number}: {took:.2f} s", flush=True)
        return took

    def _batches(self) -> int:
        found = self.results.commit()
        return -1 if found is None else found.batch


@contextmanager
def stream(spark: SparkSession, folder: Path, clusters: Path, *, trust: bool) -> Iterator[Seen]:
    """`fairlead dispatch --follow` of a new folder, in this process."""
    source, out = folder / "stream", folder / "stream-out"
    for each in (source, out):
        shutil.rmtree(each, ignore_errors=True)
    source.mkdir()
    made = [f"{name}={expression}" for name, expression in COLUMNS.items()]
    table = MessagesTable.asked(str(source), made, None, False, None, None)
    # A folder without a file has no ending that would say the format.
    table = table._replace(input_format="parquet")
    asked = StreamRequest(
        load_clusters(clusters),
        list,
        Options(where=str(source), trust_ids=trust),
        HORIZON,
        EVERY,
        available_now=False,
    )
    following = start(names_of(spark, str(source), 1_000), str(out), asked, files_of(spark, table))
    try:
        yield Seen(source, out, following)
    finally:
        following.stop()
