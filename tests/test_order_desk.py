"""The web service that takes orders runs as a reader of its page runs it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from tests.stores import made_url
from tests.test_gateway import free_ports, until

EXAMPLE = Path(__file__).parent.parent / "examples" / "order-desk"

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("fastapi", "uvicorn")),
    reason="not here: fastapi and uvicorn",
)


class Desk:
    """The service, in a process of its own."""

    def __init__(self, folder: Path, url: str, packing: float) -> None:
        (port,) = free_ports(1)
        self.place = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "desk:app", "--port", str(port)],
            cwd=folder,
            env={**os.environ, "FAIRLEAD_STORE": url, "PACKING": str(packing)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.place}{path}", timeout=10) as reply:  # noqa: S310
            return json.loads(reply.read())

    def order(self, **order: Any) -> Any:
        asked = urllib.request.Request(  # noqa: S310
            f"{self.place}/orders",
            json.dumps(order).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=10) as reply:  # noqa: S310
            return json.loads(reply.read())

    def is_up(self) -> bool:
        try:
            self.get("/queue")
        except OSError:
            return False
        return True

    def states(self, names: list[str]) -> set[str]:
        return {self.get(f"/orders/{name}")["state"] for name in names}


@contextmanager
def running(folder: Path, url: str, packing: float = 0) -> Iterator[Desk]:
    desk = Desk(folder, url, packing)
    try:
        until(desk.is_up)
        yield desk
    finally:
        desk.process.terminate()
        desk.process.wait(60)


@pytest.mark.costly
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_orders_are_taken_packed_and_given_back_at_a_stop(dialect: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    url = made_url(dialect)
    names = [f"o-{number}" for number in range(8)]
    with running(tmp_path, url) as desk:
        for number, name in enumerate([*names, names[0]]):
            found = desk.order(id=name, customer=f"c{number % 3}", item="lamp", urgent=number == 5)
            assert found == {"id": name}
        until(lambda: desk.states(names) == {"packed"})
        assert desk.get("/queue") == {"messages": 0, "working": 0}
    with running(tmp_path, url, packing=600) as desk:
        desk.order(id="late", customer="kim", item="lamp")
        until(lambda: desk.get("/queue")["working"] == 1)
        desk.process.send_signal(signal.SIGTERM)
        desk.process.wait(60)
    with Store.open(url) as store:
        assert store.working("orders") == []
        (kept,) = (each for each in store.queues() if each.queue == "orders")
        assert (kept.messages, kept.failures) == (1, 0)
    with running(tmp_path, url) as desk:
        until(lambda: desk.states(["late"]) == {"packed"})
