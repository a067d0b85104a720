"""Space: what may vary of a cluster, and the clusters that this makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from math import prod
from typing import Any, Final

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import hint, listed
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.destinations import KIND
from fairlead.errors import ConfigError, UserError

POLICY: Final = "policy"
READERS, WEIGHT, CAPACITY, SPEED = "readers", "weight", "capacity", "speed"
EACH: Final = "each "
WRITTEN: Final = re.compile(
    r"\s*(?P<attribute>\w+)\s+of\s+(?P<each>each\s+)?(?P<pattern>\S+)(?:\s+(?P<values>\S.*))?\s*"
)
OF_POLICY: Final = re.compile(r"\s*policy(?:\s+(?P<values>\S.*))?\s*")
STRETCH: Final = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\s+step\s+(\d+))?")
EXAMPLE: Final = "'weight of h100-* 1..16', 'readers of each *' or 'policy'"
USUAL: Final[Mapping[str, Sequence[int]]] = {
    WEIGHT: (1, 2, 3, 4, 6, 8, 12, 16),
    CAPACITY: (0, 1, 2, 4, 8, 16, 32),
    "priority": (1, 2, 3, 4),
}
"""What an attribute takes where nobody says it."""
MOST_VALUES: Final = 10_000
LOOKED: Final = 20
"""So many values of a knob are looked at, whether they make another cluster."""
CHOSEN: Final = ("round-robin", "weighted", "fewest-pending", "fewest-pending by strength")
LIMITED: Final = "nanomsg, as many as readers"
"""The policy that gives a destination no more than it works on: messages wait for whoever is free,
as in one line for all."""
POLICIES_TRIED: Final = (*CHOSEN, LIMITED)
BY_STRENGTH: Final = " by strength"


@dataclass(frozen=True)
class Knob:
    """What is varied together, and the values that it takes."""

    text: str
    attribute: str
    names: frozenset[str]
    """The destinations whose attribute it is; nobody's where it is the policy."""
    values: tuple[object, ...]

    @property
    def label(self) -> str:
        """What it is, without its values."""
        return self.attribute if self.attribute == POLICY else f"{self.attribute} of {self.text}"


Point = tuple[object, ...]
"""A value for each knob; None: as the file says."""


@dataclass(frozen=True)
class Space:
    """A cluster, and all that may vary of it."""

    cluster: Cluster
    knobs: tuple[Knob, ...]

    @property
    def size(self) -> int:
        """How many points there are, without the cluster as it is."""
        return prod(len(knob.values) for knob in self.knobs)

    @property
    def present(self) -> Point:
        """The cluster as its file has it."""
        return (None,) * len(self.knobs)

    def cluster_at(self, point: Point) -> Cluster | None:
        """The cluster of a point; None where the policy refuses it."""
        plain = self.cluster.to_dict()
        chosen = next(
            (v for knob, v in zip(self.knobs, point, strict=True) if knob.attribute == POLICY), None
        )
        for knob, value in zip(self.knobs, point, strict=True):
            for destination in plain[KIND]:
                if value is not None and destination["name"] in knob.names:
                    destination[knob.attribute] = value
        if chosen is not None:
            _under(plain, str(chosen))
        try:
            return Cluster.from_dict(_known(plain), default_name=self.cluster.name)
        except ConfigError:
            return None

    def sets(self, point: Point) -> list[int]:
        """The knobs that a point sets to something else than the file says."""
        return [
            k
            for k, (knob, value) in enumerate(zip(self.knobs, point, strict=True))
            if value is not None and not self._says(knob, value)
        ]

    def _says(self, knob: Knob, value: object) -> bool:
        plain = self.cluster.to_dict()
        if knob.attribute == POLICY:
            return bool(plain[POLICY] == value)
        return all(
            destination.get(knob.attribute) == value
            for destination in plain[KIND]
            if destination["name"] in knob.names
        )

    def said(self, point: Point) -> list[str]:
        """What a point sets, in words; nothing: what the file says."""
        return [f"{self.knobs[k].label} = {point[k]}" for k in self.sets(point)]


def _under(plain: dict[str, Any], policy: str) -> None:
    """Put the cluster under another policy; `readers`, `speed` and weights stay."""
    name = "nanomsg" if policy == LIMITED else policy.removesuffix(BY_STRENGTH)
    plain[POLICY] = name
    plain.pop("options", None)
    for destination in plain[KIND]:
        if policy == LIMITED:
            destination[CAPACITY] = destination[READERS]
        elif policy.endswith(BY_STRENGTH):
            destination[WEIGHT] = max(1, round(destination[READERS] * destination[SPEED] * 1000))
        elif policy == "fewest-pending":
            destination.pop(WEIGHT, None)


def _known(plain: dict[str, Any]) -> dict[str, Any]:
    """The tables without what the policy does not have."""
    kinds = POLICIES[plain[POLICY]].kinds if isinstance(plain[POLICY], str) else {}
    if KIND in kinds:
        fields = kinds[KIND].__struct_fields__
        plain[KIND] = [
            {k: v for k, v in destination.items() if k in fields} for destination in plain[KIND]
        ]
    return plain


