"""A reader of a queue that is not there is told so: its name may be misspelt."""

import logging
import threading
from collections.abc import Callable

import pytest

from fairlead import Store
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.worker import Worker


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "fairlead.store"]


def test_a_take_says_once_that_the_queue_is_not_there(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.send("invoices", 1)
    for _ in range(3):
        assert store.take("invoicse") is None
        store._leases._looked.clear()  # as if a second had passed
    (line,) = said(caplog)
    assert line.startswith("queue 'invoicse' is not there yet: a reader gets nothing until ")
    assert line.endswith("; did you mean 'invoices'?")
    assert store.take("invoices") is not None
    assert len(said(caplog)) == 1


def test_a_queue_that_comes_is_read_and_nothing_more_is_said(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    done = threading.Timer(0.2, store.send, ["late", 1])
    done.start()
    work = store.take("late", wait=60)
    done.join()
    assert work is not None
    assert len(said(caplog)) == 1


def test_a_worker_says_it_when_it_starts(
    url: str, opened: Callable[..., Store], caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(url)
    store.send("invoices", 1)
    handled = threading.Event()
    handlers = {
        queue: Handler(lambda message: handled.set(), in_transaction=False)
        for queue in ("invoicse", "invoices")
    }
    with caplog.at_level(logging.WARNING):
        worker = Worker(store, handlers, Handling())
        worker.start(1, until_empty=True)
        assert handled.wait(60)
        worker.stop()
        while worker.busy:
            threading.Event().wait(0.01)
    assert "queue 'invoicse' is not there yet" in said(caplog)[0]
