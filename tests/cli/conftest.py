"""What tests of the command line share."""

from collections.abc import Iterator

import pytest
from tests.cli.shell import Shell
from tests.stores import made_url


@pytest.fixture(params=["sqlite", "postgresql"])
def shell(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Iterator[Shell]:
    found = Shell(made_url(request.param), capfdbinary)
    monkeypatch.setenv("FAIRLEAD_STORE", found.url)
    yield found
    found.store.close()
