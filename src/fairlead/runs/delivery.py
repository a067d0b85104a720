"""Delivery: results in the making, which become those of a place all at once, or never."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

NUMBERS: Final = re.compile(r"\[\n[-+\d.,e\s]+\]")
"""A list of numbers in JSON; inside a text a line break would be escaped."""


class ResultsDelivery(ABC):
    """Results in the making; `finish` makes them those of the place.

    Used as a context: on an error, or when nobody finishes it, what was made is removed.
    """

    delivered: ClassVar[list[str]] = []
    """The places to which this process has delivered."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

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
