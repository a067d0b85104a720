"""Databases that cannot have a store are refused by name when it is opened."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from tests.stores import fresh_url, server


@pytest.fixture(params=["SQL_ASCII", "EUC_JP", "LATIN1"])
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(encoding: str) -> Iterator[str]:
    name = f"odd_{encoding.lower()}"
    with psycopg.connect(server().get_uri(), autocommit=True) as admin:
        admin.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0".encode()
        )
        yield server().get_uri().replace("/postgres?", f"/{name}?")
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_a_database_of_another_encoding_is_refused_by_name(url: str, encoding: str) -> None:
    said = f"found a database in {encoding}, allowed: UTF8"
    with pytest.raises(StoreError, match=said):
        Store.open(url, create=True)
    with pytest.raises(StoreError, match=said):
        asyncio.run(AsyncStore.open(url, create=True))


def test_a_database_that_reads_backslashes_otherwise_is_refused_by_name() -> None:
    url = fresh_url("postgresql")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            f"ALTER DATABASE {admin.info.dbname} SET standard_conforming_strings = off".encode()
        )
    with pytest.raises(StoreError, match="found standard_conforming_strings = off, allowed: on"):
        Store.open(url, create=True)
