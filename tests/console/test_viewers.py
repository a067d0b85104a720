"""A role of the database that only looks is enough for whoever looks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import Cluster, Store
from tests.console.running import RunningConsole, running, seen
from tests.store.roles import UrlOf, store_with_roles

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"


@pytest.fixture(scope="module")
def url_of() -> UrlOf:
    return store_with_roles()


@pytest.fixture
def console(url_of: UrlOf, tmp_path: Path) -> Iterator[RunningConsole]:
    with Store.open(url_of("viewer")) as store, running(store, tmp_path) as console:
        yield console


def test_pages_of_histories_and_clusters_only_look(url_of: UrlOf, console: RunningConsole) -> None:
    with Store.open(url_of("owner")) as owner:
        owner.declare(SNIPPETS / "dialogs.toml")
        order = owner.begin_dialog("Client", "Shop")
        order.send("Order", {"item": "lamp"})
        machines = [{"name": "a", "weight": 1}]
        owner.keep_clusters([Cluster.of("msmq", name="looked-at", destination=machines)])
        owner.publish("looked-at", 1, id="one", group="kim")
        owner.publish("looked-at", 1, id="two", group="mia")
        owner.prioritise("a", "mia", 7)
    victor = console.as_("victor")
    assert "sent" in victor.get("/message", queue="a", id="one")
    assert "Place" in victor.get("/group", queue="a", group="kim")
    page = seen(victor.get("/order", queue="a", first="kim", second="mia"))
    assert "as they stand now: mia before kim: mia was raised, kim was not" in page
    assert "Target: Shop" in victor.get("/dialog", name=order.dialog)
    assert order.dialog in victor.get("/dialogs", service="Shop")
    assert "one" in victor.get("/journal", cluster="looked-at")
    assert victor.client.get("/journal.csv").text.count("\n") > 3
    assert "Why it went to a" in victor.get("/decision", cluster="looked-at", id="one")
    assert "looked-at" in victor.get("/clusters")
    assert "gets messages" in victor.get("/cluster", name="looked-at")
    assert "began anew" in victor.get("/cluster/changes", name="looked-at")
