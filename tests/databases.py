"""Databases of tests: a file of SQLite goes with its test, one of PostgreSQL is used again.

To empty one of PostgreSQL takes a tenth of what making one takes.

A test that is over gives back those that it was lent, and another gets them if nobody is connected
and all but the rows of tables is as it was made: no function, grant, table or setting is another.
What a fixture of a whole module makes is its own and never given back.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SAME = """
SELECT (SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
          AND a.pid <> pg_backend_pid()),
       (SELECT count(*) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database()),
       (SELECT d.datacl::text FROM pg_database d WHERE d.datname = current_database()),
       (SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (
          SELECT c.oid || ' ' || c.xmin
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname NOT LIKE 'pg_t%temp%' AND n.nspname NOT LIKE 'pg_temp%'
          UNION ALL SELECT oid || ' ' || xmin FROM pg_proc WHERE oid >= 16384
          UNION ALL SELECT oid || ' ' || xmin FROM pg_type WHERE oid >= 16384 AND typtype <> 'c'
            AND typelem = 0
          UNION ALL SELECT oid || ' ' || xmin FROM pg_trigger
          UNION ALL SELECT oid || ' ' || xmin FROM pg_constraint WHERE oid >= 16384
          UNION ALL SELECT oid || ' ' || xmin FROM pg_default_acl
          UNION ALL SELECT oid || ' ' || xmin FROM pg_statistic_ext
          UNION ALL SELECT starelid || ' ' || xmin FROM pg_statistic WHERE starelid >= 16384
          UNION ALL SELECT attrelid || ' ' || attnum || ' ' || xmin FROM pg_attribute
            WHERE attrelid >= 16384 AND attnum > 0
          UNION ALL SELECT oid || ' ' || xmin FROM pg_namespace
            WHERE nspname NOT LIKE 'pg_t%temp%' AND nspname NOT LIKE 'pg_temp%'
       ) AS things (x))
"""
"""Who else is connected, and what all but rows comes to."""
FILE = "sqlite:///"
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'fairlead'::regnamespace AND relkind = 'r'"
)
SEQUENCES = "SELECT schemaname || '.' || sequencename, start_value FROM pg_sequences"
SIZE = "SELECT pg_database_size(current_database())"
LARGEST = 4 << 20
"""Bytes more than a new one: what has grown is slower than a new one."""


class Lent:
    """The databases that the tests of this process were lent."""

    def __init__(self, make: Callable[[], str]) -> None:
        """`make`: makes a new one."""
        self.make = make
        self.wider_fixtures = 0
        self.of_this_test: list[str] = []
        self.free: list[str] = []

    def to_test(self, url: str) -> str:
        """Note down that the running test has it."""
        if not self.wider_fixtures:
            self.of_this_test.append(url)
        return url

    def again(self) -> str | None:
        """One that was used and is as good as new; None: there is none."""
        while self.free and not self.wider_fixtures:
            url = self.free.pop()
            if _emptied(url, self.made):
                return self.to_test(url)
        return None

    @contextmanager
    def to_all(self) -> Iterator[None]:
        """What is made in this block is for all tests of this process, whichever test makes it."""
        self.wider_fixtures += 1
        try:
            yield
        finally:
            self.wider_fixtures -= 1

    @cached_property
    def made(self) -> Made:
        """What a new one looks like."""
        return _made(self.make())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        with self.to_all():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            for url in self.of_this_test:
                if url.startswith(FILE):
                    _remove(Path(url.removeprefix(FILE)))
                else:
                    self.free.append(url)
            self.of_this_test = []


class Made(NamedTuple):
    """What a new database looks like."""

    same: Any
    """What `SAME` says of it."""
    size: int
    """Bytes."""
    emptying: bytes
    """The statements that make a used one new."""


def _remove(file: Path) -> None:
    """With all that a store has beside it."""
    for path in file.parent.glob(f"{file.name}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _made(url: str) -> Made:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:

        def one(sql: str) -> Any:
            return connection.execute(sql.encode()).fetchall()[0]

        statements = ["SET session_replication_role = replica"]
        for (name,) in connection.execute(TABLES).fetchall():
            table = f"fairlead.{name}"
            statements.append(f"DELETE FROM {table}")  # noqa: S608
            (rows,) = one(f"SELECT json_agg(x)::text FROM {table} x")  # noqa: S608
            if rows is not None:
                each = f"json_populate_recordset(NULL::{table}, '{rows}')"
                statements.append(f"INSERT INTO {table} SELECT * FROM {each}")  # noqa: S608
        for name, first in connection.execute(SEQUENCES).fetchall():
            statements.append(f"SELECT setval('{name}', {first}, false)")
        return Made(one(SAME), one(SIZE)[0], ";".join(statements).encode())


def _emptied(url: str, made: Made) -> bool:
    """Whether it is as it was made but for rows, which are gone now."""
    import psycopg

    try:
        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(SAME).fetchall()[0]
            size = connection.execute(SIZE).fetchall()[0][0]
            if found == made.same and size < made.size + LARGEST:
                connection.execute(made.emptying)
                return True
    except psycopg.Error:
        pass
    return False
