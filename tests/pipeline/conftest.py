"""What the pipeline's tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ODD = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.caseSensitive": "true",
    "spark.sql.requireAllClusterKeysForDistribution": "true",
    "spark.sql.shuffle.partitions": "5",
}
"""Settings of a session that a user brings along; each is another one than ours or Spark's."""


@pytest.fixture
def odd_session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, set as some users' are."""
    before = {name: spark.conf.get(name) for name in ODD}
    for name, value in ODD.items():
        assert before[name] != value, name
        spark.conf.set(name, value)
    yield spark
    for name, was in before.items():
        spark.conf.set(name, was or "")


@pytest.fixture
def path_without_java(tmp_path: Path) -> str:
    """A PATH with everything that is on this one except Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)
