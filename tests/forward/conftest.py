"""Stores on both databases, and a service at which messages arrive."""

from collections.abc import Iterator

import pytest

from tests.forward.services import Service, serving
from tests.store.conftest import dialect, opened, store, url

__all__ = ["dialect", "opened", "service", "store", "url"]


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(Service()) as found:
        yield found
