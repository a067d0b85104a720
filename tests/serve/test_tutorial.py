"""The tutorial about AMQP, walked as it stands there."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from fairlead import Store
from fairlead.cli.app import run
from tests.serve.serving import serving

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "amqp.md"
HERE = "127.0.0.1:5672"
STORE = "sqlite:///work.db"


def blocks(language: str) -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def printed_by(program: str, at: str) -> str:
    with redirect_stdout(StringIO()) as printed:
        exec(program.replace(HERE, at), {})  # noqa: S102
    return printed.getvalue()


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/work.db"

    def told(commands: str) -> str:
        with redirect_stdout(StringIO()) as printed:
            for line in commands.replace(STORE, url).splitlines():
                assert run(shlex.split(line)[1:]) == 0, line
        return printed.getvalue()

    _, look, journal = blocks("sh")
    send, receive = blocks("python")
    promoted, received = blocks("text")
    with Store.open(url) as store, serving(store) as served:
        assert printed_by(send, served.url) == ""
        assert promoted in told(look)
        assert printed_by(receive, served.url) == received
    events = told(journal)
    for kind in ("sent", "raised", "taken", "accepted"):
        assert f'"kind": "{kind}"' in events, kind
