"""Several services that talk at one time, each with a store of its own: nobody blocks another.

Each reader answers in its transaction, and sometimes fails or ends too early. In the end each side
has read what the other has said in its order, once, and no row is left.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import ConversationError
from tests.store.test_dialogs import both, check_no_row, declared
from tests.stores import made_url

Open = Callable[..., Store]
ORDERS = 4


class Failed(Exception):  # noqa: N818 - a reader's own
    """A reader gives up."""


class Shops:
    """Clients that order, and shops that reply to each order."""

    def __init__(self, url: str, opened: Open, seed: int, dialogs: int) -> None:
        self.stores = [opened(url) for _ in range(4)]
        self.stores[0].declare(declared())
        for queue in ("clients", "shops"):
            self.stores[0].set_limits(queue, max_failures=None)
        self.random = Random(seed)  # noqa: S311
        self.dialogs = dialogs
        self.over = threading.Event()
        self.read: dict[str, list[Any]] = defaultdict(list)
        """By end: ids and types of what it was given in transactions that were committed."""
        both(self.does, (0,), (1,), (2,), (3,))
        self.over.set()
        both(self.reads, (0, "clients", 0.0), (1, "shops", 0.0))
        both(self.reads, (0, "clients", 0.0), (1, "shops", 0.0))

    def does(self, place: int) -> None:
        if place < 2:
            self.orders(self.stores[place])
            self.reads(place, "clients", 0.3)
        else:
            self.reads(place, "shops", 0.6)

    def orders(self, store: Store) -> None:
        random = self.random
        for _ in range(self.dialogs):
            group = random.choice([None, None, "g"])
            near = store.begin_dialog("Client", "Shop", group=group, lifetime=1000)
            for place in range(ORDERS):
                near.send("Order", place)
            if random.random() < 0.3:
                near.prioritise(random.randrange(256))
            if random.random() < 0.2:
                with suppress(ConversationError):
                    near.end()  # before the replies are there

    def reads(self, place: int, queue: str, wait: float) -> None:
        while (work := self.stores[place].take(queue, wait=wait)) is not None:
            with suppress(Failed):
                self.handles(work)

    def handles(self, work: Any) -> None:
        given: list[tuple[str, str, str]] = []
        try:
            with work.transaction() as tx:
                for message in work:
                    end = tx.conversation(message.conversation)
                    given.append((end.id, message.id, message.type))
                    with suppress(ConversationError):  # it was ended by another
                        self.answers(end, message)
                if not self.over.is_set() and self.random.random() < 0.1:
                    raise Failed
                tx.accept()
        except Failed:
            work.release(error="failed")
            raise
        for end_id, *key in given:
            self.read[end_id].append(tuple(key))

    def answers(self, end: Any, message: Any) -> None:
        if message.type in ("EndDialog", "Error"):
            end.end()
        elif message.type == "Order":
            end.timer(50)
            end.send("Reply", message.body)
            if message.body == ORDERS - 1 and self.random.random() < 0.5:
                end.end()
        elif message.body == ORDERS - 1:
            end.end(error=(1, "enough") if self.random.random() < 0.2 else None)


def check(url: str, opened: Open, seed: int, dialogs: int) -> None:
    shops = Shops(url, opened, seed, dialogs)
    store = shops.stores[0]
    for keys in shops.read.values():
        said = [key for key in keys if key[1] != "DialogTimer"]
        assert len(said) == len(set(said)), "given twice"
        places = [int(key.rpartition("/")[2]) for key, type_ in said if type_ != "Error"]
        assert places == list(range(len(places))), "out of order, or one is missing"
    with store._connection() as database:
        ends = database.run("dialogs", before=2**62, most=1000)
    for row in ends:
        with suppress(ConversationError):
            store.conversation(row[1]).end()
    check_no_row(store)
    assert store.dead("clients") == store.dead("shops") == []


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(2))
def test_services_that_talk_at_one_time(dialect: str, opened: Open, seed: int) -> None:
    check(made_url(dialect), opened, seed, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_services_that_talk_for_long(dialect: str, opened: Open, seed: int) -> None:
    check(made_url(dialect), opened, seed, 60)
