"""Which tests run which lines, and how long each takes.

Loaded as a plugin (`-p tests.mutants.covering`) it writes that down while tests run; `Covering`
reads it. A test is a function with all its cases. A line that runs only as its module is imported
(a constant, a table) counts as run by each test that runs anything of the module, or of its folder
where a module has nothing else; so does a line that is only run compiled.
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import statements
from .change import ROOT, SOURCE

FOLDER = ROOT / ".mutants"
CONTEXTS = FOLDER / "contexts"


class Recorder:
    """Coverage of one process of tests, each test a context."""

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
        self.coverage.switch_context(_test(item.nodeid))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[_test(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (FOLDER / f"seconds.{os.getpid()}.json").write_text(json.dumps(self.seconds))


def _test(nodeid: str) -> str:
    """Without the case, and without the group that keeps tests in one process."""
    return nodeid.partition("[")[0].partition("@")[0]


def pytest_configure(config: pytest.Config) -> None:
    """Record, in each process that runs tests itself."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(), "covering")


class Covering:
    """What was recorded."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.seconds: dict[str, float] = {}
        """How long each test takes, with all its cases."""
        for path in FOLDER.glob("seconds.*.json"):
            for name, seconds in json.loads(path.read_text()).items():
                self.seconds[name] = max(seconds, self.seconds.get(name, 0))
        self._data: list[Any] = []
        for path in FOLDER.glob(f"{CONTEXTS.name}.*"):
            data = CoverageData(basename=str(path))
            data.read()
            self._data.append(data)
        self._known: dict[str, dict[int, set[str]]] = {}

    def tests(self, path: str, line: int) -> list[str]:
        """The tests that run a line, the quickest first."""
        found = self._of_sql(path, line) if path.endswith(".sql") else self._of_python(path, line)
        known = [name for name in found if (ROOT / name.partition("::")[0]).exists()]
        return sorted(known, key=lambda name: (self.seconds.get(name, 0), name))

    def _of_python(self, path: str, line: int) -> set[str]:
        lines = self._lines(path)
        return lines.get(line) or set().union(*lines.values()) or self._of_room(Path(path).parent)

    def _of_sql(self, path: str, line: int) -> set[str]:
        spots, files = statements.callers(path, line)
        found = {name for name in self.seconds if name.partition("::")[0] in files}
        found = found.union(*(self._lines(spot).get(number, set()) for spot, number in spots))
        if found:
            return found
        return self._of_room(Path(path).parents[1])

    def _of_room(self, room: Path) -> set[str]:
        """The tests that run anything of a folder, or else of the one above it."""
        beside = [str(file.relative_to(ROOT)) for file in (ROOT / room).glob("*.py")]
        found = set().union(*(tests for file in beside for tests in self._lines(file).values()))
        return found if found or room == SOURCE else self._of_room(room.parent)

    def _lines(self, path: str) -> dict[int, set[str]]:
        """Of each line of a file of Python, the tests that run it."""
        if path not in self._known:
            lines: dict[int, set[str]] = defaultdict(set)
            for data in self._data:
                for line, tests in data.contexts_by_lineno(str(ROOT / path)).items():
                    lines[line] |= set(tests) - {""}
            self._known[path] = {line: tests for line, tests in lines.items() if tests}
        return self._known[path]
