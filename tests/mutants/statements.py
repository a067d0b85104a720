"""Who runs a line of SQL: the lines of Python that name its statement, and tests that call it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .change import ROOT, SOURCE

STATEMENT = re.compile(r"-- ([a-z_]+): ")
FUNCTION = re.compile(r"CREATE OR REPLACE (?:FUNCTION|VIEW|PROCEDURE) fairlead\.([a-z_]+)")
CALL = re.compile(r"\bfairlead\.([a-z_]+)")


def callers(path: str, line: int) -> tuple[list[tuple[str, int]], list[str]]:
    """Lines of the source that run a line of SQL, and files of tests that call it by themselves.

    Both are empty where nobody runs it by its name: that of a table, say.
    """
    names = _reaching(_block(path, line))
    spots = [
        (file, number)
        for file, number, text in _lines(SOURCE)
        if any(f'"{name}"' in text for name in names)
    ]
    calls = {
        file
        for file, _, text in _lines(Path("tests"))
        if any(name in names for name in CALL.findall(text))
    }
    return spots, sorted(calls)


def _block(path: str, line: int) -> str:
    """The name of the statement or function that a line stands in, or ""."""
    for text in reversed((ROOT / path).read_text().splitlines()[:line]):
        if match := STATEMENT.match(text) or FUNCTION.match(text):
            return match[1]
    return ""


def _reaching(name: str) -> set[str]:
    """A block and all that call it, and what calls these."""
    reaching: set[str] = set()
    waiting = [name] if name else []
    while waiting:
        called = waiting.pop()
        reaching.add(called)
        waiting += [caller for caller in _calls().get(called, ()) if caller not in reaching]
    return reaching


@cache
def _calls() -> dict[str, set[str]]:
    """Of each function of the database, the blocks that call it."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / SOURCE).rglob("sql/*.sql")):
        block = ""
        for text in path.read_text().splitlines():
            if match := STATEMENT.match(text) or FUNCTION.match(text):
                block = match[1]
            for called in CALL.findall(text.partition("--")[0]):
                if block and called != block:
                    found.setdefault(called, set()).add(block)
    return found


def _lines(below: Path) -> Iterator[tuple[str, int, str]]:
    for path in sorted((ROOT / below).rglob("*.py")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            yield str(path.relative_to(ROOT)), number, text
