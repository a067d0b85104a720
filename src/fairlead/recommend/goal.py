"""Goal: what a cluster should reach, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import hint, listed
from fairlead.balance.policies.destinations import KIND
from fairlead.errors import UserError
from fairlead.recommend.space import READERS
from fairlead.results.comparison import Waits

MEASURES: Final[Mapping[str, float | None]] = {
    "p99_wait": 0.99,
    "p90_wait": 0.9,
    "p50_wait": 0.5,
    "max_wait": 1.0,
    "mean_wait": None,
}
"""What can be a target, and which part of the messages must keep the limit; None: it is a mean."""
TARGET: Final = re.compile(
    r"\s*(?P<measure>\w+)\s*(?P<sign><=|<)\s*(?P<limit>\d{1,12}(?:\.\d{1,6})?)\s*"
    r"(?P<unit>ms|s|min|h)\s*"
)
UNITS: Final = {"ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000}
COST: Final = re.compile(r"\s*(?P<price>\d{1,9}(?:\.\d{1,6})?)\s+of\s+(?P<pattern>\S+)\s*")


@dataclass(frozen=True)
class Target:
    """A wait that must not be passed."""

    text: str
    measure: str
    limit: int
    """Microseconds."""
    below: bool
    """Whether the limit itself is too much."""

    @property
    def part(self) -> float | None:
        """Which part of the messages must keep the limit; None: the mean must."""
        return MEASURES[self.measure]

    def value(self, waits: Waits) -> float:
        """What it looks at, in seconds."""
        seconds: float = getattr(waits, self.measure.removesuffix("_wait"))
        return seconds

    def met(self, waits: Waits) -> bool:
        """Whether these waits keep it."""
        micros = self.value(waits) * 1e6
        return micros < self.limit if self.below else micros <= self.limit


def target_of(text: str) -> Target:
    """What a text asks for. Raises UserError.

    >>> target_of("p99_wait < 2s").limit
    2000000
    """
    match = TARGET.fullmatch(text)
    if match is None:
        raise UserError(
            f"--target: found {text!r}, allowed: MEASURE < NUMBER UNIT, with < or <=, and ms, s, "
            "min or h, such as 'p99_wait < 2s'"
        )
    measure = match["measure"]
    if measure not in MEASURES:
        raise UserError(
            f"--target: found {measure!r}, allowed: {listed(MEASURES)}{hint(measure, MEASURES)}"
        )
    limit = int(Decimal(match["limit"]) * UNITS[match["unit"]])
    return Target(text.strip(), measure, limit, match["sign"] == "<")


@dataclass(frozen=True)
class Cost:
    """What a reader of each destination costs."""

    prices: Mapping[str, Decimal]

    def of(self, cluster: Cluster) -> float:
        """The cost of a cluster: of all its readers."""
        every = cluster.to_dict()[KIND]
        return float(
            sum(
                destination[READERS] * self.prices.get(destination["name"], 1)
                for destination in every
            )
        )


def cost_of(texts: Sequence[str], cluster: Cluster) -> Cost:
    """The cost that texts state: 'PRICE of PATTERN'; a reader costs 1 else. Raises UserError."""
    names = [destination["name"] for destination in cluster.to_dict().get(KIND, ())]
    prices: dict[str, Decimal] = {}
    for text in texts:
        match = COST.fullmatch(text)
        if match is None:
            raise UserError(
                f"--cost: found {text!r}, allowed: PRICE of PATTERN, the price of a reader, such "
                "as '3 of h100-*'"
            )
        mine = [name for name in names if fnmatchcase(name, match["pattern"])]
        if not mine:
            raise UserError(
                f"--cost {text}: found no destination {match['pattern']!r}, allowed: "
                f"{listed(names)}, or a pattern of some{hint(match['pattern'], names)}"
            )
        prices |= dict.fromkeys(mine, Decimal(match["price"]))
    return Cost(prices)
