"""Addresses for sockets: TCP, and Unix sockets, whose paths have to be short."""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ports import free_port

Addresses = Callable[[], str]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as found:
        yield Path(found)


@pytest.fixture(params=["tcp", "ipc"])
def addresses(request: pytest.FixtureRequest, folder: Path) -> Addresses:
    """Another free address with every call."""
    numbers = itertools.count()
    if request.param == "tcp":
        return lambda: f"tcp://127.0.0.1:{free_port()}"
    return lambda: f"ipc://{folder / str(next(numbers))}"


@pytest.fixture
def address(addresses: Addresses) -> str:
    return addresses()
