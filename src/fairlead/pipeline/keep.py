"""Keep: what a later question about a delivery needs, and reading a delivery again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from fairlead.balance.cluster import Cluster
from fairlead.compiled.router import Plan
from fairlead.errors import UserError
from fairlead.pipeline.deliver import OPTIONS, Delivery

if TYPE_CHECKING:
    from fairlead.pipeline.dispatch import Routed

JOURNAL = "journal.json"


def load(spark: SparkSession, path: str, file_format: str, schema: StructType) -> DataFrame:
    """A written table, with the columns that it was written with."""
    nested = ArrayType | MapType | StructType
    flat = StructType(
        [
            StructField(each.name, StringType())
            if file_format == "csv" and isinstance(each.dataType, nested)
            else each
            for each in schema.fields
        ]
    )
    options: Mapping[str, str] = OPTIONS[file_format]
    if file_format == "csv":
        options = {**options, "multiLine": "true"}
    return spark.read.schema(flat).format(file_format).options(**options).load(path)


def read_journal(folder: Path) -> dict[str, Any]:
    """What `journal` wrote. Raises UserError where the folder is none that dispatch wrote."""
    try:
        text = (folder / JOURNAL).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            f"{folder}: not a folder that dispatch wrote (it has no {JOURNAL})"
        ) from None
    found: dict[str, Any] = json.loads(text)
    return found


def clusters_of(journal: Mapping[str, Any]) -> list[Cluster]:
    """The clusters of a run."""
    return [
        Cluster.from_plain(each["tables"], default_name=each["name"])
        for each in journal["clusters"]
    ]


def scenario(delivery: Delivery, folder: str, plan: Plan, file_format: str) -> None:
    """Write what the decisions of one scenario of a replay were made with."""
    content = {"format": 1, "file_format": file_format, "replay": True, **_plain(plan)}
    delivery.write_json(f"{folder}/{JOURNAL}", content)


def _plain(plan: Plan) -> dict[str, Any]:
    return {
        "clusters": [
            {"name": cluster.name, "tables": cluster.as_plain()} for cluster in plan.clusters
        ],
        "changes": [change._asdict() for change in plan.changes],
    }


def rejections(rejected: DataFrame) -> dict[str, int]:
    """Rejected rows by what was wrong: the reason up to what was found."""
    kind = F.split(F.col("reason"), ": found|: a message", 2)[0]
    rows = rejected.groupBy(kind.alias("kind")).agg(F.count(F.lit(1)).alias("n")).collect()
    return {row["kind"]: row["n"] for row in sorted(rows, key=lambda row: str(row["kind"]))}


def journal(delivery: Delivery, ready: Routed, file_format: str) -> None:
    """Write what `explain` needs to bring any moment of the run back."""
    plan = ready.plan
    content: dict[str, Any] = {
        "format": 1,
        "file_format": file_format,
        **_plain(plan),
        "classes": [list(each) for each in plan.classes],
        "blocks": [list(start) for start in ready.survey.blocks.starts],
        "states": list(ready.states),
    }
    delivery.write_json(JOURNAL, content)
