"""The state of a cluster: its objects, its choice rule and its version at one moment.

It is pure and not thread-safe; the live balancer, the compiled engine and Spark all drive this
same object.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fairlead.balance.change import EVERYBODY, FAILED, RESET, STATE, UP, Change
from fairlead.balance.elimination import Drop, Elimination, Step
from fairlead.balance.follow_ups import FollowUps
from fairlead.balance.message import (
    GIVEN_BACK,
    LOST,
    NO_DESTINATION,
    ON_GROUP,
    ON_OPEN,
    ROUTED,
    Message,
    text,
)
from fairlead.balance.objects import (
    Name,
    Object,
    Order,
    Ref,
    Table,
    converted,
    hint,
    listed,
    shown,
    special,
)
from fairlead.balance.rules.rule import Plain, Rule
from fairlead.errors import ChangeError, ConfigError

T = TypeVar("T", bound="Tables")
K = TypeVar("K")
C = TypeVar("C")

Raw = tuple[str, ...]
"""The routing attributes that a policy reads, as text, in the order of `reads`."""

NOT_TAKEN = -1


class Tables(Table, frozen=True, kw_only=True):
    """What every cluster file has."""

    policy: str | dict[str, Any]
    """A name, or a table that composes one."""
    name: Name | UnsetType = UNSET
    order: Order = Order()


class Taken(NamedTuple):
    """A candidate chosen at once, before the eliminations are through."""

    member: int
    step: str
    because: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the eliminations leave of a class of messages, for one version of the cluster."""

    outcome: str
    """`routed` where somebody is left."""
    members: tuple[int, ...] = ()
    """For the rule to choose among, ascending."""
    taken: int = NOT_TAKEN
    """Chosen at once, past the rule."""
    also: tuple[int, ...] = ()
    """Who gets the message as well, whoever is chosen; the chosen one may be among them."""


class ResolvedChange(NamedTuple):
    """A change, resolved: to whom, which attribute, which value. `ref` None: the whole cluster."""

    ref: Ref | None
    attribute: str
    value: object


