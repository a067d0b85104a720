"""Passive health: who fails too often gets nothing for a while, and is then tried with care.

A destination is *well*; or *down* until its cool-down is over, after which one message, or a probe,
says whether it is well; or *on trial*, where nothing waits for it: it is up again, and the first
outcome decides. Pure: the time comes with each outcome, in microseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Annotated, Final, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.change import STATE, Change
from fairlead.balance.objects import FileTable, Name
from fairlead.balance.times import MICROS, seconds

DOWN: Final = "down"
UP: Final = "up"
HUNDREDTHS: Final = 100
MOST_SECONDS: Final = 86_400


class HealthOptions(FileTable, frozen=True, kw_only=True):
    """A `[health]` of a cluster file."""

    failures: Annotated[int, Meta(ge=1, le=1_000)] = 3
    """In a row, with none that succeeded between them."""
    within: Decimal = Decimal(30)
    """Seconds from the first to the last of these."""
    cool_down: Decimal = Decimal(10)
    """Seconds."""
    factor: Decimal = Decimal(2)
    """By which each probe that fails multiplies the cool-down."""
    limit: Decimal = Decimal(300)
    """Seconds of a cool-down, at most."""
    at_most: Decimal = Decimal("0.5")
    """The part of the destinations that may be down by this at one time."""
    probe: Name | UnsetType = UNSET
    """A path that says whether the service is well; without it a message does."""

    def __post_init__(self) -> None:
        for key in ("within", "cool_down", "limit"):
            value: Decimal = getattr(self, key)
            if not (value.is_finite() and Decimal("0.001") <= value <= MOST_SECONDS):
                raise ValueError(
                    f"{key}: found {value}, allowed: seconds, from 0.001 to {MOST_SECONDS}"
                )
        if self.limit < self.cool_down:
            raise ValueError(
                f"limit: found {self.limit}, allowed: at least the cool_down, {self.cool_down}"
            )
        for key, least, most in (("factor", 1, 100), ("at_most", Decimal("0.01"), 1)):
            number: Decimal = getattr(self, key)
            if not (number.is_finite() and least <= number <= most and number == round(number, 2)):
                raise ValueError(
                    f"{key}: found {number}, allowed: a number from {least} to {most} with at "
                    "most 2 decimals"
                )
        if self.probe is not UNSET and not (
            self.probe.startswith("/")
            and self.probe.isascii()
            and self.probe.isprintable()
            and " " not in self.probe
        ):
            raise ValueError(f"probe: found {self.probe!r}, allowed: a path that begins with /")

    def longer(self, cool_down: int) -> int:
        """The cool-down after a probe that failed; both in microseconds."""
        factor, limit = int(self.factor * HUNDREDTHS), int(self.limit * MICROS)
        return min(cool_down * factor // HUNDREDTHS, limit)

    def may_be_down(self, destinations: int) -> int:
        """How many of so many may be down by this at one time."""
        return destinations * int(self.at_most * HUNDREDTHS) // HUNDREDTHS


class Unwell(NamedTuple):
    """A destination that has failed too often, and is not known to be well since."""

    until: int
    """When it may be tried, in microseconds."""
    cool_down: int
    """Microseconds."""
    on_trial: bool = False
    """Whether it is up again, and its next outcome decides."""

    def is_tried(self, now: int) -> bool:
        """Whether an outcome says something: of before it proves nothing."""
        return self.on_trial or now >= self.until


class HealthChange(NamedTuple):
    """What becomes of a destination."""

    destination: str
    state: str | None
    """up | down; None: it stays down."""
    reason: str
    unwell: Unwell | None
    """How it stands from now on; None: it is well."""

    @property
    def changes(self) -> list[Change]:
        """The same as changes of its cluster."""
        return [] if self.state is None else [Change(self.destination, STATE, self.state)]


Standings = Mapping[str, Unwell]
"""Who is not well, by name."""


class FailuresInARow:
    """The failures of each destination since it last succeeded."""

    def __init__(self, options: HealthOptions) -> None:
        """None has failed yet."""
        self._most = options.failures
        self._within = int(options.within * MICROS)
        self._times: dict[str, list[int]] = {}

    def add(self, destination: str, now: int) -> int | None:
        """One more; the microseconds in which there were too many, None: there were not."""
        times = self._times.setdefault(destination, [])
        times.append(now)
        del times[: -self._most]
        if len(times) < self._most or now - times[0] > self._within:
            return None
        return now - times[0]

    def forget(self, destination: str) -> None:
        """It has succeeded, or is down."""
        self._times.pop(destination, None)


def fall(
    options: HealthOptions,
    standings: Standings,
    there: Collection[str],
    destination: str,
    now: int,
    reason: str,
) -> HealthChange | None:
    """It has failed too often. None: it is unwell already, or too many are down.

    `there`: the destinations of the cluster that are present.
    """
    if destination in standings or not _may_fall(options, standings, there):
        return None
    cool_down = int(options.cool_down * MICROS)
    return HealthChange(destination, DOWN, reason, Unwell(now + cool_down, cool_down))


def fail_again(
    options: HealthOptions,
    standings: Standings,
    there: Collection[str],
    destination: str,
    now: int,
    reason: str,
) -> HealthChange | None:
    """What it was tried with has failed. None: that says nothing, or too many are down."""
    unwell = standings.get(destination)
    if unwell is None or not unwell.is_tried(now):
        return None
    if unwell.on_trial and not _may_fall(options, standings, there):
        return None
    cool_down = options.longer(unwell.cool_down)
    state = DOWN if unwell.on_trial else None
    return HealthChange(destination, state, reason, Unwell(now + cool_down, cool_down))


def recover(standings: Standings, destination: str, now: int, reason: str) -> HealthChange | None:
    """What it was tried with has succeeded. None: that says nothing."""
    unwell = standings.get(destination)
    if unwell is None or not unwell.is_tried(now):
        return None
    return HealthChange(destination, None if unwell.on_trial else UP, reason, None)


def try_out(standings: Standings, destination: str, now: int) -> HealthChange | None:
    """Its cool-down is over, and nothing waits to try it with. None: it is not over."""
    unwell = standings.get(destination)
    if unwell is None or unwell.on_trial or now < unwell.until:
        return None
    reason = f"its cool-down of {seconds(unwell.cool_down):g} s is over: it is on trial"
    return HealthChange(destination, UP, reason, unwell._replace(on_trial=True))


def _may_fall(options: HealthOptions, standings: Standings, there: Collection[str]) -> bool:
    down = sum(not unwell.on_trial for name, unwell in standings.items() if name in there)
    return down < options.may_be_down(len(there))


def too_many(failures: int, micros: int, last: str) -> str:
    """Why a destination goes down."""
    return f"{failures} failures in a row within {seconds(micros):g} s, the last: {last}"


class HealthRecord:
    """The health of one cluster's destinations, where one process hears of all outcomes."""

    def __init__(self, options: HealthOptions) -> None:
        """All are well."""
        self.options = options
        self.standings: dict[str, Unwell] = {}
        self._failures = FailuresInARow(options)

    @property
    def due(self) -> int | None:
        """When the next of those that are down may be tried; None: none is down."""
        moments = [unwell.until for unwell in self.standings.values() if not unwell.on_trial]
        return min(moments, default=None)

    def failed(
        self, destination: str, there: Collection[str], now: int, reason: str
    ) -> HealthChange | None:
        """Something has failed at a destination; what follows from it."""
        arguments = self.options, self.standings, there, destination, now
        if destination in self.standings:
            return self._made(fail_again(*arguments, f"it was tried, and failed: {reason}"))
        micros = self._failures.add(destination, now)
        if micros is None:
            return None
        self._failures.forget(destination)  # whether it goes down or not: they are counted anew
        return self._made(fall(*arguments, too_many(self.options.failures, micros, reason)))

    def succeeded(self, destination: str, now: int) -> HealthChange | None:
        """Something has succeeded at a destination; what follows from it."""
        self._failures.forget(destination)
        return self._made(recover(self.standings, destination, now, "it was tried, and is well"))

    def try_due(self, now: int) -> list[HealthChange]:
        """Let those be tried whose cool-down is over, where nothing waits to try them with."""
        changes = [try_out(self.standings, name, now) for name in list(self.standings)]
        return [self._made(change) or change for change in changes if change is not None]

    def forget(self, destination: str) -> None:
        """Somebody else has said how it is."""
        self.standings.pop(destination, None)
        self._failures.forget(destination)

    def _made(self, change: HealthChange | None) -> HealthChange | None:
        if change is None:
            return None
        self._failures.forget(change.destination)
        if change.unwell is None:
            self.standings.pop(change.destination, None)
        else:
            self.standings[change.destination] = change.unwell
        return change
