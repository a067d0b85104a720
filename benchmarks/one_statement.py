"""q: verbs of a store in one statement, and the same statement by statement, on PostgreSQL."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import Store
from fairlead.store.database.postgresql import PostgreSQL

MANY = 100
POOL = """
name = "pool"
policy = "weighted"
destination = [{name = "a", weight = 4}, {name = "b", weight = 2}, {name = "c", weight = 1}]
"""


def part_q(runs: int) -> list[Line]:
    """How much longer each verb takes without the functions of the schema."""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        folder = Path(name)
        (folder / "pool.toml").write_text(POOL, encoding="utf-8")
        with (
            server(folder / "pg") as url,
            Store.open(url("one"), create=True) as one,
            Store.open(url("plain"), create=True) as plain,
        ):
            for store in (one, plain):
                store.load_clusters(folder / "pool.toml")
            return [_line(what, verb, one, plain, runs) for what, verb in VERBS.items()]


def _line(what: str, verb: Callable[[Store], object], one: Store, plain: Store, runs: int) -> Line:
    def by_statements() -> None:
        with _without_functions(plain):
            _often(verb, plain)

    found = medians({"one": lambda: _often(verb, one), "plain": by_statements}, runs)
    return Line("q", what, "in one statement", found["plain"] / found["one"], "> 1")


def _often(verb: Callable[[Store], object], store: Store) -> None:
    for _ in range(MANY):
        verb(store)


@contextmanager
def _without_functions(store: Store) -> Iterator[None]:
    store._one_statement = PostgreSQL.remote = False  # noqa: SLF001 - nobody else asks for this
    try:
        yield
    finally:
        store._one_statement = PostgreSQL.remote = True  # noqa: SLF001


def _take(store: Store) -> None:
    store.send("q", "x")
    work = store.take("q")
    assert work is not None
    list(work)
    work.accept()


def _in_transaction(store: Store) -> None:
    with store.transaction() as tx:
        tx.send("other", "x")


VERBS: dict[str, Callable[[Store], object]] = {
    "send": lambda store: store.send("other", "x"),
    "send, take and settle": _take,
    "send in a transaction": _in_transaction,
    "next_destination": lambda store: store.next_destination("pool"),
    "publish": lambda store: store.publish("pool", "x"),
}
