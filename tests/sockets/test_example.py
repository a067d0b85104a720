"""The example with two sites runs as a reader of its page runs it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-sites"
MAIN = "from fairlead.cli import main; main()"
SECONDS = 60


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program in a process of its own; it is stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def with_free_ports(folder: Path) -> dict[str, str]:
    """Copy the example, so that it can run beside anything; where each of its ports is now."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    ports: dict[str, str] = {}
    for file in folder.glob("*.toml"):
        text = file.read_text()
        for port in re.findall(r"7\d{3}", text):
            if port not in ports:
                ports[port] = str(free_port())
        file.write_text(re.sub(r"7\d{3}", lambda found: ports[found[0]], text))
    return ports


@pytest.mark.slow
def test_the_example_with_two_sites_prints_what_its_page_says(folder: Path) -> None:
    ports = with_free_ports(folder)
    devices = [
        ["device", f"{site}.toml", "--bind", f"tcp://127.0.0.1:{ports[port]}"]
        for site, port in {"newyork": "7100", "london": "7200"}.items()
    ]
    with ExitStack() as stack:
        for each in devices:
            device = stack.enter_context(running(folder, "-c", MAIN, *each))
            assert device.stdout is not None
            assert device.stdout.readline().startswith("requests: ")
        program = stack.enter_context(running(folder, "two_sites.py"))
        printed, _ = program.communicate(timeout=SECONDS)
    assert program.returncode == 0
    assert textwrap.indent(printed, "    ") in (EXAMPLE / "README.md").read_text()
    assert printed.startswith("Both sites are up\n")
    assert printed.count("asked in") == 4
