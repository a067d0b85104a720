"""Queues in a database: ours, the same statements by hand, and what a user would pick instead.

Each contender sends so many messages of 256 bytes, and takes and settles them, one by one or in
batches; what it cannot do is not there. All are durable to disk: SQLite with synchronous FULL,
PostgreSQL with its defaults (fsync and synchronous_commit on).
"""

import asyncio
import sqlite3
import time
from pathlib import Path
from typing import Any

import psycopg

from fairlead import Store
from fairlead.store.database.statements import statements

BODY = b"x" * 256


class Ours:
    def __init__(self, url: str) -> None:
        self.store = Store.open(url, create=True)

    def send(self, n: int) -> None:
        for _ in range(n):
            self.store.send("q", BODY)

    def send_batches(self, n: int, size: int) -> None:
        for _ in range(n // size):
            self.store.send_many("q", [{"body": BODY}] * size)

    def work(self, n: int) -> None:
        for _ in range(n):
            work = self.store.take("q")
            assert work is not None
            list(work)
            work.accept()

    def work_batches(self, n: int, size: int) -> None:
        done = 0
        while done < n:
            works = self.store.take_many("q", size)
            assert works
            done += sum(len(list(work)) for work in works)
            self.store.accept(works)


class ByHandSQLite:
    """The statements that a store needs for this, in Python's sqlite3; the journal, too."""

    def __init__(self, path: Path) -> None:
        Store.open(f"sqlite:///{path}").close()
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(
            "INSERT INTO fairlead_queues (name, remembered) VALUES ('q', 1) ON CONFLICT DO NOTHING"
        )

    def send(self, n: int) -> None:
        self.send_batches(n, 1)

    def send_batches(self, n: int, size: int) -> None:
        db = self.db
        for _ in range(n // size):
            db.execute("BEGIN IMMEDIATE")
            ((queue,),) = db.execute("SELECT id FROM fairlead_queues WHERE name = 'q'").fetchall()
            ((last,),) = db.execute("SELECT coalesce(max(id), 0) FROM fairlead_journal").fetchall()
            now, ids = time.time_ns() // 1000, range(last + 1, last + size + 1)
            db.executemany(
                "INSERT INTO fairlead_groups (id, queue, tenant, fair, state, k1, k2, head, "
                "arrived) VALUES (?, ?, '', 0, 1, 1, ?, ?, ?)",
                [(id_, queue, id_, id_, now) for id_ in ids],
            )
            db.executemany(
                "INSERT INTO fairlead_messages (id, queue, group_id, key, arrived, cost, format,"
                " body) VALUES (?, ?, ?, ?, ?, 1, 0, ?)",
                [(id_, queue, id_, f"m-{id_}", now, BODY) for id_ in ids],
            )
            self._journal("sent", [(id_, f"m-{id_}", None) for id_ in ids], now)
            db.execute("COMMIT")

    def work(self, n: int) -> None:
        self.work_batches(n, 1)

    def work_batches(self, n: int, size: int) -> None:
        db = self.db
        done = 0
        while done < n:
            db.execute("BEGIN IMMEDIATE")
            now = time.time_ns() // 1000
            ((token,),) = db.execute("SELECT max(id) + 1 FROM fairlead_journal").fetchall()
            groups = db.execute(
                "UPDATE fairlead_groups SET state = 2, token = ?, taken = ?, deadline = ? WHERE id "
                "IN (SELECT id FROM fairlead_groups WHERE queue = 1 AND state = 1 ORDER BY k1, k2 "
                "LIMIT ?) RETURNING id",
                [token, now, now + 60_000_000, size],
            ).fetchall()
            rows = [
                db.execute(
                    "SELECT id, key, body FROM fairlead_messages WHERE group_id = ? ORDER BY id",
                    group,
                ).fetchone()
                for group in groups
            ]
            self._journal("taken", [(token + k, row[1], token) for k, row in enumerate(rows)], now)
            db.execute("COMMIT")
            db.execute("BEGIN IMMEDIATE")
            ((last,),) = db.execute("SELECT max(id) FROM fairlead_journal").fetchall()
            ended = [(row[0], token) for row in rows]
            db.executemany("DELETE FROM fairlead_groups WHERE id = ? AND token = ?", ended)
            db.executemany("DELETE FROM fairlead_messages WHERE id = ?", [row[:1] for row in rows])
            settled = [(last + 1 + k, row[1], token) for k, row in enumerate(rows)]
            self._journal("accepted", settled, now)
            db.execute("COMMIT")
            done += len(rows)

    def _journal(self, kind: str, rows: list[tuple[int, str, int | None]], now: int) -> None:
        self.db.executemany(
            "INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, token, "
            "actor) VALUES (?, ?, ?, 'q', '', ?, '', ?, 'me')",
            [(id_, now, kind, key, token) for id_, key, token in rows],
        )


class StatementsAlone:
    """What the store runs to send one message, and nothing of its Python: what can be reached."""

    def __init__(self, path: Path) -> None:
        self.hand = ByHandSQLite(path)
        self.work = self.hand.work

    def send(self, n: int) -> None:
        texts, db = statements("sqlite"), self.hand.db
        nothing = dict.fromkeys(("name", "lane", "expires", "type", "conversation"))
        fixed = {"tenant": "", "fair": 0, "priority": -1, "entered": 0, "number": 0, "k1": 1}
        fixed |= {**nothing, "cost": 1, "format": 0, "body": BODY}
        for _ in range(n):
            db.execute("BEGIN IMMEDIATE")
            ((queue, *_),) = db.execute(texts["queue"], {"name": "q"}).fetchall()
            ((last,),) = db.execute(texts["last_number"]).fetchall()
            now, id_ = time.time_ns() // 1000, last + 1
            key = f"m-{id_}"
            row = fixed | {"id": id_, "group_id": id_, "k2": id_, "queue": queue, "key": key}
            db.execute(texts["add_group"], row | {"arrived": now})
            db.execute(texts["add_message"], row | {"arrived": now})
            event = {"queue": "q", "time": now, "actor": "me", "first": id_, "last": id_}
            db.execute(texts["add_journal_sent"], event)
            db.execute("COMMIT")


class ByHandPostgreSQL:
    """The same in psycopg."""

    def __init__(self, url: str) -> None:
        Store.open(url, create=True).close()
        self.db = psycopg.connect(url, autocommit=True)
        self.db.execute(
            "INSERT INTO fairlead.queues (name, remembered) VALUES ('q', 1) ON CONFLICT DO NOTHING"
        )

    def send(self, n: int) -> None:
        self.send_batches(n, 1)

    def send_batches(self, n: int, size: int) -> None:
        for _ in range(n // size):
            with self.db.transaction(), self.db.cursor() as db:
                queue = db.execute("SELECT id FROM fairlead.queues WHERE name = 'q'").fetchall()[0]
                ids = db.execute(
                    "SELECT nextval('fairlead.numbers') FROM generate_series(1, %s)", [size]
                ).fetchall()
                now = time.time_ns() // 1000
                db.executemany(
                    "INSERT INTO fairlead.groups (id, queue, tenant, fair, state, k1, k2, head, "
                    "arrived) VALUES (%s, %s, '', 0, 1, 1, %s, %s, %s)",
                    [(id_, queue[0], id_, id_, now) for (id_,) in ids],
                )
                db.executemany(
                    "INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, cost, "
                    "format, body) VALUES (%s, %s, %s, %s, %s, 1, 0, %s)",
                    [(id_, queue[0], id_, f"m-{id_}", now, BODY) for (id_,) in ids],
                )
                self._journal(db, "sent", [(f"m-{id_}", None) for (id_,) in ids], now)

    def work(self, n: int) -> None:
        self.work_batches(n, 1)

    def work_batches(self, n: int, size: int) -> None:
        done = 0
        while done < n:
            now = time.time_ns() // 1000
            with self.db.transaction(), self.db.cursor() as db:
                groups = db.execute(
                    "UPDATE fairlead.groups SET state = 2, token = nextval('fairlead.numbers'), "
                    "taken = %s, deadline = %s WHERE id = ANY (ARRAY (SELECT id FROM "
                    "fairlead.groups WHERE queue = 1 AND state = 1 ORDER BY k1, k2 LIMIT %s "
                    "FOR NO KEY UPDATE SKIP LOCKED)) RETURNING id, token",
                    [now, now + 60_000_000, size],
                ).fetchall()
                rows = db.execute(
                    "SELECT group_id, id, key, body FROM fairlead.messages WHERE group_id = ANY "
                    "(%s) ORDER BY id",
                    [[group for group, _ in groups]],
                ).fetchall()
                tokens = dict(groups)
                self._journal(db, "taken", [(row[2], tokens[row[0]]) for row in rows], now)
            with self.db.transaction(), self.db.cursor() as db:
                db.executemany(
                    "DELETE FROM fairlead.groups WHERE id = %s AND token = %s AND state = 2", groups
                )
                db.executemany(
                    "DELETE FROM fairlead.messages WHERE id = %s", [row[1:2] for row in rows]
                )
                self._journal(db, "accepted", [(row[2], tokens[row[0]]) for row in rows], now)
            done += len(rows)

    def _journal(
        self, db: psycopg.Cursor[Any], kind: str, rows: list[tuple[str, int | None]], now: int
    ) -> None:
        db.executemany(
            "INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, "
            "actor) VALUES (%s, %s, 'q', '', %s, '', %s, 'me')",
            [(now, kind, key, token) for key, token in rows],
        )


class Huey:
    """Deletes a message before the work: it cannot be given back."""

    def __init__(self, path: Path) -> None:
        from huey.storage import SqliteStorage

        self.storage = SqliteStorage(filename=str(path), fsync=True)

    def send(self, n: int) -> None:
        for _ in range(n):
            self.storage.enqueue(BODY)

    def work(self, n: int) -> None:
        for _ in range(n):
            assert self.storage.dequeue()


class Litequeue:
    def __init__(self, path: Path) -> None:
        from litequeue import LiteQueue

        self.queue = LiteQueue(str(path))
        self.queue.conn.execute("PRAGMA synchronous = FULL")

    def send(self, n: int) -> None:
        for _ in range(n):
            self.queue.put(BODY.decode())

    def work(self, n: int) -> None:
        for _ in range(n):
            self.queue.done(self.queue.pop().message_id)


class PersistQueue:
    def __init__(self, path: Path) -> None:
        from persistqueue import SQLiteAckQueue

        self.queue = SQLiteAckQueue(str(path), auto_commit=True)

    def send(self, n: int) -> None:
        for _ in range(n):
            self.queue.put(BODY)

    def work(self, n: int) -> None:
        for _ in range(n):
            self.queue.ack(self.queue.get())


class Procrastinate:
    """Its jobs, fetched and finished as its worker does, without the worker around them."""

    def __init__(self, url: str) -> None:
        from procrastinate import App, PsycopgConnector

        self.loop = asyncio.new_event_loop()
        self.app = App(connector=PsycopgConnector(conninfo=url))

        async def begin() -> int:
            await self.app.open_async()
            await self.app.schema_manager.apply_schema_async()
            return await self.app.job_manager.register_worker()

        self.worker = self.loop.run_until_complete(begin())
        self.deferrer = self.app.configure_task("t", allow_unknown=True)

    def send(self, n: int) -> None:
        async def go() -> None:
            for _ in range(n):
                await self.deferrer.defer_async(body=BODY.decode())

        self.loop.run_until_complete(go())

    def send_batches(self, n: int, size: int) -> None:
        async def go() -> None:
            for _ in range(n // size):
                await self.deferrer.batch_defer_async(*[{"body": BODY.decode()}] * size)

        self.loop.run_until_complete(go())

    def work(self, n: int) -> None:
        from procrastinate.jobs import Status

        async def go() -> None:
            jobs = self.app.job_manager
            for _ in range(n):
                job = await jobs.fetch_job(queues=None, worker_id=self.worker)
                assert job is not None
                await jobs.finish_job(job, Status.SUCCEEDED, delete_job=True)

        self.loop.run_until_complete(go())


class PgQueuer:
    def __init__(self, url: str) -> None:
        from datetime import timedelta

        import asyncpg
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        self.lease = timedelta(seconds=60)
        self.loop = asyncio.new_event_loop()

        async def begin() -> Queries:
            queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
            await queries.install()
            return queries

        self.queries = self.loop.run_until_complete(begin())

    def send(self, n: int) -> None:
        self.send_batches(n, 1)

    def send_batches(self, n: int, size: int) -> None:
        async def go() -> None:
            for _ in range(n // size):
                await self.queries.enqueue(["q"] * size, [BODY] * size, [0] * size)

        self.loop.run_until_complete(go())

    def work(self, n: int) -> None:
        self.work_batches(n, 1)

    def work_batches(self, n: int, size: int) -> None:
        import uuid

        from pgqueuer.queries import EntrypointExecutionParameter

        me = uuid.uuid4()

        async def go() -> None:
            done = 0
            while done < n:
                jobs = await self.queries.dequeue(
                    size, {"q": EntrypointExecutionParameter(0)}, me, None, self.lease
                )
                assert jobs
                await self.queries.log_jobs([(job, "successful", None) for job in jobs])
                done += len(jobs)

        self.loop.run_until_complete(go())
