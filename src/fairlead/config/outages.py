"""Outages: something is down from one time to another, as two changes of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from fairlead.balance.change import FAILED, STATE, Change, ResolvedChange
from fairlead.balance.changes import addressee, resolve
from fairlead.balance.objects import Ref, converted, shown
from fairlead.balance.state import AnyState
from fairlead.balance.times import TIMES, micros
from fairlead.config.scenario_file import SCENARIO, Down, ScenarioFile
from fairlead.errors import ConfigError


class Way(NamedTuple):
    """How something is taken out, and in again by the value that it had."""

    attribute: str
    value: object
    out: tuple[object, ...]
    """Values with which it is out already."""
    fails: bool
    """Whether a failure takes it out, too; otherwise the policy does not notice one."""


WAYS: Final = (
    Way(STATE, "down", ("down",), fails=True),
    # What a channel of IBM MQ is in while the other end cannot be reached.
    Way(STATE, "retrying", ("retrying", "requesting", "paused", "stopped"), fails=False),
    Way("connected", False, (False,), fails=True),
    Way("enabled", False, (False,), fails=False),
    Way("put_enabled", False, (False,), fails=False),
)
"""In the order of preference: the first that an object has."""


@dataclass(frozen=True, slots=True)
class Outage:
    """From when to when what is down, and how."""

    cluster: str
    ref: Ref
    way: Way
    start: int
    """Microseconds."""
    end: int | None
    """None: it is for good."""
    target: str
    failed: bool
    where: str


def outage_changes(
    states: Mapping[str, AnyState],
    downs: Sequence[Down],
    others: Iterable[Change],
    source: ScenarioFile,
    scenario: int,
) -> list[Change]:
    """The changes that these outages are. `others`: all other changes, which must not meddle.

    Raises ConfigError or ChangeError.
    """
    outages = [
        _outage(states, down, source.where(SCENARIO, scenario, "down", k))
        for k, down in enumerate(downs)
    ]
    outages.sort(key=lambda outage: outage.start)
    _apart(outages)
    made = [*_effects(states, others)] if outages else []
    return [change for outage in outages for change in _changes(states, outage, made)]


def _outage(states: Mapping[str, AnyState], down: Down, where: str) -> Outage:
    name, state, ref = addressee(states, Change(down.target, "", where=where))
    way = next((way for way in WAYS if _has(state.objects[ref], way)), None)
    if way is None:
        known = ", ".join(dict.fromkeys(way.attribute for way in WAYS))
        raise ConfigError(
            f"{where}.target: found {ref}, which has nothing to be down by, "
            f"allowed: an object with one of {known}"
        )
    if down.failed and not way.fails:
        raise ConfigError(
            f"{where}.failed: found true, which would be ignored: the policy {state.policy.name} "
            f"notices no failure of {ref}; allowed: without it"
        )
    start = _time(down.from_, f"{where}.from")
    end = None if down.to is UNSET else _time(down.to, f"{where}.to")
    if end is not None and end <= start:
        raise ConfigError(
            f"{where}.to: found {down.to}, allowed: a time after from, which is {down.from_}"
        )
    return Outage(name, ref, way, start, end, down.target, down.failed, where)


def _has(value: Any, way: Way) -> bool:  # noqa: ANN401 - a table of the policy's own
    if way.attribute not in value.__struct_fields__:
        return False
    try:
        return converted(type(value), way.attribute, way.value) == way.value
    except ConfigError:
        return False


def _time(value: object, where: str) -> int:
    time = micros(value)
    if time is None:
        raise ConfigError(f"{where}: found {shown(value)}, allowed: {TIMES}")
    return time


def _apart(outages: Sequence[Outage]) -> None:
    """Refuse outages of one object that overlap."""
    for ref in dict.fromkeys((outage.cluster, outage.ref) for outage in outages):
        series = [outage for outage in outages if (outage.cluster, outage.ref) == ref]
        for one, other in pairwise(series):
            if one.end is None or other.start < one.end:
                raise ConfigError(
                    f"{other.where}: found an outage of {other.ref} that overlaps with another of "
                    "this scenario, allowed: one after the other"
                )


def _effects(
    states: Mapping[str, AnyState], changes: Iterable[Change]
) -> Iterator[tuple[Change, str, ResolvedChange]]:
    """What each change of an object means, by time."""
    for change in sorted(changes, key=lambda change: change.micros):
        for _, name, resolved in resolve(states, [change]):
            yield from ((change, name, effect) for effect in resolved)


def _changes(
    states: Mapping[str, AnyState],
    outage: Outage,
    others: Iterable[tuple[Change, str, ResolvedChange]],
) -> list[Change]:
    """Out at the beginning; at the end as it was before."""
    target, way = outage.target, outage.way
    before: object = getattr(states[outage.cluster].objects[outage.ref], way.attribute)
    since = "in its cluster file"
    for change, cluster, resolved in others:
        value = _value(way, resolved)
        if (cluster, resolved.ref) != (outage.cluster, outage.ref) or value is UNSET:
            continue
        if change.micros < outage.start:
            before, since = value, f"since {change.where}"
        elif outage.end is None or change.micros < outage.end:
            raise ConfigError(
                f"{outage.where}: found another change of {outage.ref} {way.attribute} before its "
                f"end ({change.where}), allowed: none; it would end the outage, or be lost"
            )
    if before in way.out:
        raise ConfigError(
            f"{outage.where}.from: found a time at which {outage.ref} is out already "
            f"({way.attribute} is {shown(before)} {since}), allowed: one at which it is not"
        )
    attribute, value = (STATE, FAILED) if outage.failed else (way.attribute, way.value)
    out = Change.at_micros(target, attribute, value, outage.start, outage.where)
    if outage.end is None:
        return [out]
    back = Change.at_micros(target, way.attribute, before, outage.end, outage.where)
    return [out, back]


def _value(way: Way, change: ResolvedChange) -> object | UnsetType:
    """What a change makes of the attribute by which something is out; UNSET: it leaves it."""
    if change.attribute == STATE and change.value == FAILED:
        return way.value if way.fails else UNSET
    return change.value if change.attribute == way.attribute else UNSET
