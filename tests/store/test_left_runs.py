"""What a run of many messages leaves whose process was killed: whoever comes next sweeps it."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from fairlead import Cluster, Store
from fairlead.store.journal.retention import Retention
from tests.sockets.waiting import until
from tests.stores import made_url

POOL = Cluster.of("round-robin", name="pool", destination=[{"name": "A"}, {"name": "B"}])
LEFT = ("bulk_staging", "bulk_reserved", "bulk_held")
KILLED = """
import sys
from fairlead import Store
store = Store.open(sys.argv[1])
with (
    store.staged_run("night") as run,
    store.held_clusters("day", ["pool"], "wait"),
    store._connection() as database,
):
    prepared = store.prepare_turns("pool", 7)
    with store.transaction() as tx:
        tx.reserve_turns(run.number, "pool", 7, prepared)
    database.execute(f"INSERT INTO {run.table} (attempt, cluster, key, id, tenant, cost, delay, "
        "format, body) VALUES ('a', 'pool', 1, 'm', '', 1, 0, 0, '')")
    print(run.number, flush=True)
    sys.stdin.read()
"""


def another_run(store: Store) -> None:
    with store.staged_run("other"):
        pass


def a_check(store: Store) -> None:
    store.check(repair=True)


def a_take(store: Store) -> None:
    store._retention = Retention(store._connections, store._context)  # as after a minute
    assert store.take("A") is None


def left(url: str) -> list[int]:
    """Rows of each table of runs, and tables of their messages."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM fairlead.{name}".encode()).fetchone()  # noqa: S608
            for name in LEFT
        ]
        counts += connection.execute(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^staged_'"
        ).fetchall()
    return [count[0] for count in counts if count]


@pytest.mark.parametrize("sweep", [another_run, a_check, a_take])
def test_whoever_comes_next_sweeps_it(sweep: Callable[[Store], None]) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.keep_clusters([POOL])
        command = [sys.executable, "-c", KILLED, url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == b"1"
            assert store.pool("pool").choices == 7
            a_take(store)
            assert left(url) == [2, 1, 1, 1], "who lives is left alone"
            process.kill()

        def is_swept() -> bool:
            sweep(store)
            return left(url) == [0, 0, 0, 0]

        until(is_swept)  # the server hears of it in a moment
        assert store.pool("pool").choices == 0
        assert store.check() == []
