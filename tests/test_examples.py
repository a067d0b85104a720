"""The examples run as a reader of their pages runs them."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairlead import Service, Store
from fairlead.store.workers.handling import Handling, handle
from fairlead.store.workers.serving import of_service
from tests.cli.commands import MAIN
from tests.stores import made_url

ROOT = Path(__file__).parent.parent
REQUESTS = 100
READERS = 4
ORDER = [0, 80, 90, 70, 60, 50, 40, 30, 20, 10, *(i for i in range(REQUESTS) if i % 10)]
"""As the document prints it."""
NUMBER = re.compile(r">(\d+)</request>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the priority service."""
    shutil.copytree(ROOT / "examples" / "priority-service", tmp_path, dirs_exist_ok=True)
    return tmp_path


@contextmanager
def running(folder: Path, *arguments: str, url: str) -> Iterator[subprocess.Popen[str]]:
    """A program in a process of its own; it is stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "FAIRLEAD_STORE": url, "WORKLOAD_SECONDS": "0.02"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def number(response: str) -> int:
    found = NUMBER.search(response)
    assert found is not None, response
    return int(found[1])


def read(store: Store, queue: str, service: Service) -> None:
    """Be a reader of a service until nothing comes any more."""
    while work := store.take(queue):
        handle(store, work, of_service(service).handler, Handling())


def bodies(store: Store) -> Iterator[str]:
    """What has come back to the client."""
    while work := store.take("SampleClient"):
        with work:
            yield from (message.body for message in work)


def passed_over(store: Store, queue: str) -> list[int]:
    """Of each group that was taken: how many better ones waited then, as the journal says.

    Of the order only what the document has: raised groups first, by priority and then by when they
    were raised; then the others, by when they arrived. Takes are in the order of their tokens.
    """
    place: dict[str, tuple[int, ...]] = {}
    found = []
    events = [event for event in store.journal() if event.queue == queue]
    for event in sorted(events, key=lambda event: event.token or event.position):
        if event.kind == "sent":
            place.setdefault(event.group, (1, event.position))
        elif event.kind == "raised" and event.priority is not None:
            place[event.group] = (0, -event.priority, event.position)
        elif event.kind == "taken":
            own = place.pop(event.group)
            found.append(sum(each < own for each in place.values()))
    return found


@pytest.mark.slow
def test_the_priority_service_answers_each_time_the_most_urgent_request(folder: Path) -> None:
    url = f"sqlite:///{folder}/fairlead.db"
    for command in (["store", "init"], ["declare", "declare.toml"]):
        with running(folder, "-c", MAIN, *command, url=url) as declaring:
            assert declaring.wait(60) == 0
    with Store.open(url) as store:
        with running(folder, "-c", MAIN, "work", "declare.toml", "--threads", "1", url=url):
            with running(folder, "send_requests.py", url=url) as sending:
                assert sending.wait(60) == 0
            with running(folder, "print_responses.py", url=url) as printing:
                assert printing.stdout is not None
                lines = [printing.stdout.readline() for _ in range(REQUESTS)]
        assert sorted(map(number, lines)) == list(range(REQUESTS))
        assert set(passed_over(store, "BackEndQueue")) == {0}


@pytest.mark.slow
def test_several_readers_begin_with_the_most_urgent_requests(folder: Path) -> None:
    """Whoever takes passes over what others are taking at that moment, and nothing else."""
    url = made_url("postgresql")
    work = ["-c", MAIN, "work", "--until-empty", "--check-interval", "0.05"]
    back = ["services:back_end", "--threads", str(READERS)]
    with Store.open(url) as store:
        store.declare(folder / "declare.toml")
        with running(folder, "send_requests.py", url=url) as sending:
            assert sending.wait(60) == 0
        for service in (["services:front_end"], back, ["services:front_end"]):
            store.waiting("BackEndQueue")  # acts on raises: who does passes over none of them
            with running(folder, *work, *service, url=url) as working:
                assert working.wait(60) == 0
        found = [number(body) for body in bodies(store)]
        assert sorted(found) == list(range(REQUESTS))
        assert max(passed_over(store, "BackEndQueue")) < READERS


def test_with_the_document_s_times_the_responses_come_in_its_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Request i is sent at 24 * i ms: what is sent while one is worked on, is sent by `sleep`."""
    services, sending, printing = (
        SimpleNamespace(**runpy.run_path(str(folder / f"{name}.py")))
        for name in ("services", "send_requests", "print_responses")
    )
    requests = iter(range(REQUESTS))

    with Store.open(f"sqlite:///{folder}/fairlead.db") as store:
        store.declare(folder / "declare.toml")

        def sleep(_: float) -> None:
            for i in islice(requests, 2000 // 24):
                sending.send_request(store, i)
                read(store, "FrontEndQueue", services.front_end)

        own = services.work.__globals__
        monkeypatch.setitem(own, "time", SimpleNamespace(sleep=sleep))
        sending.send_request(store, next(requests))
        read(store, "FrontEndQueue", services.front_end)
        read(store, "BackEndQueue", services.back_end)
        read(store, "FrontEndQueue", services.front_end)
        found = [number(response) for response in printing.responses(store, 0)]
    assert found == ORDER


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_each_night_arrives_once_and_the_second_has_better_weights(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "nightly", tmp_path, dirs_exist_ok=True)
    nights = ["2026-11-27", "2026-11-28", "2026-11-28"]
    found = subprocess.run(
        [sys.executable, "nightly.py", *nights],
        cwd=tmp_path,
        env={**os.environ, "JOBS": "24", "UNIT_SECONDS": "0.05"},
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
    )
    lines = found.stdout.splitlines()
    assert lines[0] == "2026-11-27: 24 jobs, {'large': 12, 'small': 12}"
    assert "published beside it: goes to large, turn 24" in lines
    assert lines[-1].startswith("not again: run 'night of 2026-11-28': found one that was brought")
    with Store.open(f"sqlite:///{tmp_path}/nightly.db") as store:
        assert store.pool("pool").choices == 50
        assert sum(each.messages for each in store.queues()) == 0
        assert store.check() == []
    weights = re.findall(r"  (\w+) gets weight (\d+) from now on", found.stdout)
    assert weights[1] == ("small", "1")
    assert int(dict(weights[:1])["large"]) > 1
    assert "2026-11-28: 24 jobs, {'large': 12, 'small': 12}" not in lines
