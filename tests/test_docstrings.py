"""What docstrings and pages name of a class, such as `Store.decision`, is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.glob("src/**/*.py"))}
NAMED = re.compile(r"`([A-Z][a-z]\w*)\.([a-z]\w*)[`(\[]")


def attributes(body: ast.ClassDef) -> Iterator[str]:
    """What a class has: its methods, its fields, and what they set."""
    for node in ast.walk(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


CLASSES = [
    node for tree in SOURCES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
]
OWN: dict[str, set[str]] = {}
BASES: dict[str, set[str]] = {}
for each in CLASSES:
    OWN.setdefault(each.name, set()).update(attributes(each))
    names = {
        node.id for base in each.bases for node in ast.walk(base) if isinstance(node, ast.Name)
    }
    BASES.setdefault(each.name, set()).update(names - {each.name})


def has(kind: str, attribute: str) -> bool:
    return attribute in OWN.get(kind, ()) or any(has(b, attribute) for b in BASES.get(kind, ()))


def texts() -> Iterator[tuple[Path, str]]:
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield path, str(node.value.value)
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        yield path, path.read_text("utf-8")


def test_what_is_named_of_a_class_is_there() -> None:
    named = [(path, *each) for path, text in texts() for each in NAMED.findall(text)]
    assert len(named) > 40
    wrong = [
        f"{path.relative_to(ROOT)}: {kind}.{name}"
        for path, kind, name in named
        if kind in OWN and not has(kind, name)
    ]
    assert not wrong
