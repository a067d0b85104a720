"""A delivery that is killed again and again arrives once: whole, or not at all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from tests.sockets.waiting import until
from tests.stores import made_url

from fairlead import Store

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1800)]
POOL = """
policy = "%s"
name = "pool"
[[destination]]
name = "A"
[[destination]]
name = "B"
"""
ROWS, KILLS = 30_000, 13
WAYS = {
    "sqlite": ("sqlite", "round-robin", 4),
    "executors copy": ("postgresql", "round-robin", 2),
    "one transaction": ("postgresql", "fewest-pending", 2),
}
"""Dialect and policy; each is killed so many times KILLS: more than 50 times on each database."""
PATIENCE = 300.0
"""Seconds, in the end, when it is killed no more."""
COMMAND = [sys.executable, "-m", "fairlead", "dispatch", "jobs.jsonl", "-c", "pool.toml"]


@pytest.mark.parametrize(
    ("way", "part"), [(way, part) for way, (*_, parts) in WAYS.items() for part in range(parts)]
)
def test_killed_again_and_again(way: str, part: int, tmp_path: Path) -> None:
    """With kill -9 of all its processes, at any moment; readers look meanwhile."""
    dialect, policy, _ = WAYS[way]
    random = Random(f"{way} {part}")  # noqa: S311
    (tmp_path / "pool.toml").write_text(POOL % policy, encoding="utf-8")
    lines = [
        json.dumps({"id": f"j{k}", "time": k, "body": f"work {k}", "group": f"g{k % 70}"})
        for k in range(ROWS)
    ]
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    url = made_url(dialect)
    kills = arrived = 0
    with Store.open(url) as store:
        store.load_clusters(tmp_path / "pool.toml")
        while kills < KILLS or not arrived:
            with subprocess.Popen(
                [*COMMAND, "--deliver", url, "--run", f"run {arrived}"],
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as process:
                life = random.uniform(3, 16) if kills < KILLS else PATIENCE
                end = time.monotonic() + life
                while time.monotonic() < end and process.poll() is None:
                    assert store.pool("pool").choices in (0, ROWS)
                    assert sum(each.messages for each in store.queues()) in (0, ROWS)
                    time.sleep(0.05)
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    kills += 1
            run = store.bulk_run(f"run {arrived}")
            until(lambda: not store.check(repair=True))  # the server hears of it in a moment
            if run is None:
                continue
            assert run.messages == (ROWS if arrived == 0 else 0)
            arrived += 1
        groups: dict[str, list[int]] = {}
        for queue in ("A", "B"):
            while work := store.take(queue):
                with work:
                    bodies = [int(str(message.body).split()[1]) for message in work]
                    groups.setdefault(f"{queue} {work.group}", []).extend(bodies)
        assert sum(map(len, groups.values())) == ROWS
        assert all(each == sorted(each) for each in groups.values())
