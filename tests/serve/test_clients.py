"""The programs on the page about clients, as they stand there, against a server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from fairlead import Store
from tests.peers import node_with_rhea
from tests.serve.serving import Served, serving

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve-clients.md"
HERE = "127.0.0.1:5672"


def program(language: str) -> str:
    """The first of a language on the page."""
    found = re.search(
        rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    return found[1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Store.open(f"sqlite:///{tmp_path}/s.db") as store, serving(store) as found:
        yield found


def test_the_program_for_proton_runs(served: Served) -> None:
    with redirect_stdout(StringIO()) as printed:
        exec(program("python").replace(HERE, served.url), {})  # noqa: S102
    assert printed.getvalue() == "customer-7 {'total': 3}\n"


def test_the_program_for_rhea_runs(served: Served) -> None:
    node, environment = node_with_rhea()
    text = program("js").replace("5672", served.url.partition(":")[2])
    done = subprocess.run(
        [node, "-e", text],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("customer-7 { total: 4 }\n", "")
