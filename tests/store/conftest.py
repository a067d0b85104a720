"""Stores on both databases, each test with a database of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fairlead import Store
from tests.stores import Clock, made_url


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
def clock() -> Clock:
    """For a store whose time the test sets."""
    return Clock()


@pytest.fixture
def store(url: str, opened: Callable[..., Store]) -> Store:
    return opened(url)
