"""Where positions order the messages, the latest time so far goes on from block to block."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests import engines

from fairlead import Change, Cluster, route
from fairlead.pipeline.dispatch import prepare, run
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.questions.explain import why
from fairlead.runs.options import Options

ROWS, ROWS_A_BLOCK = 400, 60
CLUSTERS = [
    Cluster.of(
        "weighted", name="counts", destination=[{"name": "A"}, {"name": "B"}, {"name": "C"}]
    ),
    Cluster.of("fewest-pending", name="waits", destination=[{"name": "D"}, {"name": "E"}]),
]
CHANGES = [Change("A", "weight", 3, 500), Change("B", "weight", 5, 900)]
LATE = {30: 600, 290: 1_000}
"""Times that come long before all others: several blocks begin between them."""


def messages() -> list[dict[str, Any]]:
    """Work that takes half a second: as long as it is 600 or 1,000 no more of it is done."""
    random = Random(5)  # noqa: S311 - messages for a test
    return [
        {
            "id": f"m{k:03}",
            "position": k,
            "time": LATE.get(k, k),
            "cluster": random.choice(["counts", "waits"]),
            "service_time": 0.5,
        }
        for k in range(ROWS)
    ]


@pytest.mark.slow
def test_the_latest_time_is_carried_over_blocks(spark: SparkSession, tmp_path: Path) -> None:
    rows, options = messages(), Options(rows_a_block=ROWS_A_BLOCK)
    frame = spark.createDataFrame(engines.table(rows)).repartition(3)
    wanted = route(engines.table(rows), CLUSTERS, CHANGES, journal=True).to_pylist()
    assert {row["version"] for row in wanted[30:290] if row["cluster"] == "counts"} == {1}
    ready = prepare(frame, CLUSTERS, CHANGES, options)
    assert len(ready.survey.blocks) >= ROWS // ROWS_A_BLOCK
    told = ("id", "destination", "sequence", "version")
    found = ready.journal().select(*told).collect()
    assert sorted(map(tuple, found)) == [tuple(row[name] for name in told) for row in wanted]
    with FolderTables(str(tmp_path / "out"), overwrite=False) as delivery:
        run(spark, frame, CLUSTERS, CHANGES, delivery, options)
        delivery.finish()
    first = next(row for row in wanted[31:] if row["cluster"] == "counts")
    for row in [first, *wanted[5::13]]:  # it is the first that its cluster hears of the time
        each = why(tmp_path / "out", row["id"])
        assert (each.destinations, each.sequence) == ([row["destination"]], row["sequence"])
        assert each.version == row["version"]
