"""Consoles of stores on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import Store
from tests.console.running import RunningConsole, running
from tests.stores import made_url


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store without any queue."""
    with Store.open(made_url(request.param)) as store:
        yield store


@pytest.fixture
def console(store: Store, tmp_path: Path) -> Iterator[RunningConsole]:
    """A console of that store, for `dora` and `victor`."""
    with running(store, tmp_path) as console:
        yield console
