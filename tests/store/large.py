"""A store in which all that can grow is large."""

from pathlib import Path
from typing import Final

from fairlead.store.store import Store

POOL: Final = """
name = "pool"
policy = "weighted"
[[destination]]
name = "a"
[[destination]]
name = "b"
weight = 2
"""
TICKETS: Final = POOL.replace("pool", "tickets") + '[store]\nallocation = "ticket"\n'
HELD: Final = 20
"""So many groups are in the hands of readers: as many as there are readers, whatever else grows."""
LATER: Final = 10**17
"""A time far ahead, in microseconds."""
TALKS: Final = """
[[message_type]]
name = "t"
[[contract]]
name = "c"
any = ["t"]
[[service]]
name = "s0"
queue = "s"
contracts = ["c"]
[[service]]
name = "s1"
queue = "s"
contracts = ["c"]
"""
ROWS: Final = Path(__file__).with_name("large.sql")


def fill(store: Store, folder: Path, size: int) -> None:
    """Insert so many rows of all that can grow, into a store that has nothing yet."""
    _begin(store, folder)
    with store._connection() as database:
        on_server = database.dialect == "postgresql"
        text = ROWS.read_text("utf-8").format(
            n=size,
            held=HELD,
            later=LATER,
            body="convert_to(repeat('b', 100), 'UTF8')" if on_server else "zeroblob(100)",
            transaction="transaction, " if on_server else "",
            txid=f"(3 + k * 600 / {size})::text::xid8, " if on_server else "",
        )
        if on_server:
            database.execute("SELECT setval('fairlead.numbers', %s)", (10 * size,))
            numbers = f"(SELECT generate_series(1, {size}::bigint) AS k) AS n"
        else:
            text = text.replace("fairlead.", "fairlead_")
            database.execute("CREATE TEMP TABLE n (k INTEGER PRIMARY KEY)")
            each = "WITH RECURSIVE e (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM e WHERE k < ?) "
            database.execute(each + "INSERT INTO n SELECT k FROM e", (size,))  # noqa: S608 - no values
            numbers = "n"
        database.begin()
        database.script(text.replace("FROM n", f"FROM {numbers}"))
        database.commit()
        database.execute("VACUUM ANALYZE" if on_server else "ANALYZE")


def _begin(store: Store, folder: Path) -> None:
    """Queues q (1), f (2), which tenants share, and m (3), which is limited; clusters."""
    for queue, tenant in (("q", ""), ("f", "first"), ("m", "")):
        store.send(queue, "first", tenant=tenant)
        work = store.take(queue)
        assert work is not None
        with work:
            assert list(work)
    store.set_order("f", weights={"t1": 2})
    store.set_limits("m", max_waiting=10**6)
    talks = folder / "talks.toml"
    talks.write_text(TALKS)
    store.declare(talks)
    pool = folder / "pool.toml"
    for text in (POOL, TICKETS) if not store.has_one_writer else (POOL,):  # SQLite refuses tickets
        pool.write_text(text)
        store.load_clusters(pool)
    with store._writing() as database:
        dot = "." if database.dialect == "postgresql" else "_"
        database.execute("DELETE FROM fairlead.journal".replace(".", dot))
