"""Where proton is not installed, what speaks AMQP is not tested; it says so."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest


class _Skipped(pytest.Module):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip("not here: python-qpid-proton (make amqp)")


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    if find_spec("cproton_ffi") is None and module_path.name != "test_batches.py":
        return _Skipped.from_parent(parent, path=module_path)
    return None
