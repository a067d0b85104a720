"""What a scenario differs by, in short plain texts as its file says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import UNSET

from fairlead.balance.objects import shown
from fairlead.config.overrides import ORDER
from fairlead.config.scenario_file import Down, ScenarioTable


def differences(
    entry: ScenarioTable, swept: Sequence[object], rate: Decimal, seed: int
) -> list[str]:
    """All that one scenario of an entry differs by; `swept`: the values of its sweeps."""
    every: Iterable[tuple[str, str, object]] = (
        *((edit.target, edit.attribute, edit.value) for edit in entry.set_),
        *(
            (sweep.target, sweep.attribute, value)
            for sweep, value in zip(entry.sweep, swept, strict=True)
        ),
        *((ORDER, key, value) for key, value in entry.order.items()),
    )
    texts = [f"{target}: {attribute} {said(value)}" for target, attribute, value in every]
    texts += [_out(down) for down in entry.down]
    if entry.changes is not UNSET:
        texts.append(f"changes: {entry.changes}")
    return [*texts, *more_traffic(rate, seed)]


def more_traffic(rate: Decimal, seed: int) -> list[str]:
    """What is said of another rate; nothing where it is the recorded one.

    >>> more_traffic(Decimal("1.5"), 7), more_traffic(Decimal(1), 0)
    (['scale_rate 1.5, seed 7'], [])
    """
    return [f"scale_rate {rate}, seed {seed}"] if rate != 1 else []


def said(value: object) -> str:
    """A value on one line, a text without its quotes.

    >>> said("level"), said(True), said(["C1", "C2"]), said({"a": Decimal("1.5")})
    ('level', 'true', 'C1;C2', 'a=1.5')
    """
    if isinstance(value, list):
        return ";".join(map(said, value))
    if isinstance(value, dict):
        return ";".join(f"{said(key)}={said(part)}" for key, part in value.items())
    return value if isinstance(value, str) and value and value.isprintable() else shown(value)


def _out(down: Down) -> str:
    word = "failed" if down.failed else "down"
    until = "on" if down.to is UNSET else f"to {_at(down.to)}"
    return f"{down.target}: {word} from {_at(down.from_)} {until}"


def _at(time: object) -> str:
    return f"{time} s" if isinstance(time, int | Decimal) else str(time)
