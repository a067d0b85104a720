"""TIBCO SmartSockets: messages to every subscriber of a subject, or balanced over them.

Source: "Load Balancing" in TIBCO SmartSockets User's Guide, release 6.8. A message's mode says who
gets it: every subscriber, or one of them (in turn, by the fewest unacknowledged, or the first by
name). Subscribers that have switched load balancing off get everything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from fairlead.balance.change import STATE, UP, Change, ResolvedChange
from fairlead.balance.elimination import Eligible, Preselected
from fairlead.balance.failures import FailureModel
from fairlead.balance.follow_ups import LaterChange
from fairlead.balance.message import (
    ACKNOWLEDGED,
    GUARANTEED,
    LOST,
    NACK,
    NO_DESTINATION,
    REFUSED,
    RELEASED,
    ROLLED_BACK,
    ROUND_ROBIN,
    ROUTED,
    SORTED,
    TO_ALL,
    WEIGHTED,
    AttributeValues,
)
from fairlead.balance.objects import Object, Ref, special
from fairlead.balance.policies.smartsockets_objects import (
    CONNECTED,
    FAILURE,
    LISTED,
    MESSAGE_TYPE,
    SUBSCRIBER,
    SUCCESS,
    WARM,
    SmartSocketsTables,
    Subscriber,
    TypeMode,
    is_warm,
    listed,
    there,
)
from fairlead.balance.policies.smartsockets_steps import (
    BALANCING_OFF,
    NOT_KEPT,
    SENT_TO,
    Publication,
    SubscribedMember,
    refused,
)
from fairlead.balance.policy import Policy
from fairlead.balance.rules import subscriber_lists as lists
from fairlead.balance.rules.subscriber_lists import SubscriberLists
from fairlead.balance.state import ClusterState
from fairlead.balance.times import MICROS
from fairlead.balance.words.cluster_state import Description
from fairlead.errors import ConfigError

KIND_OF: Final = {
    ROUND_ROBIN: lists.IN_TURN,
    WEIGHTED: lists.BY_PENDING,
    SORTED: lists.BY_NAME,
    TO_ALL: lists.EVERYONE,
}


class SmartSocketsState(ClusterState[SmartSocketsTables, Publication, SubscribedMember]):
    """Everyone, or one of the subject's list."""

    joining = (SUBSCRIBER, "subject")

    def __init__(self, policy: Policy, tables: SmartSocketsTables) -> None:
        """The subscribers join in the order of the file."""
        super().__init__(policy, tables)
        self.options = tables.options
        refs = [ref for ref in self.objects if ref.kind == SUBSCRIBER]
        if not refs and self.options.subscribers == LISTED:
            raise ConfigError(
                "subscriber: found none, allowed: at least one [[subscriber]], or "
                'options.subscribers = "any"'
            )
        self.refs = sorted(refs, key=lambda ref: (ref.owner, ref.name))
        self.index = {ref: i for i, ref in enumerate(self.refs)}
        self.subjects = list(dict.fromkeys(ref.owner for ref in self.refs))
        self.init_partitions([()])

    def listing(self, tables: SmartSocketsTables) -> Iterable[tuple[Ref, Object]]:
        for kind in tables.message_type:
            yield Ref(MESSAGE_TYPE, kind.name), kind
        for subscriber in tables.subscriber:
            yield Ref(SUBSCRIBER, subscriber.name, subscriber.subject), subscriber

    def init_partitions(self, partitions: Sequence[AttributeValues]) -> None:
        """Each of these servers has lists of its own, of the same subscribers."""
        self.servers = {part: k for k, part in enumerate(partitions)}
        self.size = len(partitions) * len(self.refs)
        """How many members there are in each way: subscriber i of server k is k * n + i."""
        ways = lists.KINDS * lists.HOWS
        self.members = tuple(ref.name for ref in self.refs) * (len(partitions) * ways)
        numbers = {subject: g for g, subject in enumerate(self.subjects)}
        subject_numbers = [numbers[ref.owner] for ref in self.refs]
        self.rule = SubscriberLists(
            [k * len(numbers) + g for k in range(len(partitions)) for g in subject_numbers]
        )
        for ref, subscriber in self.objects.items():
            if ref.kind == SUBSCRIBER and listed(subscriber):
                self._everywhere(lists.join, ref)
        self._count()

    def _everywhere(self, what: Callable[[lists.State, int], None], ref: Ref) -> None:
        """Let a subscriber join or leave the lists of all servers."""
        for i in range(self.index[ref], self.size, len(self.refs)):
            what(self.rule.state, i)

    def queue(self, member: int) -> str | None:
        queue: str = self.objects[self.object_of(member)].queue
        return queue or None

    # messages

    def normal(self, values: AttributeValues) -> AttributeValues:
        """The only subject, where there is one, and the type only where it gives the mode."""
        subject, server, type_, mode, delivery = values
        if not subject and len(self.subjects) == 1 and self.options.subscribers == LISTED:
            subject = self.subjects[0]
        if mode or Ref(MESSAGE_TYPE, type_) not in self.objects:
            type_ = ""
        return (subject, server, type_, mode, delivery)

    def key(self, values: AttributeValues) -> Publication:
        subject, _, type_, mode, delivery = values
        message_type = self.objects.get(Ref(MESSAGE_TYPE, type_))
        if not mode:
            mode = (
                message_type.mode if message_type is not None and message_type.present else TO_ALL
            )
        server = self.servers.get(self.partition(values), 0)
        return Publication(subject, mode, delivery in GUARANTEED, server)

    # candidates

    def candidates(self, key: Publication) -> tuple[list[SubscribedMember], str]:
        every = self._subscribed(key.subject)
        kind = KIND_OF[key.mode]
        how = lists.PENDING if key.guaranteed else lists.PLAIN
        if not key.guaranteed and all(
            is_warm(subscriber) for subscriber in every if there(subscriber)
        ):
            how = lists.LOST
        base = (kind * lists.HOWS + how) * self.size + key.server * len(self.refs)
        receivers = [
            SubscribedMember(subscriber, base + self._number(subscriber)) for subscriber in every
        ]
        return receivers, REFUSED if refused(key) else NO_DESTINATION

    def _subscribed(self, subject: str) -> list[Subscriber]:
        return [self.objects[ref] for ref in self.refs if ref.owner == subject]

    def _number(self, subscriber: Subscriber) -> int:
        return self.index[Ref(SUBSCRIBER, subscriber.name, subscriber.subject)]

    def outcome_after(self, step: str) -> str:
        lost = (NOT_KEPT.name, BALANCING_OFF.name)
        if step == SENT_TO[0].name:
            return REFUSED
        return LOST if step in lost else NO_DESTINATION

    def member(self, candidate: SubscribedMember) -> int:
        return candidate.member

    def preselect(
        self, key: Publication, step: str, left: Sequence[SubscribedMember]
    ) -> Preselected | None:
        """Where nothing is to be chosen: everyone gets it, and nobody counts it."""
        if step != NOT_KEPT.name or self.is_lost(left[0].member):
            return None
        nobody_to_balance = not any(c.subscriber.load_balanced for c in left)
        if nobody_to_balance or (key.mode == TO_ALL and not key.guaranteed):
            return Preselected(left[0].member, "everyone", "everyone gets it")
        return None

    def recipients(self, key: Publication, left: Sequence[SubscribedMember]) -> tuple[int, ...]:
        if self.is_lost(left[0].member):
            return ()
        every, _ = self.candidates(key)
        for step in SENT_TO:
            every = step.keep(key, every)
        getting = [c for c in every if key.mode == TO_ALL or not c.subscriber.load_balanced]
        return tuple(c.member for c in getting)

    def outcome_of(self, member: int) -> str:
        return LOST if self.is_lost(member) else ROUTED

    def is_lost(self, member: int) -> bool:
        """Whether a message is lost that a member is chosen for in its way."""
        return member // self.size % lists.HOWS == lists.LOST

    def member_called(self, destination: str, values: AttributeValues) -> int:
        key = self.key(values)
        number = self.index.get(Ref(SUBSCRIBER, destination, key.subject))
        if number is None:
            raise ValueError(destination)
        how = lists.PENDING if key.guaranteed else lists.PLAIN
        return how * self.size + key.server * len(self.refs) + number

    def destinations(self) -> Sequence[int]:
        return range(len(self.refs))

    def subject(self, member: int) -> str:
        return self.object_of(member).owner

    def object_of(self, member: int) -> Ref:
        return self.refs[member % len(self.refs)]

    # changes

    def translated(self, change: Change) -> Change:
        """One that is up again has its connection back."""
        if change.attribute == STATE and change.value in UP:
            return replace(change, attribute=CONNECTED, value=True)
        return change

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        if ref.kind != SUBSCRIBER:
            return
        if ref in self.follow_ups and not is_warm(after):
            self.follow_ups.drop(ref)
            if not after.connected:
                self.failed_now[ref] = FAILURE
        if listed(after) and not listed(before):
            self._everywhere(lists.join, ref)
        elif listed(before) and not listed(after):
            self._everywhere(lists.leave, ref)

    @property
    def follows_up(self) -> bool:
        options = self.options
        return options.on_receiver_failure != NACK and options.reconnect_timeout > 0

    def failed(self, ref: Ref) -> None:
        """Its connection is lost; it is remembered for a while if it wants that and was there."""
        before = self.objects[ref]
        way = before.disconnect_mode
        if way == WARM and not (self.follows_up and there(before)):
            way = FAILURE
        connected = WARM if way == WARM else False
        after = self.objects[ref] = msgspec.structs.replace(before, connected=connected)
        self.changed(ref, before, after)
        self.failed_now[ref] = way
        if way == WARM and ref not in self.follow_ups:
            until = self.now + self.options.reconnect_timeout * MICROS
            self.follow_ups.put(ref, [LaterChange(until, CONNECTED, value=False)])

    def follow_up(self, change: ResolvedChange, before: dict[Ref, Any]) -> None:
        """It has not come back in time."""
        super().follow_up(change, before)
        if change.ref is not None:
            self.failed_now[change.ref] = FAILURE

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        self._count()

    def _count(self) -> None:
        """Tell the rule who gets messages now, for those that go to everyone."""
        for subject in self.subjects:
            every = [subscriber for subscriber in self._subscribed(subject) if there(subscriber)]
            all_warm = all(is_warm(subscriber) for subscriber in every)
            for subscriber in every:
                getting = all_warm or not is_warm(subscriber)
                for i in range(self._number(subscriber), self.size, len(self.refs)):
                    self.rule.state.counted[i] = int(getting)

    def refusal(self, attribute: str) -> str | None:
        if attribute == "subject":
            return "a subscription is to one subject for life; use `present`"
        return None


