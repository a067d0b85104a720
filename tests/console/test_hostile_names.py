"""Whatever stands in an address or a form of these pages, it is shown or refused in one line."""

from typing import Any, Final

import pytest

from fairlead import Cluster, Store
from tests.console.running import RunningConsole, seen

NAMES: Final = [
    "a\0b",
    "\n\r\x1b[31mred",
    "\u202egnp.exe\u2028",
    "%ff%00",
    "' OR 1=1 --",
    "{{ 7*7 }}",
    "x" * 5000,
    "d-" + "9" * 30,
    "9" * 40,
]
PAGES: Final[dict[str, tuple[str, ...]]] = {
    "/journal": ("queue", "cluster", "group", "id", "actor", "kind", "start", "end", "before"),
    "/journal.csv": ("queue", "start", "kind"),
    "/message": ("queue", "id", "group", "later", "earlier"),
    "/group": ("queue", "group", "before"),
    "/order": ("queue", "first", "second"),
    "/dialog": ("name",),
    "/dialogs": ("service", "before"),
    "/decision": ("number", "cluster", "id"),
    "/cluster": ("name", "last", "from"),
    "/cluster/changes": ("name", "before"),
    "/cluster/preview": ("id",),
}
USUAL: Final = {
    "queue": "orders",
    "id": "o-1",
    "name": "pool",
    "group": "a",
    "first": "a",
    "second": "b",
    "cluster": "pool",
}


@pytest.fixture(autouse=True)
def filled(store: Store) -> None:
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=[{"name": "a", "weight": 1}])])
    store.send("orders", 1, id="o-1", group="a")
    store.send("orders", 1, id="o-2", group="b")


@pytest.mark.costly
def test_in_an_address(console: RunningConsole) -> None:
    client = console.as_("victor").client
    for path, keys in PAGES.items():
        for key in keys:
            usual = {name: value for name, value in USUAL.items() if name in keys}
            for name in NAMES:
                answer = client.get(path, params={**usual, key: name})
                assert answer.status_code in {200, 400, 404}, (path, key, name, seen(answer.text))
                assert "49" not in seen(answer.text).split("Store")[0] or "7*7" not in name
    odd = client.get("/journal?queue=%ff%fe&group=%ed%a0%80&kind=%00")
    assert odd.status_code == 400


@pytest.mark.parametrize("path", ["/cluster/change", "/cluster/apply", "/cluster/preview"])
def test_in_a_form(path: str, console: RunningConsole, store: Store) -> None:
    dora = console.as_("dora")
    token = dora.token()
    usual: dict[str, Any] = {
        "token": token,
        "name": "pool",
        "version": "0",
        "target": ["a"],
        "weight": ["1"],
        "enabled": ["a"],
        "proposal": '{"changes": [], "added": [], "removed": []}',
        "hours": "1",
    }
    for key in ("name", "version", "target", "weight", "new_name", "removed", "proposal", "hours"):
        for name in NAMES:
            answer = dora.client.post(path, data={**usual, key: name})
            refused = {400, 409, 503} if path == "/cluster/preview" else {400, 409}
            assert answer.status_code in {200, 303, *refused}, (key, name, seen(answer.text))
    assert [machine.name for machine in store.pool("pool").machines] == ["a"]
