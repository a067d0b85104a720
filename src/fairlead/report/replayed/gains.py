"""Who gains and who loses against the first scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.report.replayed.plots import differences
from fairlead.report.replayed.shown import KINDS, LEFT_IN, PLURALS, Drawn, Shown, called, waits_of
from fairlead.results.comparison import ScenarioResult, Waits
from fairlead.text import LONGEST_NAME, ShortNames, length, visible
from fairlead.web.charts import Bar
from fairlead.web.parts import MAX_ROWS, Figure, table

MAX_BARS: Final = 10
ALL: Final = "all messages"
DO_NOT_FOLLOW: Final = (
    "All messages do not follow these: their p99 is that of the slowest hundredth of all, wherever "
    "these went, and no mean of the p99s of the names, which may have more or fewer messages than "
    "before"
)
"""What is said where the whole contradicts all of its parts."""


@dataclass(frozen=True)
class Gain:
    """The waits of the messages of one name in the first scenario and in another one."""

    name: str
    first: Waits
    then: Waits
    kind: str = ""
    """Of the name; "" for all messages."""

    @property
    def more(self) -> float:
        """Seconds that its p99 is longer; below 0: shorter."""
        return self.then.p99 - self.first.p99


def against_the_first(shown: Shown) -> list[Figure]:
    """A chart for each other scenario that is drawn; all have one scale."""
    first = shown.all[0]
    compared = [
        _Compared.of(first, entry)
        for entry in shown.drawn
        if entry.scenario is not first and entry.scenario.waits.messages and first.waits.messages
    ]
    reach = [gain.more for comparison in compared for gain in comparison.drawn]
    return [_card(comparison, reach) for comparison in compared]


def gains(first: ScenarioResult, then: ScenarioResult) -> list[Gain]:
    """All names that both scenarios have, of kinds of which there are several."""
    shifts = []
    for kind in KINDS:
        before, after = waits_of(first, kind), waits_of(then, kind)
        if len(before.keys() | after.keys()) > 1:
            shifts += [
                Gain(called(kind, name), waits, after[name], kind)
                for name, waits in before.items()
                if name in after
            ]
    return shifts


@dataclass(frozen=True)
class _Compared:
    """A scenario against the first: all its messages, and names of them."""

    scenario: Drawn
    whole: Gain
    names: Sequence[Gain]
    """Those that differ most come first."""

    @classmethod
    def of(cls, first: ScenarioResult, then: Drawn) -> _Compared:
        whole = Gain(ALL, first.waits, then.scenario.waits)
        names = sorted(gains(first, then.scenario), key=lambda gain: -abs(gain.more))
        return cls(then, whole, names)

    @property
    def parts(self) -> list[Gain]:
        """The names that are drawn."""
        return sorted(self.names[:MAX_BARS], key=lambda gain: gain.more)

    @property
    def drawn(self) -> list[Gain]:
        return [self.whole, *self.parts]

    @property
    def contradicts(self) -> bool:
        """Whether all names that are drawn lie to one side, and all messages do not."""
        shorter, longer = (any(side * gain.more > 0 for gain in self.parts) for side in (-1, 1))
        return (shorter and not longer and self.whole.more >= 0) or (
            longer and not shorter and self.whole.more <= 0
        )


def _card(compared: _Compared, reach: Sequence[float]) -> Figure:
    listing = table(
        ["", "p99 before", "p99", "difference", "in per cent", "mean before", "mean", "messages"],
        [_row(gain) for gain in [compared.whole, *compared.names[:MAX_ROWS]]],
        total=1 + len(compared.names),
        left_in=LEFT_IN,
    )
    listed = "; ".join(f"{gain.name} {_signed(gain.more)}" for gain in compared.drawn)
    about = _about(compared.names, len(compared.parts))
    return Figure(
        compared.scenario.name,
        f"{about}. {DO_NOT_FOLLOW}" if compared.contradicts else about,
        differences(_bars(compared.drawn), reach),
        f"p99 waits in {compared.scenario.quoted}, differences as bars: {listed}.",
        numbers=listing,
    )


def _about(found: Sequence[Gain], drawn: int) -> str:
    if not found:
        return ""
    shorter = sum(gain.more < 0 for gain in found)
    longer = sum(gain.more > 0 for gain in found)
    numbers = Counter(gain.kind for gain in found)
    whom = " and ".join(
        f"{n:,} {kind if n == 1 else PLURALS[kind]}" for kind in KINDS if (n := numbers[kind])
    )
    text = (
        f"{whom}: {shorter:,} shorter, {longer:,} longer, "
        f"{len(found) - shorter - longer:,} the same"
    )
    return text if drawn == len(found) else f"{text}; the {drawn} that differ most are drawn"


def _bars(gains: Sequence[Gain]) -> list[Bar]:
    names = ShortNames(with_cluster=False)
    return [Bar(names("", None, gain.name), gain.more, _signed(gain.more)) for gain in gains]


def _signed(seconds: float) -> str:
    """A difference of waits.

    >>> _signed(-1.5), _signed(0.25), _signed(0.0)
    ('-1.5 s', '+250 ms', '±0')
    """
    if not seconds:
        return "±0"
    return ("+" if seconds > 0 else "-") + length(abs(seconds))


def _row(gain: Gain) -> list[str]:
    first, then = gain.first, gain.then
    return [
        visible(gain.name, LONGEST_NAME),
        length(first.p99),
        length(then.p99),
        _signed(gain.more),
        f"{gain.more / first.p99:+.1%}" if first.p99 else "",
        length(first.mean),
        length(then.mean),
        f"{then.messages:,}",
    ]
