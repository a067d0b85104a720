"""Says at the end what was not tried, and lets CI skip nothing that `skips.toml` does not name."""

import os
import tomllib
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
REASONS = tomllib.loads((Path(__file__).parent / "skips.toml").read_text("utf-8"))


def allowed_on_ci(reason: str) -> bool:
    """Whether a test may be skipped there for this reason."""
    kinds = ("missing_on_ci", "meant")
    return any(reason.startswith(beginning) for kind in kinds for beginning in REASONS[kind])


def not_tried(reasons: Counter[str]) -> list[str]:
    """Lines about what is not here, the most tests first."""
    lines = [
        f"not tried, {count} test{'s' * (count > 1)}: {reason.removeprefix('not here: ')}"
        for reason, count in reasons.most_common()
        if not any(reason.startswith(beginning) for beginning in REASONS["meant"])
    ]
    return [*lines, "make peers installs what it can of this."] if lines else []


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    text = where[2] if isinstance(where, tuple) else str(where)
    return text.removeprefix("Skipped: ")


def _judged(report: Report) -> Report:
    if "CI" in os.environ and report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        if not allowed_on_ci(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped for a reason that tests/skips.toml does not name: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that is skipped for a reason of its own fails."""
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same of a whole file."""
    return _judged((yield))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tried, and how to get it."""
    skipped = terminalreporter.stats.get("skipped", [])
    for line in not_tried(Counter(_reason(report) for report in skipped)):
        terminalreporter.write_line(line)
