"""The API reference is built from the docstrings without a warning, and nothing is left out."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fairlead
import fairlead.errors

SCRIPT = Path(__file__).parent.parent / "docs" / "reference.py"


def _is_error(each: object) -> bool:
    return inspect.isclass(each) and issubclass(each, fairlead.errors.FairleadError)


PARTS = ("intake.read", "questions.diff", "questions.explain")
ERRORS = [name for name, each in vars(fairlead.errors).items() if _is_error(each)]
PUBLIC = [
    *(("fairlead", name) for name in fairlead.__all__),
    *(("fairlead.errors", name) for name in ERRORS),
    ("fairlead.replay", "replay"),
    *(
        (f"fairlead.pipeline.{part}", name)
        for part in PARTS
        for name in import_module(f"fairlead.pipeline.{part}").__all__
    ),
    *(("fairlead.results.diff", name) for name in ("Balance", "Diff", "Move")),
    *(("fairlead.sockets", name) for name in import_module("fairlead.sockets").__all__),
    *(("fairlead.sockets.tls", name) for name in ("authority", "identity")),
]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the reference."""
    folder = tmp_path_factory.mktemp("api")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=str)
def test_a_public_name_is_there_with_what_it_means(reference: Path, module: str, name: str) -> None:
    page = (reference / module.replace(".", "/")).with_suffix(".html").read_text(encoding="utf-8")
    thing = getattr(import_module(module), name)
    documented = {name: thing}
    if inspect.isclass(thing):
        own = {key: each for key, each in vars(thing).items() if not key.startswith("_")}
        documented |= {f"{name}.{key}": each for key, each in own.items() if _needs(each)}
    assert "Alias for field number" not in page  # a named tuple's field that says nothing
    for path, each in documented.items():
        assert (inspect.getdoc(each) or "").strip(), path
        assert f'id="{path}"' in page, path


def _needs(member: object) -> bool:
    """Whether it is a method or a property, which needs a docstring of its own."""
    return inspect.isfunction(member) or isinstance(member, classmethod | property)


def test_nothing_else_is_there(reference: Path) -> None:
    pages = {str(page.relative_to(reference)) for page in reference.rglob("*.html")}
    modules = {f"{module.replace('.', '/')}.html" for module, _ in PUBLIC}
    assert pages == {"index.html", *modules}
