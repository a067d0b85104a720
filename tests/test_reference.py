"""The site is built from the docs and the docstrings without a warning, and loads nothing.

MkDocs itself finds pages that are in no menu, and links and anchors that lead nowhere (`--strict`).
"""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

import fairlead
import fairlead.errors

ROOT = Path(__file__).parent.parent


def _is_error(each: object) -> bool:
    return inspect.isclass(each) and issubclass(each, fairlead.errors.FairleadError)


PARTS = ("intake.read", "questions.diff", "questions.explain")
ERRORS = [name for name, each in vars(fairlead.errors).items() if _is_error(each)]
PUBLIC = [
    *(("fairlead", name) for name in fairlead.__all__),
    *(("fairlead.errors", name) for name in ERRORS),
    ("fairlead.errors", "Reject"),
    ("fairlead.replay", "replay"),
    *(
        (f"fairlead.pipeline.{part}", name)
        for part in PARTS
        for name in import_module(f"fairlead.pipeline.{part}").__all__
    ),
    *(("fairlead.results.diff", name) for name in ("Balance", "Diff", "Move")),
    *(("fairlead.sockets", name) for name in import_module("fairlead.sockets").__all__),
    *(("fairlead.sockets.tls", name) for name in ("authority", "identity", "show")),
]
PAGES = {
    "fairlead": "fairlead",
    "fairlead.errors": "errors",
    "fairlead.replay": "replay",
    "fairlead.sockets": "sockets",
    "fairlead.sockets.tls": "sockets",
    "fairlead.results.diff": "spark",
    **{f"fairlead.pipeline.{part}": "spark" for part in PARTS},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # Material's advertisement
    )
    assert done.returncode == 0, done.stderr  # with --quiet it would see no warning
    return folder


@cache
def _read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.every
@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=str)
def test_a_public_name_is_there_with_what_it_means(site: Path, module: str, name: str) -> None:
    page = _read(site / "reference" / "api" / f"{PAGES[module]}.html")
    thing = getattr(import_module(module), name)
    documented = {name: thing}
    if inspect.isclass(thing):
        own = {key: each for key, each in vars(thing).items() if not key.startswith("_")}
        documented |= {f"{name}.{key}": each for key, each in own.items() if _needs(each)}
    for path, each in documented.items():
        assert (inspect.getdoc(each) or "").strip(), path
        assert f'id="{module}.{path}"' in page, path


def _needs(member: object) -> bool:
    """Whether it is a method or a property, which needs a docstring of its own."""
    return inspect.isfunction(member) or isinstance(member, classmethod | property)


def test_nothing_else_is_there(site: Path) -> None:
    shown = {
        found
        for page in (site / "reference" / "api").glob("*.html")
        for found in re.findall(r'<h[2-6] id="(fairlead\.[\w.]*)"', _read(page))
    }
    names = {f"{module}.{name}" for module, name in PUBLIC}
    top = {each for each in shown if not any(each.startswith(f"{name}.") for name in names)}
    assert top - names == set()


class _Loaded(HTMLParser):
    """What a browser loads with a page, without a click."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"a", "form"}:
            urls = [value for key, value in attrs if key in {"src", "srcset", "href", "data"}]
            self.found += [url for url in urls if url]


def _elsewhere(site: Path) -> Iterator[tuple[str, str]]:
    for file in site.rglob("*.*"):
        if file.suffix == ".html":
            page = _Loaded()
            page.feed(_read(file))
            found = page.found + re.findall(r"url\(([^)]*)\)", _read(file))
        elif file.suffix in {".css", ".svg"}:
            found = re.findall(r"(?:url\(|@import\s|href=)([^)\s>]*)", _read(file))
        elif file.suffix == ".js":
            found = re.findall(r"""["'`]((?:https?:)?//[\w.-]+\.\w+[^"'`]*)""", _read(file))
        else:
            continue
        for url in found:
            if re.match(r"""["']?(?:https?:)?//""", url):
                yield file.name.split(".")[0], url


ASKED_FOR = {
    "https://api.github.com/repos/${e}/${t}": "md-source",  # with a link to the repository
    "https://api.github.com/users/${e}": "md-source",
    "https://unpkg.com/mermaid@11/dist/mermaid.min.js": "mermaid",  # with a diagram of that kind
    "https://unpkg.com/resize-observer-polyfill": None,  # by browsers older than 2020
}
"""What Material's script would load, and the class of the element that makes it do so."""


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    found = set(_elsewhere(site))
    assert found - {("bundle", url) for url in ASKED_FOR} == set()
    for page in site.rglob("*.html"):
        classes = {
            each for found in re.findall(r'class="([^"]*)"', _read(page)) for each in found.split()
        }
        assert not classes & set(ASKED_FOR.values()), page.name
