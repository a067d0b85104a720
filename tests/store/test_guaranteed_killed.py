"""Guaranteed messages, while those who publish, receive, fail and reroute are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead import Cluster, Store
from fairlead.errors import ChangeError, NoDestinationError
from tests.stores import made_url

KILLS = 25
NAMES = "ABC"
SUBJECT = "/s"


def act(url: str, seed: int) -> None:
    """Anything that anybody does with a subject, until somebody kills this."""
    chosen = random.Random(seed)  # noqa: S311 - a history, no secret
    with Store.open(url) as store:
        print("ready", flush=True)
        for at in range(10**9):
            name = chosen.choice(NAMES)
            with suppress(ChangeError, NoDestinationError):  # others do so, too
                if (what := chosen.random()) < 0.5:
                    mode = chosen.choice(["round-robin", "sorted", "weighted", "none"])
                    said = {"subject": SUBJECT, "mode": mode, "delivery": "some"}
                    store.publish("news", at, said, id=f"{seed}-{at}")
                elif what < 0.85:
                    work = store.take(f"news:{SUBJECT}:{name}", lease=5)
                    if work is not None:
                        list(work)
                        work.accept()
                elif what < 0.93:
                    store.change("news", f"subscriber:{name}@{SUBJECT}", "state", "failed")
                    store.reroute("news", SUBJECT, name)
                else:
                    store.subscribe("news", SUBJECT, name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_none_is_lost_and_none_comes_to_one_receiver_twice(kind: str) -> None:
    url = made_url(kind)
    chosen = random.Random(1)  # noqa: S311
    with Store.open(url) as store:
        options = {"subscribers": "any", "delivery_timeout": 0, "zero_receivers": "failure"}
        store.keep_clusters([Cluster.of("smartsockets", name="news", options=options)])
        for name in NAMES:
            store.subscribe("news", SUBJECT, name)
        running = [begun(url, seed) for seed in range(3)]
        for kill in range(KILLS):
            time.sleep(chosen.uniform(0.1, 0.6))
            killed(running.pop(0))
            running.append(begun(url, 10 + kill))
        for process in running:
            killed(process)
        for name in NAMES:
            store.subscribe("news", SUBJECT, name)
        until = time.monotonic() + 20
        while time.monotonic() < until and any(each.messages for each in store.queues()):
            for name in NAMES:
                while (work := store.take(f"news:{SUBJECT}:{name}")) is not None:
                    list(work)
                    work.accept()
        check(store)


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def begun(url: str, seed: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import act; act({url!r}, {seed})"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def check(store: Store) -> None:
    decided: dict[str, int] = {}
    accepted: Counter[tuple[str, str]] = Counter()
    copies: Counter[tuple[str, str]] = Counter()
    for event in store.journal():
        if event.kind == "decided":
            copies[event.id, event.destination or ""] += 1
            if event.detail is None:
                decided[event.id] = event.position
        elif event.kind == "accepted" and event.queue.startswith("news:"):
            accepted[event.id.split(":")[0], event.queue[-1]] += 1
    assert len(decided) > KILLS
    told = store.deliveries(decided.values())
    for id_, number in decided.items():
        if any(accepted[id_, name] for name in NAMES):
            assert told[number].outcome == "acknowledged"
        else:  # all who had a copy of it have failed
            assert told[number].outcome == "nack"
    assert all(n <= copies[key] for key, n in accepted.items())
    assert store.check() == []
