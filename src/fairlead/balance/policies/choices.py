"""How each choice rule follows the destinations of a composed policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, cast

from msgspec import UNSET, Meta

from fairlead.balance.objects import Capacity, Weight
from fairlead.balance.own import CHOICES as OWN_CHOICES
from fairlead.balance.own import Attributes, OwnChoice, load
from fairlead.balance.policies.slow_start import Returning, SlowStarting
from fairlead.balance.rules import least_served, ready_ring
from fairlead.balance.rules.fewest_pending import FewestPending
from fairlead.balance.rules.first_by_name import Everyone, FirstByName
from fairlead.balance.rules.least_served import LeastServed
from fairlead.balance.rules.paced import Paced
from fairlead.balance.rules.ready_ring import ReadyRing
from fairlead.balance.rules.rendezvous import Rendezvous
from fairlead.balance.rules.rule import Rule

WEIGHT: Final[Attributes] = {"weight": (Weight, 1)}
PRIORITY: Final[Attributes] = {"priority": (Annotated[int, Meta(ge=1, le=16)], 8)}
CAPACITY: Final[Attributes] = {"capacity": (Capacity, 0)}
NOMINAL: Final = 1_000
"""A speed of 1, in thousandths."""


class NoOptions(Returning, frozen=True, kw_only=True):
    """There are none."""


class Newcomer(SlowStarting, frozen=True, kw_only=True):
    """`level`: no burst; `catch-up`: a newcomer gets everything until its ratio has caught up."""

    newcomer: Literal["catch-up", "level"] = "level"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slow_start is not UNSET and self.newcomer == "catch-up":
            raise ValueError(
                f'slow_start: found {self.slow_start}, with newcomer = "catch-up" one that comes '
                'gets everything at first; allowed: with newcomer = "level"'
            )


class Keyed(Returning, frozen=True, kw_only=True):
    """`key`: the attribute of a message whose value is its key."""

    key: Literal["group", "producer", "queue", "queue_manager", "server", "subject", "type"] = (
        "group"
    )


class News(NamedTuple):
    """What has become of one destination."""

    before: Any
    after: Any
    passed: bool
    """Whether it got through the eliminations before, if it were alone."""
    passes: bool
    """Whether it does now."""
    moved: bool
    """Whether it is now compared with others in the eliminations (of its priority)."""
    peers: Callable[[], list[int]]
    """Who else gets through them, and would be chosen among together with it."""
    options: Any


class Choice(ABC):
    """A choice rule over destinations, and what it reads of them."""

    name: ClassVar[str]
    about: ClassVar[str]
    attributes: ClassVar[Attributes] = {}
    """What it reads of a destination."""
    heeds: ClassVar[tuple[str, ...]] = ()
    """What it looks at, too, where an elimination reads it of a destination."""
    options: ClassVar[type[Returning]] = NoOptions
    by_name: ClassVar[bool] = False
    """Whether its members are in name order; else they are in the order of the file."""
    counts: ClassVar[bool] = False
    """Whether it keeps counts that a reset sets to 0."""
    timed: ClassVar[bool] = False
    """Whether completions decide, whatever the file says."""
    divides: ClassVar[bool] = False
    """Whether it divides by the weight, which then must not be 0."""
    by_priority: ClassVar[bool] = False
    """Whether it takes the best priority itself, and a worse one while nobody there is ready."""
    waits: ClassVar[bool] = False
    """Replay: whether a message for which nobody is ready waits until somebody is."""
    to_all: ClassVar[bool] = False
    """Whether all destinations that are left get the message."""
    affine: ClassVar[bool] = True
    """Whether a group can stay with a destination, past the rule."""

    @abstractmethod
    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        """The rule at its beginning; `passing`: who gets through the eliminations."""

    @abstractmethod
    def changed(self, rule: Rule, i: int, news: News) -> None:
        """Destination i has changed, and may pass now or not."""

    def paced(  # noqa: B027 - most do not weigh
        self, rule: Rule, i: int, pace: int, peers: Callable[[], list[int]]
    ) -> None:
        """Destination i counts by so many per mille of its weight; `peers` as in News."""

    def weights(self, listed: Sequence[Any], passing: Sequence[bool]) -> dict[str, int]:
        """The weights of those that get through; empty where weights do not decide."""
        return {}


class ByLeastServed(Choice):
    """Shares by weight."""

    name = "least-served"
    about = "the lowest sent/weight; ties to the heavier, then by name"
    attributes = WEIGHT
    options = Newcomer
    by_name = True
    counts = True
    divides = True

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        weights = [destination.weight for destination in listed]
        slowly = isinstance(options, SlowStarting) and options.slow_start is not UNSET
        return Paced(weights) if slowly else LeastServed(weights)

    def changed(self, rule: Rule, i: int, news: News) -> None:
        cast(LeastServed, rule).reweigh(i, news.after.weight)
        if news.after.present and not news.before.present:
            rule.state.count[i] = 0
        arrived = not news.passed or news.moved or news.after.weight != news.before.weight
        if news.passes and arrived and news.options.newcomer == "level":
            least_served.level(rule.state, i, news.peers())

    def paced(self, rule: Rule, i: int, pace: int, peers: Callable[[], list[int]]) -> None:
        cast(Paced, rule).set_pace(i, pace, peers())

    def weights(self, listed: Sequence[Any], passing: Sequence[bool]) -> dict[str, int]:
        return {
            destination.name: destination.weight
            for destination, ok in zip(listed, passing, strict=True)
            if ok
        }


class ByReadyRing(Choice):
    """Priorities with room to spare."""

    name = "ready-ring"
    about = (
        "the best priority that has a ready destination; there the one that has been ready "
        "longest, which then goes to the tail"
    )
    attributes: ClassVar[Attributes] = {**PRIORITY, **CAPACITY}
    by_priority = True
    waits = True

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        rule = ReadyRing(
            [destination.priority for destination in listed],
            [destination.capacity for destination in listed],
            [destination.speed_in_thousandths for destination in listed],
        )
        return _connected(rule, passing)

    def changed(self, rule: Rule, i: int, news: News) -> None:
        rule.state.ring[i] = news.after.priority
        rule.state.speed[i] = news.after.speed_in_thousandths
        ready_ring.limit(rule.state, i, news.after.capacity)
        _connect(rule, i, passes=news.passes)


class Circular(Choice):
    """In turn: one ring of destinations that are always ready."""

    name = "circular"
    about = "in turn; one that joins or comes back is served last in the running round"

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        n = len(listed)
        return _connected(ReadyRing([1] * n, [0] * n, [NOMINAL] * n), passing)

    def changed(self, rule: Rule, i: int, news: News) -> None:
        _connect(rule, i, passes=news.passes)


class ByFirstByName(Choice):
    """One works, the others stand by."""

    name = "first-by-name"
    about = "the first by name; the others stand by"
    by_name = True

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        return FirstByName()

    def changed(self, rule: Rule, i: int, news: News) -> None:
        """It looks at nothing but who is left."""


class ToEveryone(Choice):
    """All destinations that are left get the message: nothing is chosen."""

    name = "everyone"
    about = "all destinations that are left get the message"
    by_name = True
    to_all = True
    affine = False

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        return Everyone()

    def changed(self, rule: Rule, i: int, news: News) -> None:
        """It looks at nothing but who is left."""


class ByRendezvous(Choice):
    """The same key goes to the same destination, for as long as it is left."""

    name = "rendezvous"
    about = "the same key, the same destination: the lowest score of key, name and weight"
    attributes = WEIGHT
    options = Keyed
    by_name = True
    divides = True
    affine = False

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        return Rendezvous(
            [destination.name for destination in listed],
            [destination.weight for destination in listed],
        )

    def changed(self, rule: Rule, i: int, news: News) -> None:
        rule.state.weight[i] = news.after.weight

    def weights(self, listed: Sequence[Any], passing: Sequence[bool]) -> dict[str, int]:
        return {
            destination.name: destination.weight
            for destination, ok in zip(listed, passing, strict=True)
            if ok
        }


class ByFewestPending(Choice):
    """By load."""

    name = "fewest-pending"
    about = (
        "the fewest messages not completed yet, for the weight; ties to the heavier, then in turn"
    )
    heeds = ("weight",)
    timed = True
    affine = False

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        return FewestPending(
            [destination.speed_in_thousandths for destination in listed],
            [_strength(destination) for destination in listed],
        )

    def changed(self, rule: Rule, i: int, news: News) -> None:
        rule.state.speed[i] = news.after.speed_in_thousandths
        cast(FewestPending, rule).reweigh(i, _strength(news.after))


def _strength(value: Any) -> int:  # noqa: ANN401 - a destination's table
    """Its weight; 1 where nothing reads weights. Nobody of weight 0 is left to be chosen."""
    return getattr(value, "weight", 1) or 1


class ByOwnRule(Choice):
    """A rule that a package brings."""

    def __init__(self, own: OwnChoice) -> None:
        """Under the name by which the file calls it."""
        self.own = own
        self.name = own.name  # type: ignore[misc]
        self.about = own.about  # type: ignore[misc]
        self.attributes = own.attributes  # type: ignore[misc]

    def rule(self, listed: Sequence[Any], passing: Sequence[bool], options: Returning) -> Rule:
        return self.own.rule(listed)

    def changed(self, rule: Rule, i: int, news: News) -> None:
        for name in set(self.own.attributes) & set(rule.state._fields):
            getattr(rule.state, name)[i] = int(getattr(news.after, name))


def _connected(rule: Rule, passing: Sequence[bool]) -> Rule:
    for i, passes in enumerate(passing):
        if passes:
            ready_ring.connect(rule.state, i)
    return rule


def _connect(rule: Rule, i: int, *, passes: bool) -> None:
    (ready_ring.connect if passes else ready_ring.disconnect)(rule.state, i)


CHOICES: Final[Mapping[str, Choice]] = {
    choice.name: choice
    for choice in (
        ByLeastServed(),
        Circular(),
        ByReadyRing(),
        ByFewestPending(),
        ByFirstByName(),
        ToEveryone(),
        ByRendezvous(),
    )
}


def choice_called(name: str) -> Choice | None:
    """The choice rule of this name, ours or a package's. Raises ConfigError."""
    if name in CHOICES:
        return CHOICES[name]
    choice = load(OWN_CHOICES, name, OwnChoice)
    return None if choice is None else ByOwnRule(choice)
