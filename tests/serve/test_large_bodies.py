"""Large bodies: however many a peer asks for, the server reads few of them ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proton.reactor import Copy
from proton.utils import BlockingConnection

from fairlead import Store
from fairlead.serve.node.browsing import ROOM
from fairlead.serve.node.prefetch import GROUPS, Prefetch, PrefetchPortion
from tests.serve.running import Running
from tests.serve.serving import serving
from tests.stores import made_url

MB = 1024 * 1024


def test_it_begins_with_one_and_goes_on_by_the_largest() -> None:
    portions = Prefetch()
    assert portions.next(1000) == PrefetchPortion(1, 1)
    portions.sent(256)
    assert portions.next(1000) == PrefetchPortion(1, 1)  # one small one says nothing of others
    for _ in range(2000):
        portions.sent(256)
    for _ in range(6):
        portions.found([1] * portions.next(1000).groups)
    assert portions.next(1000).groups == GROUPS
    portions.sent(3 * MB)
    assert portions.next(1000) == PrefetchPortion(1, 1)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_browser_is_shown_so_many_bytes(kind: str) -> None:
    with Store.open(made_url(kind)) as store, serving(store) as served:
        for n in range(10):
            store.send("orders", bytes(3 * MB), group=f"g{n % 2}", id=f"m{n}")
        found = store.peek("orders", most=1000, groups=1000, room=ROOM)
        assert ROOM <= sum(len(each.body) for each in found) < ROOM + 2 * 3 * MB
        connection = served.connect()
        browser = connection.create_receiver("orders", credit=100, options=Copy())
        assert [browser.receive(timeout=10).id for _ in found] == [each.id for each in found]
        connection.close()


def memory(process: int) -> int:
    """Bytes that a process has had in memory at most."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    (line,) = [each for each in status.splitlines() if each.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_bounded_whatever_is_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/large.db"
    with Store.open(url) as store:
        for n in range(1000):
            store.send("orders", n.to_bytes(4) + bytes(5 * MB), group=f"g{n % 100}")
    server = Running(url)
    before = memory(server.process.pid)
    two: list[Any] = [
        BlockingConnection(server.url, timeout=60, allowed_mechs="ANONYMOUS") for _ in range(2)
    ]
    browser = two[0].create_receiver("orders", credit=1000, options=Copy())
    for _ in range(4):
        browser.receive(timeout=60)
    receiver = two[1].create_receiver("orders", credit=1000)
    for n in range(1000):
        receiver.receive(timeout=60)
        if n >= 8:  # so many are not settled all the time
            receiver.accept()
    after = memory(server.process.pid)
    print(f"{before // MB} MB before, {after // MB} MB at most")
    for each in two:
        each.close()
    server.end()
    assert after - before < 400 * MB
