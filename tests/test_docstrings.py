"""What docstrings and pages name of a class, such as `Store.decision`, is there."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"`([A-Z][a-z]\w*)\.([a-z]\w*)[`(\[]")


class Named:
    """What classes have, by their names."""

    def __init__(self, trees: Iterable[ast.AST]) -> None:
        self.own: dict[str, set[str]] = {}
        self.bases: dict[str, set[str]] = {}
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.ClassDef):
                self.own.setdefault(node.name, set()).update(attributes(node))
                bases = (name for base in node.bases for name in ast.walk(base))
                names = {name.id for name in bases if isinstance(name, ast.Name)}
                self.bases.setdefault(node.name, set()).update(names - {node.name})

    def has(self, kind: str, attribute: str) -> bool:
        own = attribute in self.own.get(kind, ())
        return own or any(self.has(base, attribute) for base in self.bases.get(kind, ()))


def attributes(body: ast.ClassDef) -> Iterator[str]:
    """What a class has: its methods, its fields, and what they set."""
    for node in ast.walk(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def texts(trees: Mapping[Path, ast.AST]) -> Iterator[tuple[Path, str]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield path, str(node.value.value)
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        yield path, path.read_text("utf-8")


def test_what_is_named_of_a_class_is_there() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.glob("src/**/*.py"))}
    classes = Named(trees.values())
    named = [(path, *each) for path, text in texts(trees) for each in NAMED.findall(text)]
    assert len(named) > 40
    wrong = [
        f"{path.relative_to(ROOT)}: {kind}.{name}"
        for path, kind, name in named
        if kind in classes.own and not classes.has(kind, name)
    ]
    assert not wrong
