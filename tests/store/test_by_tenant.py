"""What a queue holds is told tenant by tenant."""

from __future__ import annotations

import pytest

from fairlead import Store
from fairlead.store.admin.queues import TenantMetrics
from tests.stores import made_url


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_each_tenant_has_a_row_and_the_rows_are_the_queue(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.send("letters", "x")
        for number in range(5):
            store.send("orders", number, group=f"n{number % 2}", tenant="north")
        store.send("orders", "soon", tenant="north", delay=3600)
        store.send("orders", "o", group="s", tenant="south")
        store.send("orders", "p", tenant="south", priority=9)
        work = store.take("orders", group="s")
        assert work is not None
        assert list(work)
        work.release(delay=3600)
        held = store.take("orders", group="n0")
        assert held is not None
        next(held)
        lost = store.take("orders")
        assert lost is not None
        next(lost)
        lost.reject("why")
        letters, *rows = store.queues_by_tenant()
        assert letters[:8] == ("letters", "", 1, 1, 0, 0, 0, 0)
        assert letters.oldest >= 0
        by_name = {each.tenant: each for each in rows}
        assert list(by_name) == ["north", "south"]
        assert by_name["north"].delayed == 1
        assert by_name["south"].parked == 1
        whole = store.queues()[1]
        for what in TenantMetrics._fields[2:8]:
            assert sum(getattr(each, what) for each in rows) == getattr(whole, what), what


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_queue_in_which_nothing_was_sent_has_no_row(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.set_limits("orders", max_failures=2)
        assert store.queues_by_tenant() == []
