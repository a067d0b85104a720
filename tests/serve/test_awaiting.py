"""Publishers that are to be told of guaranteed messages: each is asked for, a part at a time."""

from __future__ import annotations

from random import Random

import pytest

from fairlead.serve.node.calls import Ask, Call
from fairlead.serve.node.publisher_confirms import LOOK, MOST, Awaiting
from fairlead.serve.wire.events import ACCEPTED, REJECTED, Outcome
from fairlead.store.clusters.deliveries import Delivery

OPEN, DONE, FAILED = Delivery("open"), Delivery("acknowledged"), Delivery("nack", "why")


@pytest.mark.parametrize("number", [1, MOST, 3 * MOST + 1])
def test_all_are_told_once_each_and_no_question_is_too_long(number: int) -> None:
    random = Random(number)  # noqa: S311 - a history, no secret
    asked: list[Call] = []
    awaiting = Awaiting(asked.append)
    told: dict[int, list[Outcome]] = {n: [] for n in range(number)}
    for n, heard in told.items():
        awaiting.add(n, "a link", heard.append)
    is_open = {*told}
    now = 0.0
    while awaiting:
        now += LOOK
        for n in random.sample(sorted(is_open), min(len(is_open), MOST // 2)):
            is_open.remove(n)
        awaiting.moved()
        awaiting.look(now)
        while asked:
            call = asked.pop()
            assert isinstance(call, Ask)
            assert 0 < len(call.numbers) <= MOST
            awaiting.told(call, {n: OPEN if n in is_open else DONE for n in call.numbers})
            awaiting.look(now)
    assert all([each.kind for each in heard] == [ACCEPTED] for heard in told.values())
    awaiting.look(now + 1)
    assert asked == []


def test_who_has_gone_is_not_told_and_two_who_sent_the_same_are() -> None:
    asked: list[Call] = []
    awaiting = Awaiting(asked.append)
    heard: dict[str, list[Outcome]] = {"a": [], "b": [], "c": []}
    for name, number in (("a", 1), ("b", 1), ("c", 2)):
        awaiting.add(number, name, heard[name].append)
    awaiting.forget("c")
    awaiting.look(1.0)
    awaiting.look(9.0)
    (call,) = asked
    assert isinstance(call, Ask)
    assert call.numbers == [1]
    awaiting.told(Ask([1]), None)  # the store could not
    awaiting.told(Ask([1]), {1: FAILED})
    assert heard["c"] == []
    for name in "ab":
        (outcome,) = heard[name]
        assert outcome.kind == REJECTED
        assert outcome.condition is not None
        assert outcome.condition.description == "why"


def test_what_the_store_knows_no_more_was_acknowledged_long_ago() -> None:
    awaiting = Awaiting(lambda _: None)
    heard: list[Outcome] = []
    awaiting.add(1, "a", heard.append)
    awaiting.told(Ask([1]), {})
    assert [each.kind for each in heard] == [ACCEPTED]