def space_of(cluster: Cluster, vary: Sequence[str]) -> Space:
    """What may vary of a cluster, as texts say it. Raises UserError."""
    destinations = [destination["name"] for destination in cluster.to_dict().get(KIND, ())]
    if not destinations:
        raise UserError(
            f"cluster {cluster.name!r}: found the policy {cluster.policy.name}, allowed for "
            "recommend: one of [[destination]] tables"
        )
    if not vary:
        raise UserError(f"--vary: found nothing, allowed: at least one, such as {EXAMPLE}")
    knobs = [knob for text in vary for knob in _knobs(text, cluster, destinations)]
    seen: dict[tuple[str, str], str] = {}
    for knob in knobs:
        for name in knob.names or {""}:
            if (knob.attribute, name) in seen:
                what = f"{knob.attribute} of {name}" if name else POLICY
                raise UserError(f"--vary {knob.text}: found {what} varied twice, allowed: once")
            seen[knob.attribute, name] = knob.text
    space = Space(cluster, tuple(knobs))
    if not any(knob.attribute == POLICY for knob in knobs):
        for k, knob in enumerate(knobs):
            _refuse_idle(space, k, knob)
    return space


def _refuse_idle(space: Space, k: int, knob: Knob) -> None:
    """Refuse what the policy does not have, whatever its value. Raises UserError."""
    if len(knob.values) < 2:
        return
    some = knob.values[:: max(1, len(knob.values) // LOOKED)]
    made = {
        None if cluster is None else str(cluster.to_dict())
        for value in (*some, knob.values[-1])
        for cluster in [
            space.cluster_at((*[None] * k, value, *[None] * (len(space.knobs) - k - 1)))
        ]
    }
    if len(made) == 1 and None not in made:
        raise UserError(
            f"--vary {knob.label}: found an attribute that the policy "
            f"{space.cluster.policy.name} does not look at, allowed: one that makes a difference, "
            "or --vary policy beside it"
        )


def idle_values(space: Space) -> list[str]:
    """Which values change nothing: readers of whom the policy gives no more than a capacity."""
    varied = {(knob.attribute, name) for knob in space.knobs for name in knob.names}
    if any(knob.attribute == POLICY for knob in space.knobs):
        return []
    most = {
        destination["name"]: destination.get(CAPACITY, 0)
        for destination in space.cluster.to_dict()[KIND]
    }
    notes = []
    for knob in (knob for knob in space.knobs if knob.attribute == READERS):
        idle = {most[name] for name in knob.names if (CAPACITY, name) not in varied} - {0}
        if idle and any(int(str(value)) > max(idle) for value in knob.values):
            notes.append(
                f"{knob.label} above {max(idle)} change nothing: capacity is {max(idle)}; vary "
                "that, too"
            )
    return notes


def _knobs(text: str, cluster: Cluster, destinations: Sequence[str]) -> Iterator[Knob]:
    policy = OF_POLICY.fullmatch(text)
    if policy is not None:
        yield Knob(text, POLICY, frozenset(), _policies(text, policy["values"]))
        return
    match = WRITTEN.fullmatch(text)
    if match is None:
        raise UserError(f"--vary: found {text!r}, allowed: such as {EXAMPLE}")
    attribute, pattern = match["attribute"], match["pattern"]
    names = [name for name in destinations if fnmatchcase(name, pattern)]
    if not names:
        close = hint(pattern, destinations)
        raise UserError(
            f"--vary {text}: found no destination {pattern!r}, allowed: {listed(destinations)}, or "
            f"a pattern of some{close}"
        )
    known = _attributes()
    if attribute not in known:
        raise UserError(
            f"--vary {text}: found {attribute!r}, allowed: {listed(known)}{hint(attribute, known)}"
        )
    values = _values(text, attribute, match["values"], cluster, names)
    if match["each"]:
        for name in names:
            yield Knob(name, attribute, frozenset([name]), values)
    else:
        yield Knob(pattern, attribute, frozenset(names), values)


def _attributes() -> list[str]:
    fields = {
        name
        for policy in POLICIES.values()
        if KIND in policy.kinds
        for name in policy.kinds[KIND].__struct_fields__
    }
    return sorted(fields - {"name", "address", "queue", "present", "state", "enabled", "draining"})


def _policies(text: str, values: str | None) -> tuple[object, ...]:
    if values is None:
        return POLICIES_TRIED
    policies = tuple(part.strip() for part in values.split(","))
    for policy in policies:
        if policy not in POLICIES_TRIED:
            raise UserError(
                f"--vary {text}: found {policy!r}, allowed: {', '.join(POLICIES_TRIED)}"
                f"{hint(policy, POLICIES_TRIED)}"
            )
    return policies


def _values(
    text: str, attribute: str, values: str | None, cluster: Cluster, names: Sequence[str]
) -> tuple[object, ...]:
    if values is None:
        if attribute == READERS:
            most = max(
                destination[READERS]
                for destination in cluster.to_dict()[KIND]
                if destination["name"] in names
            )
            return tuple(range(1, 2 * most + 1))
        if attribute not in USUAL:
            raise UserError(f"--vary {text}: found no values, allowed: such as 1..8 or 1,2,4")
        return tuple(USUAL[attribute])
    stretch = STRETCH.fullmatch(values.strip())
    if stretch is not None:
        first, last, step = int(stretch[1]), int(stretch[2]), int(stretch[3] or 1)
        if step < 1 or not 0 <= last - first <= MOST_VALUES * step:
            raise UserError(
                f"--vary {text}: found {values}, allowed: A..B or A..B step S, of at most "
                f"{MOST_VALUES:,} values, the least first"
            )
        return tuple(range(first, last + 1, step))
    return tuple(_number(text, value) for value in values.split(","))


def _number(text: str, word: str) -> object:
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return Decimal(word.strip())
    except ArithmeticError:
        raise UserError(f"--vary {text}: found {word!r}, allowed: numbers") from None
