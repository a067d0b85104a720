"""What tests of servers share. Where proton is not installed, nothing is tested; it says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fairlead import Store
from tests.stores import made_url


class _Skipped(pytest.Module):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip("not here: python-qpid-proton (make amqp)")


if find_spec("cproton_ffi") is None:

    def pytest_pycollect_makemodule(
        module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        return _Skipped.from_parent(parent, path=module_path)

else:
    from tests.serve.serving import Served, serving

    @pytest.fixture(params=["sqlite", "postgresql"])
    def store(request: pytest.FixtureRequest) -> Iterator[Store]:
        """A store on each database."""
        with Store.open(made_url(request.param)) as found:
            yield found

    @pytest.fixture
    def served(store: Store) -> Iterator[Served]:
        """A server of it, to which everybody may connect."""
        with serving(store) as found:
            yield found
