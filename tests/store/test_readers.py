"""Readers that wait, and what they make of work that somebody else is about to settle."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import MessageError
from tests.stores import made_url

both = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])


class Counting(Store):
    """Counts how often it looks for work."""

    looks = 0

    def _take(self, *arguments: Any) -> Any:
        self.looks += 1
        return super()._take(*arguments)


def test_a_reader_looks_seldom_while_work_past_its_lease_is_being_settled() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, Counting.open(url) as other:
        store.send("q", "x", group="g")
        work = store.take("q", lease=0.01)
        assert work is not None
        with work.transaction() as tx:
            assert other.take("q", wait=1) is None
            next(work)
            tx.accept()
        assert other.looks < 40


@both
def test_a_reason_may_say_what_a_database_cannot_keep(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_failures=1)
        for reason in ("a\0b", "\ud800"):
            store.send("q", "")
            work = store.take("q")
            assert work is not None
            work.release(error=reason)
        assert [each.reason for each in store.dead("q")] == ["a\\x00b", "\\ud800"]


@both
def test_each_group_that_is_taken_has_a_token_and_an_outcome_of_its_own(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        for group in ("a", "b", None, None, "c"):
            store.send("q", group, group=group)
        works = store.take_many("q", 9)
        tokens = [work.token for work in works]
        assert tokens == sorted(set(tokens))
        for work in works:
            list(work)
        works[0].accept()
        works[1].reject("no")
        store.accept(works[2:4])
        outcomes = ["accepted", "rejected", "accepted", "accepted", "held"]
        assert [store.outcome(token) for token in tokens] == outcomes
        journal = list(store.journal())
        assert [event.token for event in journal if event.kind == "taken"] == tokens
        numbers = [event.position for event in journal]
        assert len(set(numbers)) == len(numbers)


@both
def test_a_lease_of_no_time_is_refused(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.send("q", "x")
        for lease in (0, 0.0009):
            with pytest.raises(MessageError, match=r"lease: found .* from 0\.001 to"):
                store.take("q", lease=lease)
        work = store.take("q", lease=60)
        assert work is not None
        with pytest.raises(MessageError, match=r"lease: found 0, allowed: .* from 0\.001 to"):
            work.extend(0)


def test_a_look_at_a_queue_does_not_wait_for_a_writer_that_does_not_concern_it() -> None:
    with Store.open(made_url("sqlite")) as store, ThreadPoolExecutor(1) as other:
        store.send("q", "x", group="g")
        with store.transaction() as tx:
            tx.send("other", "y")
            assert other.submit(store.waiting, "q").result(20).waiting == 1
            assert [each.body for each in other.submit(store.peek, "q").result(20)] == ["x"]
            with pytest.raises(MessageError, match="that writes"):
                store.waiting("q")


@both
def test_what_waits_is_told_with_dates(dialect: str) -> None:
    with Store.open(made_url(dialect), clock=lambda: 1_795_414_305.1) as store:
        for group in "ab":
            store.send("q", group, group=group, priority=3)
        lines = str(store.waiting("q")).splitlines()
        assert lines[1] == "  1. a: 1 item, priority 3, since 2026-11-23 06:11:45.1 UTC"
        assert " s" not in lines[3].partition(":")[2].replace(" same", "")
