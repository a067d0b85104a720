"""A choice rule and an elimination of one's own for Fairlead."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from fairlead import OwnChoice, OwnElimination, drop_where


class State(NamedTuple):
    """What the rule remembers, one entry a destination."""

    price: Sequence[int]
    spent: Any


def start(destinations: Sequence[Any]) -> State:
    """Nothing spent yet."""
    return State([each.price for each in destinations], [0] * len(destinations))


def choose(s: State, members: Sequence[int], start: int, stop: int) -> int:
    """Who would have cost least in all after this message; of equals the first in the file."""
    best = members[start]
    for k in range(start + 1, stop):
        if after(s, members[k]) < after(s, best):
            best = members[k]
    return best


def after(s: State, i: int) -> int:
    """What a destination would have cost in all after one message more."""
    return s.spent[i] + s.price[i]


def served(s: State, i: int) -> None:
    """Pay for one message."""
    s.spent[i] += s.price[i]


cheapest = OwnChoice(
    name="cheapest",
    about="the one that would have cost least in all after this message",
    start=start,
    choose=choose,
    served=served,
    helpers=(after,),
    attributes={"price": (Annotated[int, Meta(ge=0, le=1_000_000)], 1)},
)

other_region = OwnElimination(
    drop_where(
        "other-region",
        "destinations in another region than the message's are dropped",
        lambda message, c: bool(message["region"]) and c.region != message["region"],
        lambda message, c: f"region is {c.region!r}, the message's is {message['region']!r}",
    ),
    attributes={"region": (str, "")},
    reads=("region",),
)
