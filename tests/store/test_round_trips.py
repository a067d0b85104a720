"""How many ways to the server and back each verb costs: what is recommended costs at most eight."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Cluster, Store
from fairlead.store.database.postgresql import PostgreSQL
from fairlead.store.queues import leases as custody
from tests.stores import made_url

DIALOGS = Path(__file__).parents[2] / "docs" / "snippets" / "dialogs.toml"
Verb = Callable[["Shop"], object]


class Shop:
    """A store with everything in it, and one connection of the user's own."""

    def __init__(self, store: Store, mine: "psycopg.Connection[Any]") -> None:
        self.store = store
        self.mine = mine
        store.set_order("tenants", weights={"gold": 2})
        store.declare(DIALOGS)
        busy = [{"name": "x"}, {"name": "y"}]
        store.keep_clusters(
            [
                Cluster.of("round-robin", name="ring", destination=busy),
                Cluster.of("fewest-pending", name="busy", destination=busy),
            ]
        )
        self.dialog = store.begin_dialog("Client", "Shop")
        for _ in range(2):
            self.mixed(5)
            self.all_verbs()
        with self.mine.transaction(), store.join(self.mine) as tx:
            tx.send("q", "known", group="old")
        while work := store.take("q"):
            work.accept() if list(work) else None
        store.send("q", "o", group="old")
        self.work: Any = store.take("q")
        assert [message.body for message in self.work] == ["o"]
        store.send("q", "o", group="older")
        for tenant in ("gold", "tin", "gold"):
            store.send("tenants", "o", tenant=tenant)
        with store.take("tenants") or pytest.fail("nothing") as work:
            next(work)
        with store.transaction() as tx:
            self.long = tx.begin_dialog("Client", "Shop")
            for _ in range(100):
                self.long.send("Order", {"item": "lamp"})

    def all_verbs(self) -> None:
        """So that connections are open, and statements known."""
        self.store.send("q", "warm")
        self.store.publish("ring", "o")
        self.store.publish("busy", "o")
        self.dialog.send("Order", {"item": "lamp"})
        with self.store.take("q") or pytest.fail("nothing") as work:
            list(work)

    def mixed(self, count: int) -> None:
        self.store.send_many("q", [{"body": n, "group": f"g{n}"} for n in range(count)])


def with_work(shop: Shop) -> None:
    """The shortest way to work."""
    with shop.store.take("q") or pytest.fail("nothing") as work:
        for _ in work:
            pass


def with_transaction(shop: Shop) -> None:
    """The recommended way: work, a row of the user's own, a send, and settling, all or nothing."""
    work = shop.store.take("q")
    assert work is not None
    with work.transaction() as tx:
        for _ in work:
            tx.execute("SELECT 1")
        tx.send("next", "o", group="k")
        tx.accept()


def in_a_dialog(shop: Shop) -> None:
    """A service: it answers what it was asked, and ends, with the settlement."""
    work = shop.store.take("shop")
    assert work is not None
    with work.transaction() as tx:
        for message in work:
            here = tx.conversation(message.conversation or "")
            if here.state == "conversing":
                here.send("Confirmation", "lamp")
                here.end()
        tx.accept()


def in_my_transaction(shop: Shop) -> None:
    """An outbox: a row of the user's own and a send."""
    with shop.mine.transaction(), shop.store.join(shop.mine) as tx:
        tx.send("next", "o", group="k")


def settled_in_mine(shop: Shop) -> None:
    with shop.mine.transaction(), shop.store.join(shop.mine) as tx:
        tx.accept(shop.work)


def many_at_once(shop: Shop) -> None:
    shop.store.accept(shop.store.take_many("q", 10))


def many_in_a_dialog(shop: Shop) -> None:
    """Nobody can have ended it between one message and the next, so few are asked for."""
    work = shop.store.take("shop", group=f"{shop.long.dialog}/t")
    assert work is not None
    with work:
        assert len(list(work)) == 100


VERBS: dict[str, tuple[int, Verb]] = {
    # verb: so many ways at most
    "send": (1, lambda s: s.store.send("q", "o", group="k", priority=5, id="o-1")),
    "send, delayed": (7, lambda s: s.store.send("q", "o", delay=60)),
    "send_many, without groups": (7, lambda s: s.store.send_many("q", [{"body": 1}] * 50)),
    "send_many, to new groups": (8, lambda s: s.mixed(50)),
    "take": (1, lambda s: s.store.take("q")),
    "take, of a queue with tenants": (18, lambda s: s.store.take("tenants")),
    "take, work and accept": (3, with_work),
    "take, work.transaction, send and accept": (8, with_transaction),
    "join and send": (3, in_my_transaction),
    "join and accept": (4, settled_in_mine),
    "accept": (1, lambda s: s.work.accept()),
    "release": (1, lambda s: s.work.release(delay=5)),
    "reject": (1, lambda s: s.work.reject("why")),
    "extend": (4, lambda s: s.work.extend(60)),
    "take_many and accept": (20, many_at_once),
    "prioritise": (7, lambda s: s.store.prioritise("q", "older", 200)),
    "next_destination": (1, lambda s: s.store.next_destination("ring")),
    "publish": (1, lambda s: s.store.publish("ring", "o")),
    "publish, a rule of Python's": (20, lambda s: s.store.publish("busy", "o")),
    "change": (20, lambda s: s.store.change("ring", "x", "enabled", False)),
    "a dialog's send": (1, lambda s: s.dialog.send("Order", {"item": "lamp"})),
    "a dialog's prioritise": (1, lambda s: s.dialog.prioritise(200)),
    "a dialog's timer": (1, lambda s: s.dialog.timer(60)),
    "a dialog's end": (1, lambda s: s.dialog.end()),
    "begin_dialog": (1, lambda s: s.store.begin_dialog("Client", "Shop", lifetime=60)),
    "take, answer and end in a dialog": (13, in_a_dialog),
    "take a hundred messages of a dialog": (50, many_in_a_dialog),
}


@pytest.fixture
def shop(opened: Callable[..., Store]) -> Iterator[Shop]:
    url = made_url("postgresql")
    with psycopg.connect(url, autocommit=True) as mine:
        yield Shop(opened(url), mine)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_costs_few_ways_to_the_server(
    verb: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, call = VERBS[verb]
    ways: list[object] = []
    for name in ("run", "many", "execute", "begin", "commit"):
        monkeypatch.setattr(PostgreSQL, name, counted(getattr(PostgreSQL, name), ways))
    monkeypatch.setattr(custody, "LOOK", 10**9)  # who is dead is looked for once a second
    call(shop)
    assert 0 < len(ways) <= most, ways


def counted(call: Callable[..., Any], ways: list[object]) -> Callable[..., Any]:
    def counting(*arguments: Any, **more: Any) -> Any:
        ways.append(arguments[1] if len(arguments) > 1 else call.__name__)
        return call(*arguments, **more)

    return counting
