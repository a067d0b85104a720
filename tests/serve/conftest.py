"""Where proton is not installed, nothing here is tested; it says so."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest


class _Skipped(pytest.Module):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip("not here: python-qpid-proton (make amqp)")


if find_spec("cproton_ffi") is None:

    def pytest_pycollect_makemodule(
        module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        return _Skipped.from_parent(parent, path=module_path)
