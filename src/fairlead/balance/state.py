"""The state of a cluster: its objects, its choice rule and its version at one moment.

It is pure and not thread-safe; the live balancer, the compiled engine and Spark all drive this
same object. What is fixed of it is its `policy`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from fairlead.balance.change import FAILED, STATE, Change, ResolvedChange
from fairlead.balance.elimination import Drop, Eligible, Elimination, Preselected, Step
from fairlead.balance.failures import FailureModel
from fairlead.balance.follow_ups import FollowUps
from fairlead.balance.message import (
    NO_DESTINATION,
    ON_GROUP,
    ON_OPEN,
    ROUTED,
    AttributeValues,
    Message,
    text,
    texts,
)
from fairlead.balance.objects import Object, Ref
from fairlead.balance.policy import ClusterTables, Policy
from fairlead.balance.rules.rule import Rule
from fairlead.balance.words.cluster_state import Description
from fairlead.errors import ConfigError

T = TypeVar("T", bound=ClusterTables)
K = TypeVar("K")
C = TypeVar("C")


class ClusterState(ABC, Generic[T, K, C]):
    """One cluster under its policy at one moment."""

    policy: Policy
    binds: bool = False
    """Whether messages can be bound to an earlier message's destination."""
    forwards: bool = False
    """Whether its destinations are ways to other stores, in whose queues messages wait for them."""
    rebinds: bool = False
    """Whether that ends when the destination drops out."""
    joining: tuple[str, ...] = ()
    """The kind of object that may join though no file lists it, if one may; its owner's key."""
    keyed_by: str = ""
    """The attribute whose value is a message's key, if the rule chooses by one."""
    objects: dict[Ref, Any]
    members: tuple[str, ...]
    """Destination names by the rule's index."""
    subjects: Sequence[str] = ()
    """Where each destination belongs to one subject: all of them. A name can be in several."""
    rule: Rule
    version: int
    follow_ups: FollowUps
    """What still follows of itself from changes that were made."""
    failed_now: dict[Ref, str]
    """Who has failed in the latest step; how, where there are several ways."""

    def __init__(self, policy: Policy, tables: T) -> None:
        """Check the tables against each other and start with nobody served."""
        self.policy = policy
        self.objects = {}
        self.named: dict[str, list[Ref]] = {}
        """By their name alone; several objects can have one."""
        for ref, entry in self.listing(tables):
            if ref in self.objects:
                nth = sum(1 for earlier_ref in self.objects if earlier_ref.kind == ref.kind)
                raise ConfigError(
                    f"{ref.kind} {ref.name!r}: found twice, allowed: once", [ref.kind, nth]
                )
            self.objects[ref] = entry
            self.named.setdefault(ref.name, []).append(ref)
        self.version = 0
        self.now = 0
        """When the latest step was made, in microseconds."""
        self.follow_ups = FollowUps()
        self.failed_now = {}
        self._eligible: dict[AttributeValues, Eligible] = {}

    # the cluster

    @abstractmethod
    def listing(self, tables: T) -> Iterable[tuple[Ref, Object]]:
        """The file's objects, in the order of the file."""

    @abstractmethod
    def object_of(self, member: int) -> Ref:
        """The object that a member stands for."""

    def queue_owner(self, member: int) -> Ref:
        """The object whose readers work on what this member gets, at its speed."""
        return self.object_of(member)

    def destinations(self) -> Sequence[int]:
        """One member for each destination, in the order in which they are listed."""
        return range(len(self.members))

    def address(self, member: int) -> str | None:
        """Where a destination is reached, if the policy's objects say."""
        return None

    def queue(self, member: int) -> str | None:
        """The queue of a store for what is published to it; None: the one of its name."""
        return None

    def queue_named_by(self, member: int, values: AttributeValues) -> str | None:
        """The queue of a store, where the message itself names it; None: it does not."""
        return None

    def subject(self, member: int) -> str | None:
        """The subject that a destination belongs to, if it belongs to one."""
        return None

    # messages: what of them decides

    def relevant_attributes(self) -> set[str]:
        """The attributes of a message that can make a difference."""
        bound_by = ("bind", "producer", "group") if self.binds else ()
        return {*self.policy.reads, *bound_by, *([self.keyed_by] if self.keyed_by else [])}

    def values_of(self, message: Message) -> AttributeValues:
        """The attributes that this policy reads of a message."""
        return self.normal(texts(message, self.policy.reads))

    def normal(self, values: AttributeValues) -> AttributeValues:
        """The attributes with what the policy fills in."""
        return values

    @abstractmethod
    def key(self, values: AttributeValues) -> K:
        """What the policy reads in a message."""

    def stream(self, values: AttributeValues) -> AttributeValues:
        """What names the message's stream, apart from the cluster."""
        return tuple(values[self.policy.reads.index(name)] for name in self.policy.streams)

    def partition(self, values: AttributeValues) -> AttributeValues:
        """Messages with the same value of this share the rule's state."""
        return tuple(values[self.policy.reads.index(name)] for name in self.policy.partition_by)

    def init_partitions(self, partitions: Sequence[AttributeValues]) -> None:
        """Replay: keep a state of the rule for each of these. Only at the beginning."""

    # eliminations

    @abstractmethod
    def candidates(self, key: K) -> tuple[list[C], str]:
        """All candidates for such a message, and the outcome if there are none."""

    def eliminations(self) -> Sequence[Elimination[K, C]]:
        """The steps in order, as they are now."""
        return self.policy.eliminations

    @abstractmethod
    def member(self, candidate: C) -> int:
        """The candidate's index in the rule."""

    def preselect(self, key: K, step: str, left: Sequence[C]) -> Preselected | None:
        """Whom to choose at once after this elimination, if anybody."""
        return None

    def recipients(self, key: K, left: Sequence[C]) -> tuple[int, ...]:
        """Who gets the message as well, whoever is chosen of those that are left."""
        return ()

    def outcome_of(self, member: int) -> str:
        """The outcome of a message for which this member is chosen."""
        return ROUTED

    def outcome_after(self, step: str) -> str:
        """The outcome of a message that loses its last candidate in this elimination."""
        return NO_DESTINATION

    def member_called(self, destination: str, values: AttributeValues) -> int:
        """The member that a message of this class reached there. Raises ValueError."""
        return self.members.index(destination)

    def eligible(self, values: AttributeValues) -> Eligible:
        """The outcome of the eliminations for this class of messages, cached by version."""
        eligible = self._eligible.get(values)
        if eligible is None:
            eligible = self._eligible[values] = self.eliminate(values)[0]
        return eligible

    def eliminate(self, values: AttributeValues) -> tuple[Eligible, list[Step]]:
        """Go through the steps; returns also whom each one dropped."""
        key, describe = self.key(values), self.describe
        left, outcome = self.candidates(key)
        steps = [Step("candidates", (), len(left))]
        if not left:
            return Eligible(outcome), steps
        for elimination in self.eliminations():
            rest = elimination.keep(key, left)
            if len(rest) < len(left):
                gone = {id(c) for c in left} - {id(c) for c in rest}
                dropped = tuple(
                    Drop(describe.label(c), describe.because(elimination, key, c, rest))
                    for c in left
                    if id(c) in gone
                )
                steps.append(Step(elimination.name, dropped, len(rest)))
            left = rest
            if not left:
                return Eligible(self.outcome_after(elimination.name)), steps
            preselected = self.preselect(key, elimination.name, left)
            if preselected is not None:
                recipients = self.recipients(key, left)
                others = [
                    c for c in left if self.member(c) not in (preselected.member, *recipients)
                ]
                dropped = tuple(Drop(describe.label(c), preselected.because) for c in others)
                steps.append(Step(preselected.step, dropped, len(left) - len(others)))
                return Eligible(
                    ROUTED, (preselected.member,), preselected.member, recipients
                ), steps
        members = tuple(sorted({self.member(c) for c in left}))
        return Eligible(ROUTED, members, recipients=self.recipients(key, left)), steps

    # bindings

    def home(self, values: AttributeValues) -> AttributeValues | None:
        """Inside what such messages are bound to each other; None: to nothing, whatever they say.

        All engines ask this.
        """
        return ()

    def binding(self, values: AttributeValues, message: Message) -> AttributeValues | None:
        """What the message's destination is bound to, if to anything."""
        home = self.home(values)
        if home is None:
            return None
        kind = text(message, "bind") or self.bind_default(self.key(values))
        if kind == ON_OPEN:
            return (kind, *home, text(message, "producer"))
        group = text(message, "group")
        if kind == ON_GROUP and group:
            return (kind, *home, group)
        return None

    def bind_default(self, key: K) -> str:
        """How messages are bound that do not say it themselves."""
        return ""

    def holding(self, values: AttributeValues) -> frozenset[int]:
        """The members with which bound messages of this class may stay; asked if it rebinds."""
        return frozenset(range(len(self.members)))

    def keeps(self, member: int, values: AttributeValues) -> bool:
        """Whether a member still gets messages of this class that are bound to it."""
        return not self.rebinds or member in self.holding(values)

    # the rule

    def timed(self, changes: Iterable[ResolvedChange]) -> bool:
        """Whether completions decide who is busy, now or after any of these changes."""
        return False

    def weights(self) -> dict[str, int]:
        """Weights, as the file has them, of the destinations that can be chosen now.

        Empty where weights do not decide.
        """
        return {}

    def in_effect(self) -> dict[str, int]:
        """The weights as they count now, beside the others'."""
        return self.weights()

    def expected(self) -> dict[str, float]:
        """By destination: the part of the messages that its weight gives it.

        Empty where weights do not decide, or where messages follow their group past them.
        """
        weights = {} if self.rebinds else self.in_effect()
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()} if total else {}

    # changes: what a policy does at each of them

    def translated(self, change: Change) -> Change:
        """A change in the words of the policy's own objects."""
        return change

    def refusal(self, attribute: str) -> str | None:
        """Why this attribute cannot be changed, if it cannot."""
        return None

    def held_back(self, change: ResolvedChange) -> bool:
        """Whether this change of an object does not hold yet; it then follows later."""
        return False

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        """One attribute of one object has changed: let the rule know."""

    def failed(self, ref: Ref) -> None:
        """An object has failed and lost what it held."""

    def reset(self) -> None:
        """Count everybody as not served."""

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        """All changes of one time have been made; `before`: what was changed, as it was."""

    @property
    def follows_up(self) -> bool:
        """Whether changes can lead to others, at later times."""
        return False

    def follow_up(self, change: ResolvedChange, before: dict[Ref, Any]) -> None:
        """Make what has become due."""
        self._make(change, before)

    def apply(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """Make what is due, then all changes of this time, in order: all as one step.

        `time`: in microseconds; what follows later is counted from it. Whoever calls this makes a
        step at each time that `follow_ups.next` gives, too.
        """
        self.now = time
        self.failed_now = {}
        before: dict[Ref, Any] = {}
        for ref, later in self.follow_ups.take(time):
            self.follow_up(ResolvedChange(ref, later.attribute, later.value), before)
        for change in changes:
            if not self.held_back(change):
                self._make(change, before)
        self.stepped(before)
        self.version += 1
        self._eligible.clear()

    def _make(self, change: ResolvedChange, before: dict[Ref, Any]) -> None:
        ref, attribute, value = change
        if ref is None:
            self.reset()
        elif value == FAILED and attribute == STATE:
            self.failed_now[ref] = ""
            self.failed(ref)
        elif attribute in self.objects[ref].__struct_fields__:
            old = self.objects[ref]
            before.setdefault(ref, old)
            new = msgspec.structs.replace(old, **{attribute: value})
            if new != old:
                self.objects[ref] = new
                self.changed(ref, old, new)
        # else it is up again, under a policy that never asked

    # failures, words

    @property
    def failures(self) -> FailureModel[Self]:
        """How it behaves in a replay when somebody fails."""
        return self.policy.failures(self)

    @property
    def describe(self) -> Description[Self]:
        """The cluster as it is now, in words."""
        return self.policy.description(self)

    # other states

    def frozen(self) -> Self:
        """The same cluster at this moment, untouched by what happens later."""
        other = copy.copy(self)
        other.objects = dict(self.objects)
        other.rule = self.rule.copy()
        other.follow_ups = self.follow_ups.copy()
        other._eligible = {}  # noqa: SLF001 - it is one of us
        return other

    def dump(self) -> dict[str, Any]:
        """Version, attributes and rule as plain data."""
        return {
            "version": self.version,
            "objects": [[list(ref), msgspec.to_builtins(o)] for ref, o in self.objects.items()],
            "rule": self.rule.dump(),
            "pending": self.follow_ups.dump(),
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave for a cluster with the same objects."""
        refs = [Ref(*ref) for ref, _ in plain["objects"]]
        if refs != list(self.objects):
            raise ConfigError("snapshot: made for a cluster with other objects")
        for ref, (_, attributes) in zip(refs, plain["objects"], strict=True):
            self.objects[ref] = msgspec.convert(attributes, type(self.objects[ref]), strict=False)
        self.rule.load(plain["rule"])
        self.follow_ups.load(plain["pending"])
        self.version = plain["version"]
        self._eligible.clear()


AnyState: TypeAlias = ClusterState[Any, Any, Any]


def start(policy: Policy, tables: ClusterTables) -> AnyState:
    """The state of a cluster at its beginning: nothing changed, nobody served."""
    state: AnyState = policy.state(policy, tables)
    return state