class SmartSocketsFailures(FailureModel[SmartSocketsState]):
    """What the options say of receivers that fail, or do not acknowledge."""

    @property
    def ack_timeout(self) -> int:
        return self.state.options.delivery_timeout * MICROS

    def ack_mode(self, values: AttributeValues) -> str:
        delivery = values[self.state.policy.reads.index("delivery")]
        return delivery if delivery in GUARANTEED else ""

    def readers(self, ref: Ref) -> int:
        """Those of a warm subscriber rest."""
        return 0 if is_warm(self.state.objects[ref]) else super().readers(ref)

    def retains_after_failure(self, ref: Ref) -> bool:
        return self.state.failed_now[ref] == WARM

    def after_failure(self, ref: Ref, values: AttributeValues, *, shared: bool) -> str:
        """Nobody waits for the acknowledgement of what is not guaranteed."""
        if not self.state.key(values).guaranteed:
            return LOST
        way = self.state.failed_now[ref]
        if way == WARM and self.state.options.on_receiver_failure != NACK:
            return ROLLED_BACK
        return self.fate(way, shared=shared)

    def fate(self, way: str, *, shared: bool) -> str:
        """How a guaranteed message ends whose receiver has failed, and is not remembered.

        `way`: the receiver's `disconnect_mode`.
        """
        if self.state.options.on_receiver_failure == NACK:
            return NACK
        if way == SUCCESS:
            return ACKNOWLEDGED
        return NACK if shared else RELEASED

    def published(self, values: AttributeValues) -> AttributeValues:
        """A message keeps the mode that its type had when it was published."""
        subject, server, _, _, delivery = values
        return (subject, server, "", self.state.key(values).mode, delivery)

    def redelivery(self, values: AttributeValues) -> Eligible:
        """Again one of the list; who switched balancing off has had its copy since the first."""
        eligible = self.state.eligible(values)
        if eligible.members and eligible.preselected < 0:
            return eligible
        return Eligible(ACKNOWLEDGED if self.state.options.zero_receivers == SUCCESS else NACK)


