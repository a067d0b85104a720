"""No two files of the source need each other, be it only for the name of a type."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported(path: Path, modules: set[str]) -> Iterator[str]:
    """The modules that a file imports, wherever in it and for whatever."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def circle(paths: dict[str, Path]) -> list[str]:
    """The modules of one circle; none: there is none.

    A package stands for its `__init__` alone, so a file may name others of its own package.
    """
    graph = {name: set(imported(path, set(paths))) - {name} for name, path in paths.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_file_needs_one_that_needs_it() -> None:
    paths = {module_of(path): path for path in sorted((SOURCE / "fairlead").rglob("*.py"))}
    assert len(paths) > 500
    assert circle(paths) == []


@pytest.mark.parametrize("line", ["import b", "from b import x", "def f():\n    from b import x"])
def test_a_circle_is_seen(tmp_path: Path, line: str) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(line)
    b.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import f")
    assert {*circle({"a": a, "b": b})} == {"a", "b"}
