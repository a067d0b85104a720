"""Stores on both databases, each test with a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fairlead import Store
from fairlead.store.database import schema
from fairlead.store.database.statements import migrations
from tests.stores import Clock, made_url

LATER = {
    "sqlite": """
        ALTER TABLE fairlead_queues ADD COLUMN later INTEGER;
        UPDATE fairlead_schema SET version = version + 1;
    """,
    "postgresql": """
        ALTER TABLE fairlead.queues ADD COLUMN later BIGINT;
        UPDATE fairlead.schema SET version = version + 1;
    """,
}
"""A migration of a release that is still to come."""


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def url(dialect: str) -> str:
    """Of a database with the schema, and nothing else."""
    return made_url(dialect)


@pytest.fixture
def opened() -> Iterator[Callable[..., Store]]:
    """Opens stores, and closes them at the end."""
    with ExitStack() as stack:

        def open_store(url: str, **more: Any) -> Store:
            return stack.enter_context(Store.open(url, **more))

        yield open_store


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one more migration than databases that were made before have seen."""
    for dialect in LATER:
        made_url(dialect)  # what others are copied from is as it was
    monkeypatch.setattr(
        schema, "migrations", lambda dialect: (*migrations(dialect), LATER[dialect])
    )


@pytest.fixture
def clock() -> Clock:
    """For a store whose time the test sets."""
    return Clock()


@pytest.fixture
def store(url: str, opened: Callable[..., Store]) -> Store:
    return opened(url)
