"""The how-to of several sites: its commands are run in their order, on ports of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import Store
from tests.channels.journals import decided_again
from tests.ports import free_port

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "sites.md"
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FAIRLEAD = f"fairlead() {{ {sys.executable} -c 'from fairlead.cli import main; main()' \"$@\"; }}\n"


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    commands = "\n".join(COMMANDS.findall(page))
    text = (PAGE.parents[1] / "snippets" / "sites.toml").read_text(encoding="utf-8")
    for number in (1, 2, 3):
        port = str(free_port())
        text = text.replace(f"570{number}", port)
        commands = commands.replace(f"127.0.0.1:570{number}", f"127.0.0.1:{port}")
    ports = re.findall(r":(\d+)\"", text)
    commands = commands.replace(
        "127.0.0.1:570$n", f"127.0.0.1:$(echo {' '.join(ports)} | cut -d' ' -f$n)"
    )
    (tmp_path / "sites.toml").write_text(text, encoding="utf-8")
    script = f"set -e\n{FAIRLEAD}trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "140"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert '"queue": "ORDERS", "messages": 2' in done.stdout
    assert "suspended is true; 2 queue managers are told" in done.stdout
    assert "TO.QM2" in done.stdout
    stores = [Store.open(f"sqlite:///{tmp_path}/qm{number}.db") for number in (1, 2, 3)]
    live, again = decided_again(stores, tmp_path / "sites.toml", tmp_path)
    assert live == again
    for store in stores:
        store.close()
