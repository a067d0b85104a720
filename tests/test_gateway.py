"""The gateway in front of GPUs runs as a reader of its page runs it."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

ROOT = Path(__file__).parent.parent
GPUS = ("gpu-1", "gpu-2", "gpu-3")

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("fastapi", "uvicorn")),
    reason="not here: fastapi and uvicorn",
)


class Gateway:
    """The programs of the example, each in a process of its own, at ports that are free."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = dict(zip(("gateway", *GPUS), free_ports(4), strict=True))
        text = (folder / "gpus.toml").read_text("utf-8")
        for place, name in enumerate(GPUS, 8101):
            text = text.replace(f":{place}", f":{self.ports[name]}")
        (folder / "gpus.toml").write_text(text, "utf-8")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        app = "gateway:app" if name == "gateway" else "gpu:app"
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", app, "--port", str(self.ports[name])],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def is_up(self, name: str) -> bool:
        try:
            self.get(name, "/docs")
        except OSError:
            return False
        return True

    def get(self, name: str, path: str) -> str:
        url = f"http://127.0.0.1:{self.ports[name]}{path}"
        with urllib.request.urlopen(url, timeout=10) as reply:
            found: str = reply.read().decode()
            return found

    def pool(self) -> Any:
        return json.loads(self.get("gateway", "/pool"))

    def ask(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "ask.py", f"http://127.0.0.1:{self.ports['gateway']}"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def free_ports(many: int) -> list[int]:
    return [free_port() for _ in range(many)]


def until(holds: Any) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("gateway")
    shutil.copytree(ROOT / "examples" / "gpu-gateway", folder, dirs_exist_ok=True)
    found = Gateway(folder)
    for name in found.ports:
        found.start(name)
    try:
        until(lambda: all(map(found.is_up, found.ports)))
        yield found
    finally:
        for process in found.processes.values():
            process.terminate()
        for process in found.processes.values():
            process.wait(60)


def answered(lines: str) -> dict[str, int]:
    return {name: int(many) for name, many in re.findall(r"'(gpu-\d)': (\d+)", lines)}


def test_all_are_answered_and_urgent_ones_wait_less(gateway: Gateway) -> None:
    before = gateway.pool()["ended"].get("routed", 0)
    lines, _ = gateway.ask().communicate(timeout=60)
    counts = answered(lines)
    assert sum(counts.values()) == 40, lines
    assert min(counts, key=counts.__getitem__) == "gpu-3"
    urgent, others = map(float, re.findall(r"waited (\d+\.\d+) s", lines))
    assert urgent < others
    assert gateway.pool()["ended"]["routed"] == before + 40


def test_a_server_that_dies_costs_nobody_an_answer(gateway: Gateway) -> None:
    asking = gateway.ask()
    until(lambda: gateway.pool()["working"]["gpu-1"] == 2)
    gateway.processes["gpu-1"].kill()
    lines, _ = asking.communicate(timeout=60)
    assert sum(answered(lines).values()) == 40, lines
    assert gateway.pool()["failed"] == ["gpu-1"]
    gateway.processes["gpu-1"].wait()
    gateway.start("gpu-1")
    until(lambda: gateway.pool()["failed"] == [])
    lines, _ = gateway.ask().communicate(timeout=60)
    assert answered(lines)["gpu-1"] > 0
