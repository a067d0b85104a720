"""Which test files run which lines, and how long each takes.

Loaded as a plugin (`-p tests.mutants.covering`) it writes that down while tests run; `Covering`
reads it. A line that runs only as its module is imported (a constant, a table) counts as run by
each test file that runs anything of the module; so does a line that is only run compiled.
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from .change import ROOT, SOURCE

FOLDER = ROOT / ".mutants"
CONTEXTS = FOLDER / "contexts"


class Recorder:
    """Coverage of one process of tests, each file of tests a context."""

    def __init__(self) -> None:
        from coverage import Coverage

        FOLDER.mkdir(exist_ok=True)
        self.coverage = Coverage(
            data_file=str(CONTEXTS), data_suffix=True, source=[str(ROOT / SOURCE)], messages=False
        )
        self.seconds: dict[str, float] = defaultdict(float)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid.partition("::")[0])
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (FOLDER / f"seconds.{os.getpid()}.json").write_text(json.dumps(self.seconds))


def pytest_configure(config: pytest.Config) -> None:
    """Record, in each process that runs tests itself."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(), "covering")


class Covering:
    """What was recorded."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.seconds: dict[str, float] = {}
        for path in FOLDER.glob("seconds.*.json"):
            for name, seconds in json.loads(path.read_text()).items():
                self.seconds[name] = max(seconds, self.seconds.get(name, 0))
        self._lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in FOLDER.glob(f"{CONTEXTS.name}.*"):
            data: Any = CoverageData(basename=str(path))
            data.read()
            for measured in data.measured_files():
                name = str(Path(measured).relative_to(ROOT))
                for line, contexts in data.contexts_by_lineno(measured).items():
                    self._lines[name][line] |= set(contexts) - {""}

    def tests(self, path: str, line: int) -> list[str]:
        """The test files that run a line, the quickest first."""
        lines = self._lines.get(path, {})
        found = lines.get(line) or set().union(*lines.values())
        if path.endswith(".sql"):
            room = str(Path(path).parents[1])
            found = set().union(
                *(
                    files
                    for name in self._lines
                    if str(Path(name).parent) == room
                    for files in self._lines[name].values()
                )
            )
        known = [name for name in found if (ROOT / name).exists()]
        return sorted(known, key=lambda name: (self.seconds.get(name, 0), name))
