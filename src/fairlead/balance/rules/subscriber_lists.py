"""Lists of subscribers, one for each subject, and the ways in which SmartSockets chooses from one.

A list is circular, in the order of joining. `round-robin` has a cursor of its own, which is first
at the most recently joined; whoever joins is inserted just before it, so that it is served last in
the running round. `weighted` has another cursor, which is first at the first of the list: it looks
for the fewest pending from there on, and moves behind whom it finds. `sorted` takes the first by
name, and a message for everyone asks nobody; both move no cursor.

Which way a message is chosen for is part of the member: member `way * n + i` is subscriber `i`
(of n, in order of their subject and name) chosen in that way, and all members of one choice are of
one way. `way = kind * HOWS + how`: a guaranteed message is pending with whoever gets it until it is
acknowledged, any other is not; one that is lost moves the cursor, and is with nobody.

`choose` and `completed` are written once, in the part of Python that Numba compiles.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.balance.rules.integers import INT64_END, Indexes, Ints
from fairlead.balance.rules.rule import Plain, Rule, Weighing

IN_TURN, BY_PENDING, BY_NAME, EVERYONE = range(4)
KINDS = 4
PLAIN, PENDING, LOST = range(3)
HOWS = 3
OUT = -1
NOT_YET = -1
SUBJECT, JOINS = "subject", "joins"
OF_SUBSCRIBERS = ("place", "joined", "pending", "counted")
OF_SUBJECTS = ("size", "turn", "scan")
TURN, FEWEST, CURSOR, NAME = "turn", "pending", "cursor", "name"  # what decides


class State(NamedTuple):
    """What the rule remembers: first one entry a subscriber, then one a subject."""

    subject: Ints
    place: Ints
    """In the subject's list, from 0; OUT where it is in none."""
    joined: Ints
    """Number of its joining."""
    pending: Ints
    """Guaranteed messages that it has and has not acknowledged."""
    counted: Ints
    """1: it gets messages; 0: it keeps its place, and is passed over."""
    size: Ints
    """How many are in the list."""
    turn: Ints
    """The place at which round-robin goes on; NOT_YET before its first message."""
    scan: Ints
    """The place from which on the fewest pending are looked for."""
    joins: Ints
    """[number of the latest joining]"""


def choose(s: State, members: Indexes, start: int, stop: int) -> int:
    """Choose among members[start:stop], at least one, all of one way, and count the choice."""
    n = len(s.place)
    kind = members[start] // n // HOWS
    best = members[start]
    if kind in (IN_TURN, BY_PENDING):
        origin = cursor(s, best % n, kind)
        for k in range(start + 1, stop):
            if before(s, members[k] % n, best % n, kind, origin):
                best = members[k]
    served(s, best)
    return best


def cursor(s: State, i: int, kind: int) -> int:
    """The place from which on this kind looks in the list of subscriber i."""
    g = s.subject[i]
    if kind == BY_PENDING:
        return s.scan[g]
    if s.turn[g] != NOT_YET:
        return s.turn[g]
    latest = i
    for j in range(len(s.place)):
        if s.subject[j] == g and s.place[j] != OUT and s.joined[j] > s.joined[latest]:
            latest = j
    return s.place[latest]


def before(s: State, i: int, j: int, kind: int, origin: int) -> bool:
    """Whether subscriber i is chosen before subscriber j."""
    if kind == BY_PENDING and s.pending[i] != s.pending[j]:
        return s.pending[i] < s.pending[j]
    size = s.size[s.subject[i]]
    return (s.place[i] - origin) % size < (s.place[j] - origin) % size


def served(s: State, member: int) -> None:
    """Count a choice."""
    n = len(s.place)
    way, i = member // n, member % n
    kind, how = way // HOWS, way % HOWS
    g = s.subject[i]
    if kind == IN_TURN:
        s.turn[g] = (s.place[i] + 1) % s.size[g]
    elif kind == BY_PENDING:
        s.scan[g] = (s.place[i] + 1) % s.size[g]
    if how == PENDING:
        if kind == EVERYONE:
            for j in range(n):
                if s.subject[j] == g and s.counted[j] == 1 and s.place[j] != OUT:
                    s.pending[j] += 1
        else:
            s.pending[i] += 1


def completed(s: State, member: int) -> None:
    """A subscriber has acknowledged one message; only guaranteed ones are pending."""
    n = len(s.place)
    i, how = member % n, member // n % HOWS
    if how == PENDING and s.pending[i] > 0:
        s.pending[i] -= 1


