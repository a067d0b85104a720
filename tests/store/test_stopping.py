"""What a worker says when it is told to stop while its database is away."""

import logging
import signal
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest

from fairlead import Store
from fairlead.errors import StoreError
from fairlead.store.workers.threads import Threads


def asked_to_stop() -> SimpleQueue[int]:
    asked: SimpleQueue[int] = SimpleQueue()
    asked.put(signal.SIGTERM)
    return asked


def test_a_database_that_is_away_is_not_back_when_its_worker_is_told_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with Store.open(f"sqlite:///{tmp_path / 'work.db'}") as store:
        threads = Threads(store)
        failed, told, steps = Event(), Event(), []

        def step() -> bool:
            steps.append(1)
            if len(steps) == 1:
                failed.set()
                raise StoreError("away")
            told.wait()
            return False  # it was told to stop, and has asked the database nothing

        threads.begin(step)
        failed.wait()
        while len(steps) < 2:
            told.wait(0.01)
        threads.stop()
        told.set()
        assert threads.run(asked_to_stop(), 60) == 0
    assert "event=database-lost" in caplog.text
    assert "event=database-back" not in caplog.text


def test_who_has_nothing_in_hand_leaves_no_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'work.db'}") as store:
        threads = Threads(store)
        answered = Event()

        def step() -> bool:
            answered.wait()
            return False

        threads.begin(step)
        try:
            assert threads.run(asked_to_stop(), 0) == 0
        finally:
            answered.set()
    assert "left work in hand" not in caplog.text
    assert "with nothing in hand" in caplog.text


def test_what_a_stopped_process_left_is_not_said_to_be_of_a_dead_one(url: str) -> None:
    with Store.open(url) as after:
        for stopped in (True, False):
            left = Store.open(url)
            left.send("jobs", "long", group="kim")
            held = left.take("jobs")
            assert held is not None
            assert list(held)
            if stopped:
                left.stopping()
            left.close()
            after._leases._looked.clear()  # it looks once a second
            work = after.take("jobs")
            assert work is not None
            with work:
                assert list(work)
        told = [event.detail for event in after.journal() if event.kind == "released"]
    assert told == ["its reader was told to stop", "its reader is dead"]
