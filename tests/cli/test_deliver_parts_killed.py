"""Of a delivery single processes of Spark are killed: it arrives whole, or comes again."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.cli.commands import SECONDS, Command
from tests.pipeline.spark.standalone import CLUSTER, cluster
from tests.pipeline.spark.test_killed import PYTHON
from tests.sockets.waiting import until
from tests.stores import made_url

from fairlead import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="not here: /proc"),
]
POOL = """
policy = "round-robin"
name = "pool"
[[destination]]
name = "A"
[[destination]]
name = "B"
"""
ROWS, RUNS = 20_000, 4


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str, Store]]:
    """A folder with jobs, and a store on PostgreSQL, into which executors copy."""
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    lines = [
        json.dumps({"id": f"j{k}", "time": k, "body": f"work {k}", "group": f"g{k % 70}"})
        for k in range(ROWS)
    ]
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.load_clusters(tmp_path / "pool.toml")
        yield tmp_path, url, store


def copying(store: Store) -> bool:
    """Whether executors have a table to copy into."""
    with store._connection() as database:
        ((number,),) = database.execute(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^staged_'"
        ).fetchall()
    return bool(number)


def python_workers(command: Command) -> list[int]:
    command.look()
    _, *workers = [pid for pid, what in command.seen.items() if "pyspark.daemon" in what] or [0]
    return workers


def attempt(
    site: tuple[Path, str, Store], victims: Callable[[Command], list[int]], wait: float, *more: str
) -> tuple[int, int]:
    """A delivery of which one process is killed while executors copy; its status, and kills."""
    folder, url, store = site
    asked = ("jobs.jsonl", "-c", "pool.toml", "--deliver", url, "--run", "night", *more)
    kills = 0
    with Command(folder, "dispatch", *asked, **CLUSTER, **PYTHON) as command:
        deadline = time.monotonic() + 5 * SECONDS
        while command.process.poll() is None and not kills:
            assert time.monotonic() < deadline
            found = victims(command) if copying(store) else []
            time.sleep(wait if found else 0.02)
            for process in found[-1:]:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                    kills += 1
        status = command.ended()
        assert status in (0, 1), command.said()
    assert store.pool("pool").choices in (0, ROWS)
    assert sum(each.messages for each in store.queues()) in (0, ROWS)
    return status, kills


def arrives_in_the_end(
    site: tuple[Path, str, Store], victims: Callable[[Command], list[int]], *more: str
) -> None:
    """Whatever is killed: it is there whole and once, and nothing is left."""
    store = site[2]
    random = Random("parts")  # noqa: S311
    kills = 0
    for _ in range(RUNS):
        status, killed = attempt(site, victims, random.uniform(0, 0.4), *more)
        kills += killed
        if status == 0:
            break
        assert store.bulk_run("night") is None
    else:
        status, _ = attempt(site, lambda _: [], 0, *more)
    assert status == 0
    assert kills
    until(lambda: not store.check(repair=True))
    run = store.bulk_run("night")
    assert run is not None
    assert run.messages == ROWS
    bodies: list[str] = []
    for queue in ("A", "B"):
        while work := store.take(queue):
            with work:
                bodies += [str(message.body) for message in work]
    assert sorted(bodies) == sorted(f"work {k}" for k in range(ROWS))
    assert store.check() == []


def test_a_python_worker_is_killed(site: tuple[Path, str, Store]) -> None:
    """On one machine a task that is lost is the end of the run: it fails, and is begun again."""
    arrives_in_the_end(site, python_workers)


def test_an_executor_is_killed(site: tuple[Path, str, Store], tmp_path: Path) -> None:
    """On a cluster Spark gives its tasks to others: they copy once more, under other names."""
    place = tmp_path / "cluster"
    place.mkdir()
    with cluster(place, workers=2) as standalone:
        arrives_in_the_end(site, lambda _: standalone.executors(), "--master", standalone.url)
