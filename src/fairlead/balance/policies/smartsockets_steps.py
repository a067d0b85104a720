"""The steps of SmartSockets' load balancing that drop receivers, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.balance.elimination import Elimination, drop_where
from fairlead.balance.message import TO_ALL, WEIGHTED
from fairlead.balance.policies.smartsockets_objects import Subscriber, is_warm


class Publication(NamedTuple):
    """What is read of a message."""

    subject: str
    mode: str
    guaranteed: bool
    server: int
    """Which of the servers whose lists are kept beside each other."""


class SubscribedMember(NamedTuple):
    """A subscriber that a message may reach, and the member that it would be chosen as."""

    subscriber: Subscriber
    member: int


SENT_TO: Final[tuple[Elimination[Publication, SubscribedMember], ...]] = (
    drop_where(
        "not-guaranteed",
        "a weighted message that is not guaranteed (delivery some or all) is refused",
        lambda key, _: refused(key),
        lambda key, _: "weighted counts acknowledgements, so delivery must be some or all",
    ),
    drop_where(
        "absent",
        "subscribers that have left, or have not joined yet, are dropped",
        lambda _, c: not c.subscriber.present,
        lambda _, c: "present is false",
    ),
    drop_where(
        "disconnected",
        "subscribers that are not connected are dropped",
        lambda _, c: c.subscriber.connected is False,
        lambda _, c: "connected is false",
    ),
    Elimination(
        "warm-unless-all-warm",
        "warm subscribers are dropped, unless all are warm",
        lambda _, receivers: _awake(receivers),
        lambda _key, _c, _kept: "it is warm, and others are connected",
    ),
)
NOT_KEPT: Final[Elimination[Publication, SubscribedMember]] = drop_where(
    "not-kept",
    "what is for everyone and not guaranteed is not kept for warm subscribers: it is lost",
    lambda key, c: key.mode == TO_ALL and not key.guaranteed and is_warm(c.subscriber),
    lambda _, c: "it is warm, and the message is not guaranteed",
)
BALANCING_OFF: Final[Elimination[Publication, SubscribedMember]] = drop_where(
    "balancing-off",
    "a balanced message goes to one of the list; who switched balancing off gets it anyway",
    lambda key, c: key.mode != TO_ALL and not c.subscriber.load_balanced,
    lambda _, c: "load_balanced is false: it gets every message",
)


def refused(key: Publication) -> bool:
    """Whether such a message is refused when it is published."""
    return key.mode == WEIGHTED and not key.guaranteed


def _awake(receivers: Sequence[SubscribedMember]) -> list[SubscribedMember]:
    awake = [c for c in receivers if not is_warm(c.subscriber)]
    return awake or list(receivers)
