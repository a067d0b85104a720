"""Readers that wait, and what they make of work that somebody else is about to settle."""

from typing import Any

import pytest

from fairlead import Store
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
