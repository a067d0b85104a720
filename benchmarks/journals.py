"""q: the journal of a store read by Spark, beside a plain COPY of the same rows."""

from pathlib import Path
from typing import Final

import psycopg
from pyspark.sql import SparkSession

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import Store

EVENTS: Final = 400_000
"""A quarter of them sent, decided, taken and accepted each: an hour of 100,000 messages."""
FILL: Final = """
INSERT INTO fairlead.journal (id, transaction, time, kind, queue, group_name, key, tenant, priority,
  cost, type, attempt, token, actor, lease, detail, cluster, version, stream, destination, address,
  outcome, sequence, said)
SELECT 1000 + k, (3 + k / 4000)::text::xid8, 1700000000000000 + k * 9000, kind,
  'of-dev' || k %% 8, 'customer-' || k / 4 %% 5000, 'm-' || k / 4, '', 100,
  CASE WHEN kind <> 'decided' THEN 1 END, 'order',
  CASE WHEN kind IN ('taken', 'accepted') THEN 1 END,
  CASE WHEN kind IN ('taken', 'accepted') THEN k / 4 END, 'desk-' || k %% 20,
  CASE WHEN kind = 'taken' THEN 1700000060000000 + k * 9000 END, NULL,
  CASE WHEN d THEN 'pool' END, CASE WHEN d THEN 1 END, CASE WHEN d THEN '' END,
  CASE WHEN d THEN 'DEV' || k %% 8 END, CASE WHEN d THEN 'queue:of-dev' || k %% 8 END,
  CASE WHEN d THEN 'routed' END, CASE WHEN d THEN k / 4 END,
  CASE WHEN d THEN json_build_object('group', 'customer-' || k / 4 %% 5000)::text END
FROM (SELECT k, kinds[k %% 4 + 1] AS kind, k %% 4 = 1 AS d
  FROM generate_series(0, %(events)s::bigint - 1) AS k,
    (SELECT ARRAY['sent', 'decided', 'taken', 'accepted'] AS kinds) AS named) AS made
"""
COPY: Final = b"COPY fairlead.journal TO STDOUT (FORMAT binary)"


def part_q(spark: SparkSession, folder: Path, _: int, runs: int) -> list[Line]:
    """All columns of all events, by Spark, by a COPY and by the store's own verb."""
    with server(folder / "pg") as url:
        place = url("journals")
        with Store.open(place, create=True):
            fill(place)
        tables = spark.read.format("fairlead").option("store", place)

        def read() -> None:
            tables.load("journal").write.format("noop").mode("overwrite").save()

        def copied() -> None:
            with (
                psycopg.connect(place) as connection,
                connection.cursor() as cursor,
                cursor.copy(COPY) as copy,
            ):
                assert sum(len(block) for block in copy) > EVENTS

        def listed() -> None:
            with Store.open(place) as store:
                assert sum(1 for _ in store.journal()) == EVENTS

        assert tables.load("journal").count() == EVENTS
        took = medians({"Spark": read, "COPY": copied, "Store.journal": listed}, runs)
    name = f"events a second of a journal read by Spark, {EVENTS:,}"
    return [
        Line("q", name, "a plain COPY out", took["COPY"] / took["Spark"], ">= 0.5"),
        Line("q", name, "a loop of Store.journal", took["Store.journal"] / took["Spark"], ""),
    ]


def fill(url: str) -> None:
    """Insert the events by hand: one by one it would take an hour."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT setval('fairlead.numbers', %s)", (2 * EVENTS + 1000,))
        connection.execute(FILL, {"events": EVENTS})
        connection.execute("VACUUM ANALYZE")
