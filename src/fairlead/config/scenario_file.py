"""What a scenario file may say, table by table, and where in the file each word of it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.objects import FileTable, Name, shown
from fairlead.balance.refusal import place_in_words, refusal
from fairlead.config.toml import line_of, parsed
from fairlead.errors import ConfigError

SCENARIO: Final = "scenario"
MAX_DIGITS: Final = 18
"""Of a number, before the point, so that its decimals have room."""
MAX_RATE: Final = 1_000
RATE_DECIMALS: Final = 6
RATES: Final = f"a number above 0, up to {MAX_RATE}, with at most {RATE_DECIMALS} decimals"


class Set(FileTable, frozen=True, kw_only=True):
    """An attribute as if the cluster file said so."""

    target: Name
    attribute: Name
    value: Any


class Sweep(FileTable, frozen=True, kw_only=True):
    """An attribute with one value after the other."""

    target: Name
    attribute: Name
    values: list[Any] | UnsetType = UNSET
    from_: Any = msgspec.field(name="from", default=UNSET)
    to: Any = UNSET
    step: Any = UNSET


class Down(FileTable, frozen=True, kw_only=True):
    """Something is out from one time to another."""

    target: Name
    from_: Any = msgspec.field(name="from")
    to: Any = UNSET
    """Without it: for good."""
    failed: bool = False
    """Whether it gives back what it holds."""


class ScenarioTable(FileTable, frozen=True, kw_only=True):
    """A `[[scenario]]`."""

    name: Name
    set_: list[Set] = msgspec.field(name="set", default_factory=list)
    sweep: list[Sweep] = []
    down: list[Down] = []
    order: dict[str, Any] = {}
    changes: Name | UnsetType = UNSET
    scale_rate: Any = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET


class Scenarios(FileTable, frozen=True, kw_only=True):
    """A scenario file."""

    scenario: list[ScenarioTable] = []


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario file that is being read: its entries, and what error lines say of a place."""

    path: Path
    text: str
    plain: Mapping[str, Any]

    def where(self, *place: str | int) -> str:
        """File, line and key: `what-if.toml:7: scenario[2] 'south down'.down[1]`."""
        return f"{self.line(place)}: {place_in_words(self.plain, place)}"

    def line(self, place: Sequence[str | int]) -> str:
        """File and line; the file alone where the line is not known."""
        number = line_of(self._up_to(place), place) if place else None
        return f"{self.path}:{number}" if number else f"{self.path}"

    def _up_to(self, place: Sequence[str | int]) -> str:
        """The text up to the next scenario, whose keys are not meant."""
        if len(place) < 2 or not isinstance(place[1], int):
            return self.text
        first = line_of(self.text, place[:2]) or 0
        following = line_of(self.text, [SCENARIO, place[1] + 1]) or 0
        lines = self.text.splitlines()
        return "\n".join(lines[: following - 1] if following > first else lines)


def read(path: str | Path) -> tuple[ScenarioFile, list[ScenarioTable]]:
    """The file's scenarios as they stand there, each right for itself. Raises ConfigError."""
    text, plain = parsed(path)
    source = ScenarioFile(Path(path), text, plain)
    try:
        entries = msgspec.convert(plain, Scenarios).scenario
    except msgspec.ValidationError as error:
        line, place = refusal(error, plain, Scenarios, {})
        raise ConfigError(f"{source.line(place)}: {line}", place) from None
    if not entries:
        raise ConfigError(f"{path}: found no scenario, allowed: at least one [[{SCENARIO}]]")
    names = Counter(entry.name for entry in entries)
    for k, entry in enumerate(entries):
        if names[entry.name] > 1:
            second = [other.name for other in entries].index(entry.name, k + 1)
            raise ConfigError(
                f"{source.where(SCENARIO, second, 'name')}: found {entry.name!r}, the name of "
                f"scenario[{k + 1}], too; allowed: one of its own"
            )
        if not entry.name.isprintable():
            raise ConfigError(
                f"{source.line([SCENARIO, k, 'name'])}: scenario[{k + 1}].name: "
                f"found {entry.name!r}, allowed: a text on one line"
            )
    return source, entries


def number(value: object, decimals: int) -> Decimal | None:
    """A number of the file with at most so many decimals; None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    amount = Decimal(value)
    if (
        not amount.is_finite()
        or amount.adjusted() >= MAX_DIGITS
        or amount != round(amount, decimals)
    ):
        return None
    return amount


def more_of_it(source: ScenarioFile, k: int, entry: ScenarioTable) -> tuple[Decimal, int]:
    """How often each message is there, and the seed. Raises ConfigError."""
    rate = Decimal(1) if entry.scale_rate is UNSET else number(entry.scale_rate, RATE_DECIMALS)
    if rate is None or not 0 < rate <= MAX_RATE:
        raise ConfigError(
            f"{source.where(SCENARIO, k, 'scale_rate')}: found {shown(entry.scale_rate)}, "
            f"allowed: {RATES}"
        )
    if entry.seed is UNSET:
        return rate, 0
    if rate == 1:
        raise ConfigError(
            f"{source.where(SCENARIO, k, 'seed')}: found {entry.seed}, which would be ignored; "
            "allowed: with a scale_rate other than 1"
        )
    return rate, entry.seed
