"""Delivery: results in the making, which become those of a place all at once, or never."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NUMBERS: Final = re.compile(r"\[\n[-+\d.,e\s]+\]")
"""A list of numbers in JSON; inside a text a line break would be escaped."""


class ResultsDelivery(ABC):
    """Results in the making; `finish` makes them those of the place.

    Used as a context: on an error, or when nobody finishes it, what was made is removed.
    """

    delivered: ClassVar[list[str]] = []
    """The places to which this process has delivered."""

    @abstractmethod
    def begin(self, spark: SparkSession) -> None:
        """Refuse, before any work, what only the session can tell of the place.

        Raises OutputError, EnvironmentProblem.
        """

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @abstractmethod
    def path(self, name: str) -> str:
        """Where Spark finds a part that was written."""

    @abstractmethod
    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        """Write a table in files of this format, in the order of its partitions.

        `by`: a column of integers, for each value of which there is a folder.
        """

    def load(
        self, spark: SparkSession, name: str, file_format: str, schema: StructType
    ) -> DataFrame:
        """A table that was written, with the columns that it was written with."""
        from fairlead.pipeline.output.read_back import load

        return load(spark, self.path(name), file_format, schema)

    @abstractmethod
    def move(self, name: str, to: str) -> None:
        """Put a part elsewhere in the delivery; an empty one where nothing was written."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Take a part away again, if it is there."""

    @abstractmethod
    def write_text(self, name: str, text: str) -> None:
        """Write a small file as it is."""

    @abstractmethod
    def finish(self) -> None:
        """Make what was written the results of the place.

        Raises OutputError, also where another run has delivered there meanwhile.
        """

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a small file of JSON."""
        spread = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        self.write_text(name, NUMBERS.sub(_on_one_line, spread))


def _on_one_line(numbers: re.Match[str]) -> str:
    return " ".join(numbers[0].split()).replace("[ ", "[").replace(" ]", "]")
