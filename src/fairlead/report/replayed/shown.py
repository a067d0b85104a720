"""Which scenarios are drawn, in which colour, and what they and their messages are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.report.replayed.labels import labels
from fairlead.results.comparison import ScenarioResult, Waits
from fairlead.text import LONGEST_NAME
from fairlead.web.charts import PALETTE, Layer
from fairlead.web.parts import MAX_ROWS, PageTable, table

MAX_DRAWN: Final = 8
"""Scenarios in a chart: more cannot be kept apart."""
MAX_NAMES: Final = 12
MAX_MARKS: Final = 64
"""Names times scenarios in a chart."""
BUSY: Final = (
    "the part of their time in which readers worked; readers count as available while their "
    "destination is down or failed"
)
"""What utilisation is."""
LEFT_IN: Final = "comparison.json"
PLURALS: Final = {"destination": "destinations", "priority": "priorities", "tenant": "tenants"}
KINDS: Final = tuple(PLURALS)
Cells = Callable[[ScenarioResult], Sequence[str]]


@dataclass(frozen=True)
class Drawn:
    """A scenario in the charts."""

    scenario: ScenarioResult
    name: str
    colour: str

    @property
    def quoted(self) -> str:
        """Its name in a sentence."""
        return quoted(self.name)


class Shown:
    """The scenarios of a page."""

    def __init__(self, scenarios: Sequence[ScenarioResult]) -> None:
        """All of them, in the order in which they were given."""
        self.all = scenarios
        self._names = labels([scenario.name for scenario in scenarios], LONGEST_NAME)
        self.started = [scenario for scenario in scenarios if scenario.waits.messages]
        """Those that have messages that were started."""
        self.least = min(self.started, key=_p99, default=None)
        self.most = max(self.started, key=_p99, default=None)
        self.drawn = [
            Drawn(scenario, self.name(scenario), colour)
            for scenario, colour in zip(self.first(MAX_DRAWN), PALETTE, strict=False)
        ]

    def first(self, most: int) -> list[ScenarioResult]:
        """The first ones, and always those that wait least and most."""
        extremes = [id(scenario) for scenario in (self.least, self.most) if scenario is not None]
        order = [*extremes, *map(id, self.all)]
        chosen = set(list(dict.fromkeys(order))[:most])
        return [scenario for scenario in self.all if id(scenario) in chosen]

    def quoted(self, scenario: ScenarioResult) -> str:
        """Its short name in a sentence."""
        return quoted(self.name(scenario))

    def name(self, scenario: ScenarioResult) -> str:
        """A short name, no two the same."""
        return self._names[scenario.name]

    @property
    def left(self) -> str:
        """What is said where not all are drawn."""
        if len(self.drawn) == len(self.all):
            return ""
        return (
            f"{len(self.drawn)} of {len(self.all):,} scenarios are drawn: the first ones, and "
            f"those with the shortest and the longest p99 wait. All are in {LEFT_IN}."
        )

    @property
    def layers(self) -> list[Layer]:
        """The drawn scenarios as series of a chart."""
        return [Layer(entry.name, entry.colour, ()) for entry in self.drawn]

    @property
    def legend(self) -> list[Layer]:
        """What the colours mean; nothing where there is one."""
        return self.layers if len(self.drawn) > 1 else []

    def table(self, columns: Sequence[str], cells: Cells, *, texts: int = 1) -> PageTable:
        """A row for each scenario: its name, and its cells."""
        rows = [[self.name(scenario), *cells(scenario)] for scenario in self.first(MAX_ROWS)]
        total = len(self.all)
        return table(["scenario", *columns], rows, texts=texts, total=total, left_in=LEFT_IN)

    @property
    def most_names(self) -> int:
        """How many names stand in a chart that has a row for each drawn scenario."""
        return min(MAX_NAMES, MAX_MARKS // max(1, len(self.drawn)))


def quoted(name: str) -> str:
    """A name that could be read as a part of its sentence, set off.

    >>> quoted("a fifth more")
    '“a fifth more”'
    """
    return f"“{name}”"


def _p99(scenario: ScenarioResult) -> float:
    return scenario.waits.p99


def waits_of(scenario: ScenarioResult, kind: str) -> dict[str, Waits]:
    """By name: the waits of a kind of names, the names with the most messages first."""
    listed: dict[str, list[Waits]] = {
        "destination": scenario.by_destination,
        "priority": scenario.by_priority,
        "tenant": scenario.by_tenant,
    }
    return {waits.name: waits for waits in listed[kind]}


def called(kind: str, name: str) -> str:
    """A name with its kind.

    >>> called("priority", "5"), called("tenant", "")
    ('priority 5', 'no tenant')
    """
    return f"{kind} {name}" if name else f"no {kind}"