class SmartSocketsDescription(Description[SmartSocketsState]):
    """With subjects, modes and connections."""

    def effective(self) -> list[str]:
        return [
            *(f"{e.name}: {e.about}" for e in self.state.eliminations()),
            "mode none (the default): every subscriber that is left gets the message",
            "round-robin: the next in the list; who joins is served last in the running round",
            "weighted: the fewest unacknowledged from its cursor on (guaranteed messages only)",
            "sorted: the first by name; the others stand by",
            "a message's mode is its own, else its type's, else none",
            "lists, cursors and pending counts are kept for each server and subject",
            *(
                f"{subscriber.name}: warm for {self.state.options.reconnect_timeout} s "
                "when it fails"
                for subscriber in self.state.objects.values()
                if isinstance(subscriber, Subscriber) and subscriber.disconnect_mode == WARM
                if self.state.follows_up
            ),
            *(
                f"messages of type {message_type.name} have mode {message_type.mode}"
                for message_type in self.state.objects.values()
                if isinstance(message_type, TypeMode) and message_type.present
            ),
        ]

    def condition(self, member: int, besides: Collection[str] = ()) -> str:
        subscriber = self.state.objects[self.state.object_of(member)]
        words = [] if subscriber.present else ["absent"]
        words += (
            ["warm"] if is_warm(subscriber) else [] if subscriber.connected else ["disconnected"]
        )
        words += [] if subscriber.load_balanced else ["balancing off"]
        names = ("present", "connected", "load_balanced")
        return ", ".join([*words, *special(subscriber, (*names, *besides))])

    def label(self, candidate: SubscribedMember) -> str:
        return candidate.subscriber.name

    def no_candidates(self, key: Publication) -> str:
        if not key.subject:
            return "the message names no subject, and there are several"
        return f"there is no subscriber to the subject {key.subject!r}"

    def undeliverable_reason(self, member: int) -> str:
        lost = "it is lost: all subscribers are warm, and only what is guaranteed is kept for them"
        return lost if self.state.is_lost(member) else ""

    def samples(self) -> dict[str, AttributeValues]:
        return {
            f"the subject {subject!r}": (subject, "", "", "", "all")
            for subject in self.state.subjects
        }


SMARTSOCKETS: Final = Policy(
    name="smartsockets",
    about="publish to a subject: to every subscriber, or to one, as each message's mode says",
    choose_when="some messages are for everyone and some for one of many",
    choose_when_not="every message is for one destination (weighted, fewest-pending)",
    tables=SmartSocketsTables,
    kinds={SUBSCRIBER: Subscriber, MESSAGE_TYPE: TypeMode},
    can_fail=(SUBSCRIBER,),
    reads=("subject", "server", "type", "mode", "delivery"),
    streams=("subject",),
    partition_by=("server",),
    eliminations=(*SENT_TO, NOT_KEPT, BALANCING_OFF),
    counts=False,
    fans_out=True,
    state=SmartSocketsState,
    failures=SmartSocketsFailures,
    description=SmartSocketsDescription,
)