class ClusterState(ABC, Generic[T, K, C]):
    """One cluster under its policy at one moment."""

    name: ClassVar[str]
    about: ClassVar[str]
    """One line for `fairlead policies`."""
    choose_when: ClassVar[str]
    choose_when_not: ClassVar[str]
    tables: ClassVar[type[Tables]]
    """What a cluster file of this policy holds."""
    kinds: ClassVar[Mapping[str, type[Object]]]
    """Kind of object (as in `kind:name@owner`) → its table."""
    also_called: ClassVar[Mapping[str, str]] = {}
    """Other words for a kind, as the file's tables have them."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Routing attributes that decide who is a candidate."""
    streams: ClassVar[tuple[str, ...]] = ()
    """Attributes that, with the cluster, name the stream in which `sequence` counts."""
    counts: ClassVar[bool] = True
    """Whether there are counts that a reset could set to 0."""
    binds: bool = False
    """Whether messages can be bound to an earlier message's destination."""
    rebinds: bool = False
    """Whether that ends when the destination drops out."""
    fans_out: ClassVar[bool] = False
    """Whether a message can go to several destinations."""
    apart: ClassVar[tuple[str, ...]] = ()
    """Attributes of `reads` for each value of which the rule has a state of its own."""

    waits: bool = False
    """Replay: whether a message for which nobody is left waits until somebody is."""
    patience: int = 0
    """Replay: microseconds after which what is not acknowledged has failed; 0: it never has."""
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
    fallen: dict[Ref, str]
    """Who has failed in the latest step; how, where there are several ways."""

    def __init__(self, tables: T) -> None:
        """Check the tables against each other and start with nobody served."""
        self.objects = {}
        self._named: dict[str, list[Ref]] = {}
        for ref, each in self.listing(tables):
            if ref in self.objects:
                nth = sum(1 for each in self.objects if each.kind == ref.kind)
                raise ConfigError(
                    f"{ref.kind} {ref.name!r}: found twice, allowed: once", [ref.kind, nth]
                )
            self.objects[ref] = each
            self._named.setdefault(ref.name, []).append(ref)
        self.version = 0
        self.now = 0
        """When the latest step was made, in microseconds."""
        self.follow_ups = FollowUps()
        self.fallen = {}
        self._verdicts: dict[Raw, Verdict] = {}

    # what a policy says of itself

    @abstractmethod
    def listing(self, tables: T) -> Iterable[tuple[Ref, Object]]:
        """The file's objects, in the order of the file."""

    @abstractmethod
    def key(self, raw: Raw) -> K:
        """What the policy reads in a message."""

    @abstractmethod
    def candidates(self, key: K) -> tuple[list[C], str]:
        """All candidates for such a message, and the outcome if there are none."""

    @abstractmethod
    def eliminations(self) -> Sequence[Elimination[K, C]]:
        """The steps in order."""

    @abstractmethod
    def member(self, candidate: C) -> int:
        """The candidate's index in the rule."""

    def label(self, candidate: C) -> str:
        """The candidate's name in explanations."""
        return self.members[self.member(candidate)]

    def take(self, key: K, step: str, left: Sequence[C]) -> Taken | None:
        """Whom to choose at once after this elimination, if anybody."""
        return None

    def also(self, key: K, left: Sequence[C]) -> tuple[int, ...]:
        """Who gets the message as well, whoever is chosen of those that are left."""
        return ()

    def outcome_of(self, member: int) -> str:
        """The outcome of a message for which this member is chosen."""
        return ROUTED

    def outcome_after(self, step: str) -> str:
        """The outcome of a message that loses its last candidate in this elimination."""
        return NO_DESTINATION

    def in_vain(self, member: int) -> str:
        """Why a message for which this member is chosen is not routed all the same; "": it is."""
        return ""

    def no_candidates(self, key: K) -> str:
        """Why there is no candidate for such a message, in words."""
        return "there is no candidate"

    def address(self, member: int) -> str | None:
        """Where a destination is reached, if the policy's objects say."""
        return None

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        """One attribute of one object has changed: let the rule know."""

    def failed(self, ref: Ref) -> None:
        """An object has failed and lost what it held."""

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        """All changes of one time have been made; `before`: what was changed, as it was."""

    def reset(self) -> None:
        """Count everybody as not served."""

    @property
    def follows_up(self) -> bool:
        """Whether changes can lead to others, at later times."""
        return False

    def held_back(self, effect: ResolvedChange) -> bool:
        """Whether this change of an object does not hold yet; it is then pending."""
        return False

    def follow_up(self, effect: ResolvedChange, before: dict[Ref, Any]) -> None:
        """Make what has become due."""
        self._make(effect, before)

    def because(self, step: Elimination[K, C], key: K, candidate: C, kept: Sequence[C]) -> str:
        """Why a candidate was dropped in a step, given those that were kept."""
        return step.because(key, candidate, kept)

    def timed(self, effects: Iterable[ResolvedChange]) -> bool:
        """Whether completions decide who is busy, now or after any of these effects."""
        return False

    def bind_default(self, key: K) -> str:
        """How messages are bound that do not say it themselves."""
        return ""

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

    def refusal(self, attribute: str) -> str | None:
        """Why this attribute cannot be changed, if it cannot."""
        return None

    def effective(self) -> list[str]:
        """The effective policy in words, a line each."""
        steps = [f"{e.name}: {e.about}" for e in self.eliminations()]
        return [*steps, f"choose: {self.rule.name}"]

    # what the engines ask

    def heeds(self) -> set[str]:
        """The attributes of a message that can make a difference."""
        bound_by = ("bind", "producer", "group") if self.binds else ()
        return {*self.reads, *bound_by, *([self.keyed_by] if self.keyed_by else [])}

    def raw(self, message: Message) -> Raw:
        """The attributes that this policy reads of a message."""
        return self.normal(tuple(text(message, name) for name in self.reads))

    def normal(self, raw: Raw) -> Raw:
        """The attributes with what the policy fills in."""
        return raw

    def stream(self, raw: Raw) -> Raw:
        """What names the message's stream, apart from the cluster."""
        return tuple(raw[self.reads.index(name)] for name in self.streams)

    def part(self, raw: Raw) -> Raw:
        """Messages with the same value of this share the rule's state."""
        return tuple(raw[self.reads.index(name)] for name in self.apart)

    def member_called(self, destination: str, raw: Raw) -> int:
        """The member that a message of this class reached there. Raises ValueError."""
        return self.members.index(destination)

    def destinations(self) -> Sequence[int]:
        """One member for each destination, in the order in which they are told."""
        return range(len(self.members))

    def subject(self, member: int) -> str | None:
        """The subject that a destination belongs to, if it belongs to one."""
        return None

    def condition(self, member: int, besides: Collection[str] = ()) -> str:
        """What is special about a destination now, in words, without these attributes."""
        return ", ".join(special(self.objects[self.whose(member)], besides))

    def samples(self) -> dict[str, Raw]:
        """Messages that should find somebody, by what they are called; for `in_words.warnings`."""
        return {} if self.reads else {"": ()}

    @abstractmethod
    def whose(self, member: int) -> Ref:
        """The object that a member stands for."""

    def worker(self, member: int) -> Ref:
        """The object whose readers work on what this member gets, at its speed."""
        return self.whose(member)

    def beside(self, parts: Sequence[Raw]) -> None:
        """Replay: keep a state of the rule for each of these parts. Only at the beginning."""

    def readers(self, ref: Ref) -> int:
        """Replay: how many readers an object has that may begin with work."""
        found: int = self.objects[ref].readers
        return found

    def published(self, raw: Raw) -> Raw:
        """Replay: the attributes with what a message takes from the cluster when it is sent."""
        return raw

    def expects(self, raw: Raw) -> str:
        """Replay: whose acknowledgement is waited for: `all` copies', `some` one's, or nobody's."""
        return ""

    def keeps(self, ref: Ref) -> bool:
        """Whether one who has just failed (see `fallen`) is remembered, and what it held."""
        return False

    def after_failure(self, ref: Ref, raw: Raw, *, shared: bool) -> str:
        """Replay: how the attempt of a message ends that one held who has just failed.

        `given-back`: it is routed anew; `rolled-back`: it stays where it is. `shared`: others got
        the message as well.
        """
        return LOST if shared else GIVEN_BACK

    def redelivery(self, raw: Raw) -> Verdict:
        """Replay: the outcome of the eliminations for a message that is routed anew."""
        return self.verdict(raw)

    def home(self, raw: Raw) -> Raw | None:
        """Inside what such messages are bound to each other; None: to nothing, whatever they say.

        All engines ask this.
        """
        return ()

    def binding(self, raw: Raw, message: Message) -> Raw | None:
        """What the message's destination is bound to, if to anything."""
        home = self.home(raw)
        if home is None:
            return None
        kind = text(message, "bind") or self.bind_default(self.key(raw))
        if kind == ON_OPEN:
            return (kind, *home, text(message, "producer"))
        group = text(message, "group")
        if kind == ON_GROUP and group:
            return (kind, *home, group)
        return None

    def holding(self, raw: Raw) -> frozenset[int]:
        """The members with which bound messages of this class may stay; asked if it rebinds."""
        return frozenset(range(len(self.members)))

    def verdict(self, raw: Raw) -> Verdict:
        """The outcome of the eliminations for this class of messages, cached by version."""
        found = self._verdicts.get(raw)
        if found is None:
            found = self._verdicts[raw] = self.eliminate(raw)[0]
        return found

    def eliminate(self, raw: Raw) -> tuple[Verdict, list[Step]]:
        """Go through the steps, and tell whom each one dropped."""
        key = self.key(raw)
        left, outcome = self.candidates(key)
        steps = [Step("candidates", (), len(left))]
        if not left:
            return Verdict(outcome), steps
        for each in self.eliminations():
            kept = each.keep(key, left)
            if len(kept) < len(left):
                gone = {id(c) for c in left} - {id(c) for c in kept}
                dropped = tuple(
                    Drop(self.label(c), self.because(each, key, c, kept))
                    for c in left
                    if id(c) in gone
                )
                steps.append(Step(each.name, dropped, len(kept)))
            left = kept
            if not left:
                return Verdict(self.outcome_after(each.name)), steps
            taken = self.take(key, each.name, left)
            if taken is not None:
                also = self.also(key, left)
                others = [c for c in left if self.member(c) not in (taken.member, *also)]
                dropped = tuple(Drop(self.label(c), taken.because) for c in others)
                steps.append(Step(taken.step, dropped, len(left) - len(others)))
                return Verdict(ROUTED, (taken.member,), taken.member, also), steps
        members = tuple(sorted({self.member(c) for c in left}))
        return Verdict(ROUTED, members, also=self.also(key, left)), steps

    # changes

    def resolve(self, change: Change) -> ResolvedChange:
        """Whom and what a change means; refused if it can mean nothing, or two things."""
        if change.attribute == RESET:
            if change.value not in (None, "", True, "true"):
                raise ChangeError(
                    f"{change.where}: value of a reset: found {shown(change.value)}, "
                    "allowed: nothing, or true"
                )
            if not self.counts:
                raise ChangeError(
                    f"{change.where}: reset: the policy {self.name} counts nothing "
                    "that could be reset"
                )
            return ResolvedChange(None, RESET, None)
        ref = self.target(change)
        table = type(self.objects[ref])
        stateless = STATE not in table.__struct_fields__
        if change.attribute == STATE and change.value in (FAILED, *(UP if stateless else ())):
            return ResolvedChange(ref, STATE, change.value)
        known = [name for name in table.__struct_fields__ if name != "name"]
        if change.attribute not in known:
            raise ChangeError(
                f"{change.where}: attribute: found {change.attribute!r}, allowed for {ref}: "
                f"{', '.join(known)}{hint(change.attribute, known)}"
            )
        refused = self.refusal(change.attribute)
        if refused:
            raise ChangeError(f"{change.where}: attribute {change.attribute}: {refused}")
        try:
            value = converted(table, change.attribute, change.value)
            msgspec.structs.replace(self.objects[ref], **{change.attribute: value})
        except (ConfigError, ValueError) as error:
            raise ChangeError(f"{change.where}: {ref} {change.attribute}: {error}") from None
        return ResolvedChange(ref, change.attribute, value)

    def targets(self, target: str) -> list[Ref]:
        """All objects that a target's text can mean: by name alone, else `kind:name@owner`."""
        named = self._named.get(target, [])
        if named or ":" not in target:
            return named
        kind, _, name = target.partition(":")
        spelled = f"{self.also_called.get(kind, kind)}:{name}"
        return [ref for ref in self.objects if spelled in {str(ref), f"{ref.kind}:{ref.name}"}]

    def target(self, change: Change) -> Ref:
        """The one object that a change speaks of. Raises ChangeError if there is none, or two."""
        found = self.targets(change.target)
        if len(found) == 1:
            return found[0]
        if found:
            raise ChangeError(
                f"{change.where}: target {change.target!r} is ambiguous, "
                f"allowed: {listed(map(str, found))}"
            )
        if change.target == EVERYBODY:
            raise ChangeError(
                f"{change.where}: attribute: found {change.attribute!r}, "
                f"allowed for {EVERYBODY!r}: {RESET}"
            )
        names = [ref.name for ref in self.objects]
        raise ChangeError(
            f"{change.where}: target: found {change.target!r}, "
            f"allowed: {listed(dict.fromkeys(names))}{hint(change.target, names)}"
        )

    def apply(self, effects: Sequence[ResolvedChange], time: int) -> None:
        """Make what is due, then all changes of this time, in order: all as one step.

        `time`: in microseconds; what follows later is counted from it. Whoever calls this makes a
        step at each time that `follow_ups.next` tells, too.
        """
        self.now = time
        self.fallen = {}
        before: dict[Ref, Any] = {}
        for ref, later in self.follow_ups.take(time):
            self.follow_up(ResolvedChange(ref, later.attribute, later.value), before)
        for effect in effects:
            if not self.held_back(effect):
                self._make(effect, before)
        self.stepped(before)
        self.version += 1
        self._verdicts.clear()

    def _make(self, effect: ResolvedChange, before: dict[Ref, Any]) -> None:
        ref, attribute, value = effect
        if ref is None:
            self.reset()
        elif value == FAILED and attribute == STATE:
            self.fallen[ref] = ""
            self.failed(ref)
        elif attribute in self.objects[ref].__struct_fields__:
            old = self.objects[ref]
            before.setdefault(ref, old)
            new = msgspec.structs.replace(old, **{attribute: value})
            if new != old:
                self.objects[ref] = new
                self.changed(ref, old, new)
        # else it is up again, under a policy that never asked

    def frozen(self) -> Self:
        """The same cluster at this moment, untouched by what happens later."""
        other = copy.copy(self)
        other.objects = dict(self.objects)
        other.rule = self.rule.copy()
        other.follow_ups = self.follow_ups.copy()
        other._verdicts = {}  # noqa: SLF001 - it is one of us
        return other

    # state as plain data

    def dump(self) -> dict[str, Any]:
        """Version, attributes and rule as plain data."""
        return {
            "version": self.version,
            "objects": [[list(ref), msgspec.to_builtins(o)] for ref, o in self.objects.items()],
            "rule": self.dump_rule(),
            "pending": self.follow_ups.dump(),
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave for a cluster with the same objects."""
        refs = [Ref(*ref) for ref, _ in plain["objects"]]
        if refs != list(self.objects):
            raise ConfigError("snapshot: made for a cluster with other objects")
        for ref, (_, attributes) in zip(refs, plain["objects"], strict=True):
            self.objects[ref] = msgspec.convert(attributes, type(self.objects[ref]), strict=False)
        self.load_rule(plain["rule"])
        self.follow_ups.load(plain["pending"])
        self.version = plain["version"]
        self._verdicts.clear()

    def dump_rule(self) -> Plain:
        """The rule's state as plain data."""
        return self.rule.dump()

    def load_rule(self, plain: Plain) -> None:
        """Take over a rule's state."""
        self.rule.load(plain)


AnyState: TypeAlias = ClusterState[Any, Any, Any]