def returned(s: State, member: int) -> None:
    """A subscriber has a guaranteed message again that it had acknowledged in vain."""
    n = len(s.place)
    i, how = member % n, member // n % HOWS
    if how == PENDING and s.place[i] != OUT:
        s.pending[i] += 1


COMPILED = (cursor, before, served, completed, returned, choose)


# What follows runs between choices, in plain Python over lists, in every engine.


def join(s: State, i: int) -> None:
    """Subscriber i enters its subject's list, just before the cursor of round-robin."""
    g = s.subject[i]
    at = s.size[g] if s.turn[g] == NOT_YET else s.turn[g]
    for j in range(len(s.place)):
        if s.subject[j] == g and s.place[j] >= at:
            s.place[j] += 1
    if s.turn[g] != NOT_YET:
        s.turn[g] += 1
    if s.size[g] and s.scan[g] >= at:
        s.scan[g] += 1
    s.place[i] = at
    s.size[g] += 1
    s.joins[0] += 1
    s.joined[i] = s.joins[0]
    s.pending[i] = 0


def leave(s: State, i: int) -> None:
    """Subscriber i leaves its subject's list; a cursor at it goes to the next."""
    g, at = s.subject[i], s.place[i]
    s.place[i] = OUT
    s.size[g] -= 1
    for j in range(len(s.place)):
        if s.subject[j] == g and s.place[j] > at:
            s.place[j] -= 1
    if not s.size[g]:
        s.turn[g], s.scan[g] = NOT_YET, 0
        return
    for places in (s.turn, s.scan):
        if places[g] > at:
            places[g] -= 1
        if places[g] == s.size[g]:
            places[g] = 0


class SubscriberLists(Rule):
    """The lists of all subjects."""

    name = "subscriber-lists"
    module = sys.modules[__name__]
    weighs_held = True

    def __init__(self, subjects: list[int]) -> None:
        """`subjects`: the number of each subscriber's subject. Nobody has joined yet."""
        n, lists = len(subjects), max(subjects, default=-1) + 1
        self.state = State(
            list(subjects),
            [OUT] * n,
            [0] * n,
            [0] * n,
            [1] * n,
            [0] * lists,
            [NOT_YET] * lists,
            [0] * lists,
            [0],
        )

    def choose(self, members: Sequence[int]) -> int:
        return choose(self.state, members, 0, len(members))

    def served(self, member: int) -> None:
        served(self.state, member)

    def completed(self, member: int) -> None:
        completed(self.state, member)

    def carried(self, before: Plain, places: Mapping[int, int]) -> Plain:
        """A subject that nobody had, or has any more, has the state of an empty list."""
        plain = self.dump()
        for name in OF_SUBSCRIBERS:
            for here, there in places.items():
                plain[name][here] = before[name][there]
        subjects = {plain[SUBJECT][here]: before[SUBJECT][there] for here, there in places.items()}
        for name in OF_SUBJECTS:
            for here, there in subjects.items():
                plain[name][here] = before[name][there]
        return {**plain, JOINS: before[JOINS]}

    def fits_int64(self, choices: int) -> bool:
        return max(self.state.pending, default=0) + choices < INT64_END

    def compare(self, members: Sequence[int]) -> Weighing:
        s, n = self.state, len(self.state.place)
        kind, _ = self.way(members[0])
        if kind == EVERYONE:
            return Weighing([members[0]])
        order, decided = list(members), NAME
        if kind == IN_TURN:
            order, decided = sorted(members, key=self.after_cursor(members).__getitem__), TURN
        elif kind == BY_PENDING:
            after = self.after_cursor(members)
            order = sorted(members, key=lambda m: (s.pending[m % n], after[m]))
            pending = [s.pending[m % n] for m in order]
            decided = FEWEST if pending[:1] < pending[1:2] else CURSOR
        return Weighing(order, decided=decided if len(order) > 1 else "")

    def way(self, member: int) -> tuple[int, int]:
        """In which of the KINDS this member is chosen, and which subscriber it is."""
        n = len(self.state.place)
        return member // n // HOWS, member % n

    def after_cursor(self, members: Sequence[int]) -> dict[int, int]:
        """How many places behind the cursor each of these members stands."""
        s, n = self.state, len(self.state.place)
        kind, i = self.way(members[0])
        origin, size = cursor(s, i, kind), s.size[s.subject[i]]
        return {m: (s.place[m % n] - origin) % size for m in members}
