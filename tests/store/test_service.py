"""Services: functions by message type, and what is done with messages that none is for."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import Message, Service, Store
from fairlead.errors import ConfigError, MessageError
from fairlead.store.conversation import Conversation
from fairlead.store.workers.activation import Activation, Readers
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.serving import ALL, activated, of_service, served
from tests.cli.commands import SECONDS
from tests.store.test_worker import both, empty, kinds, until
from tests.stores import made_url

DECLARED = """
[[queue]]
name = "shop"
max_failures = 2

[[message_type]]
name = "Order"

[[message_type]]
name = "Later"

[[message_type]]
name = "Odd"

[[message_type]]
name = "Confirmation"

[[contract]]
name = "Orders"
initiator = ["Order", "Later", "Odd"]
target = ["Confirmation"]

[[service]]
name = "Orders/Client"
queue = "client"

[[service]]
name = "Orders/Shop"
queue = "shop"
contracts = ["Orders"]
max_readers = 3
"""


@pytest.fixture
def store(dialect: str, tmp_path: Path) -> Iterator[Store]:
    """With the services."""
    (tmp_path / "shop.toml").write_text(DECLARED)
    with Store.open(made_url(dialect)) as store:
        store.declare(tmp_path / "shop.toml")
        yield store


def confirming() -> Service:
    """A service that confirms orders."""
    shop = Service("Orders/Shop", idle_timeout=0.1)

    @shop.on("Order", "Later")
    def order(message: Message, tx: Any) -> None:
        here = tx.conversation(message.conversation)
        if message.type == "Later":
            here.timer(0.01)
        else:
            here.send("Confirmation", message.body)

    return shop


@contextmanager
def serving(store: Store, service: Service) -> Iterator[Activation]:
    """Its readers are threads of this process."""
    (each,) = activated([of_service(service)], store)
    readers = Readers(store, Handling(retry_delay=0.01, most=ALL), 0.01)
    yield readers.activate(each)
    readers.stop()
    until(lambda: not readers.busy)


def begun(store: Store) -> Conversation:
    return store.begin_dialog("Orders/Client", "Orders/Shop")


def replies(store: Store, most: int) -> list[tuple[str | None, Any]]:
    """What comes to the client."""
    found: list[tuple[str | None, Any]] = []
    while len(found) < most:
        work = store.take("client", wait=SECONDS)
        assert work is not None
        found += [(message.type, message.body) for message in work]
        work.accept()
    return found


def empty_of(store: Store, queue: str) -> bool:
    return all(each.messages == 0 for each in store.queues() if each.queue == queue)


def is_gone(store: Store, conversation: Conversation) -> bool:
    try:
        store.conversation(conversation.id)
    except MessageError:
        return True
    return False


@both
def test_each_type_has_its_function_and_a_conversation_ends_with_its_other_end(
    store: Store,
) -> None:
    with serving(store, confirming()):
        c = begun(store)
        for n in range(3):
            c.send("Order", n)
        assert replies(store, 3) == [("Confirmation", n) for n in range(3)]
        c.end()
        until(lambda: is_gone(store, c))
        d = begun(store)
        d.send("Order", 3)
        assert replies(store, 1) == [("Confirmation", 3)]
        d.end(error=(7, "not wanted any more"))
        until(lambda: is_gone(store, d))
    assert not store.dead("shop")
    assert all(each.failures == 0 for each in store.queues())


@both
def test_a_type_that_nobody_handles_ends_the_conversation_with_an_error(store: Store) -> None:
    with serving(store, confirming()):
        c = begun(store)
        c.send("Odd")
        why = "Orders/Shop does not understand messages of type 'Odd'"
        assert replies(store, 1) == [("Error", {"code": 1, "description": why})]
        assert c.state == "ended-by-other"
    assert not store.dead("shop")


@both
def test_a_timer_that_nobody_handles_is_nothing(store: Store) -> None:
    with serving(store, confirming()):
        c = begun(store)
        c.send("Later")
        until(lambda: kinds(store).count("accepted") == 2)
        c.send("Order", "x")
        assert replies(store, 1) == [("Confirmation", "x")]


@both
def test_what_the_store_says_can_be_handled(store: Store) -> None:
    seen: list[tuple[str | None, Any]] = []
    shop = confirming()

    @shop.on("EndDialog", "Error", "DialogTimer")
    def note(message: Message, tx: Any) -> None:
        seen.append((message.type, message.body))
        if message.type != "DialogTimer":
            tx.conversation(message.conversation).end()

    with serving(store, shop):
        c, d = begun(store), begun(store)
        c.send("Later")
        until(lambda: len(seen) == 1)
        c.end()
        until(lambda: len(seen) == 2)
        d.send("Order", 1)
        d.end(error=(3, "no"))
        until(lambda: len(seen) == 3)
    assert [each for each, _ in seen] == ["DialogTimer", "EndDialog", "Error"]
    assert seen[2][1] == {"code": 3, "description": "no"}


@both
def test_a_message_on_no_conversation_is_handled_by_name_or_rejected(store: Store) -> None:
    seen: list[Any] = []
    shop = confirming()
    shop.on("Note")(lambda message, tx: seen.append(message.body))
    with serving(store, shop):
        store.send("shop", "plain", type="Note")
        store.send("shop", "bad", type="None of these")
        store.send("shop", "worse")
        until(lambda: empty(store))
    assert seen == ["plain"]
    assert [each.reason for each in store.dead("shop")] == [
        f"service 'Orders/Shop': found a message of type {type_} on no conversation, allowed: "
        "'Order', 'Later', 'Note'"
        for type_ in ("'None of these'", "None")
    ]


@both
def test_a_group_is_handled_completely_in_one_transaction(store: Store) -> None:
    c = begun(store)
    with store.transaction() as tx:
        here = tx.conversation(c)
        for n in range(250):
            here.send("Order", n)
    with serving(store, confirming()):
        until(lambda: empty_of(store, "shop"))
    assert kinds(store).count("taken") == 1
    assert replies(store, 250) == [("Confirmation", n) for n in range(250)]


@both
def test_long_work_is_done_before_the_transaction_and_answered_in_it(
    store: Store, dialect: str
) -> None:
    shop = Service("Orders/Shop", idle_timeout=0.1)
    done: list[object] = []

    @shop.on("Order")
    def order(message: Message) -> Any:
        client = begun(store)  # on SQLite it would wait for a transaction of this reader
        done.append(message.body)
        if message.body == "fails once" and done.count("fails once") == 1:
            raise ValueError("once")

        def answer(tx: Any) -> None:
            tx.conversation(message.conversation).send("Confirmation", message.body)
            tx.conversation(client).end()

        return answer if message.body != "says nothing" else None

    @shop.on("Odd")
    def odd(message: Message, tx: Any) -> None:
        tx.conversation(message.conversation).send("Confirmation", message.body)

    client = begun(store)
    for kind, body in (
        ("Order", "a"),
        ("Order", "says nothing"),
        ("Odd", "b"),
        ("Order", "fails once"),
        ("Order", "c"),
    ):
        client.send(kind, body)
    with serving(store, shop):
        assert [body for _, body in replies(store, 4)] == ["a", "b", "fails once", "c"]
        until(lambda: empty_of(store, "shop"))
    assert done == ["a", "says nothing", "fails once", "fails once", "c"]


def test_what_follows_long_work_that_ends_the_conversation_is_not_handled(store: Store) -> None:
    shop = Service("Orders/Shop", idle_timeout=0.1)
    handled: list[object] = []

    @shop.on("Order")
    def order(message: Message) -> Any:
        return lambda tx: tx.conversation(message.conversation).end()

    @shop.on("Odd")
    def odd(message: Message, tx: Any) -> None:
        handled.append(message.body)

    client = begun(store)
    client.send("Order", 1)
    client.send("Odd", 2)
    with serving(store, shop):
        assert replies(store, 1) == [("EndDialog", b"")]
        until(lambda: empty_of(store, "shop"))
    assert handled == []


def test_what_is_worked_on_before_a_transaction_that_fails_is_worked_on_again(store: Store) -> None:
    shop = Service("Orders/Shop", idle_timeout=0.1)
    worked: list[object] = []

    @shop.on("Order")
    def order(message: Message) -> Any:
        worked.append(message.body)

        def answer(tx: Any) -> None:
            tx.conversation(message.conversation).send("Confirmation", message.body)
            if message.body == 1 and worked.count(1) == 1:
                raise ValueError("once")

        return answer

    client = begun(store)
    for n in range(3):
        client.send("Order", n)
    with serving(store, shop):
        assert [body for _, body in replies(store, 3)] == [0, 1, 2]
        until(lambda: empty_of(store, "shop"))
    assert worked == [0, 1, 2, 1, 2]


def test_what_failed_is_undone_and_tried_again(store: Store) -> None:
    tried: list[Any] = []
    shop = Service("Orders/Shop", idle_timeout=0.1)

    @shop.on("Order")
    def order(message: Message, tx: Any) -> None:
        tx.conversation(message.conversation).send("Confirmation", message.body)
        tried.append(message.body)
        if tried == [0, 1]:
            raise ValueError("not yet")

    with serving(store, shop):
        c = begun(store)
        with store.transaction() as tx:
            for n in range(3):
                tx.conversation(c).send("Order", n)
        assert replies(store, 3) == [("Confirmation", n) for n in range(3)]
    assert tried == [0, 1, 1, 2]


def test_an_answer_to_somebody_who_has_gone_is_no_failure_but_a_dead_letter(store: Store) -> None:
    gone = begun(store)
    gone.send("Order", "unwanted")
    gone.end()
    stays = begun(store)
    stays.send("Order", "wanted")
    with serving(store, confirming()):
        assert replies(store, 1) == [("Confirmation", "wanted")]
        until(lambda: store.dead("shop"))
    (dead,) = store.dead("shop")
    assert dead.body == "unwanted"
    assert "the other side has ended it" in dead.reason
    assert all(each.enabled and each.failures == 0 for each in store.queues())


def test_progress_told_to_somebody_who_has_gone_is_no_failure_either(store: Store) -> None:
    shop = Service("Orders/Shop", idle_timeout=0.1)
    tries: list[object] = []

    @shop.on("Order")
    def order(message: Message) -> None:
        tries.append(message.body)
        assert message.conversation is not None
        message.conversation.send("Confirmation", "half of it")

    gone = begun(store)
    gone.send("Order", "unwanted")
    gone.end()
    store.set_limits("shop", max_failures=1, poison="off")
    with serving(store, shop):
        until(lambda: store.dead("shop"))
    assert tries == ["unwanted"]
    assert all(each.enabled for each in store.queues())


@both
@pytest.mark.parametrize("poison", ["dead-letters", "off"])
def test_what_fails_again_and_again_is_a_dead_letter_or_switches_the_queue_off(
    poison: str, store: Store, tmp_path: Path
) -> None:
    heal: list[bool] = []
    shop = Service("Orders/Shop", idle_timeout=0.1)

    @shop.on("Order")
    def order(message: Message, tx: Any) -> None:
        if message.body == "bad" and not heal:
            raise ValueError("bad")
        tx.conversation(message.conversation).send("Confirmation", message.body)

    (tmp_path / "shop.toml").write_text(
        DECLARED.replace("max_failures = 2", f'max_failures = 2\npoison = "{poison}"')
    )
    store.declare(tmp_path / "shop.toml")
    c, d = begun(store), begun(store)
    with serving(store, shop) as found:
        c.send("Order", "bad")
        if poison == "off":
            until(lambda: "switched-off" in kinds(store))
            until(lambda: not found.readers)
            d.send("Order", "good")
            time.sleep(0.3)
            assert not found.readers
            heal.append(True)
            assert store.switch("shop", on=True)
            assert sorted(body for _, body in replies(store, 2)) == ["bad", "good"]
        else:
            until(lambda: store.dead("shop"))
            d.send("Order", "good")
            assert replies(store, 1) == [("Confirmation", "good")]


@both
def test_a_service_has_its_own_maximum_or_that_which_is_declared(store: Store) -> None:
    for own, most, maximum in ((None, None, 3), (5, None, 5), (None, 2, 2), (1, 2, 1), (5, 4, 4)):
        (each,) = activated([of_service(Service("Orders/Shop", own))], store, most)
        assert (each.queue, each.maximum) == ("shop", maximum)


@both
def test_a_service_that_is_not_declared_and_a_queue_of_two_are_refused(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(MessageError, match="'shop', allowed: Orders/Client, Orders/Shop"):
        activated([of_service(Service("shop"))], store)
    (tmp_path / "more.toml").write_text('[[service]]\nname = "More"\nqueue = "shop"\n')
    store.declare(tmp_path / "more.toml")
    with pytest.raises(ConfigError, match="'Orders/Shop' and 'More' of one queue, 'shop'"):
        activated([of_service(Service(each)) for each in ("Orders/Shop", "More")], store)


def test_what_a_service_cannot_have_is_refused() -> None:
    for wrong in ({"name": ""}, {"max_readers": 0}, {"idle_timeout": -1}, {"max_readers": True}):
        with pytest.raises(MessageError, match=r"found .*, allowed: "):
            Service(**{"name": "s", **wrong})  # type: ignore[arg-type]
    service = Service("s")
    with pytest.raises(MessageError, match="message type: found '', allowed: a name"):
        service.on()
    with pytest.raises(MessageError, match="message type: found 3, allowed: a text"):
        service.on(3)  # type: ignore[arg-type]
    for call in (lambda: None, lambda a, b, c: None):
        with pytest.raises(ConfigError, match=r"service 's': 'T': found .*, allowed: a function"):
            service.on("T")(call)

    service.on("T", "U")(lambda message, tx: None)
    with pytest.raises(ConfigError, match="found two functions for 'U', allowed: one"):
        service.on("U")(lambda message, tx: None)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("services:none", "found None, allowed: a mapping queue -> function, a Service, or a list"),
        ("services:nobody", "found [], allowed: a mapping queue -> function, a Service, or a list"),
        ("services:mixed", ", allowed: a mapping queue -> function, a Service, or a list"),
        ("a.toml", "found no handler, allowed: handler = "),
        ("b.toml", "the Service 'Shop', allowed: one of this name, or a function"),
        ("c.toml", "service 'Shop': handler services:nobody: found [], allowed: a function"),
    ],
)
def test_what_says_no_services_is_refused(
    place: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "services.py").write_text(
        "from fairlead import Service\nshop = Service('Shop')\nnobody = []\n"
        "both = shop, Service('Other', 2, 3)\nmixed = [shop, 1]\ndef f(message): ...\n"
    )
    table = '[[service]]\nname = "{}"\nqueue = "q"\n'
    (tmp_path / "a.toml").write_text(table.format("Shop"))
    (tmp_path / "b.toml").write_text(table.format("Store") + 'handler = "services:shop"\n')
    (tmp_path / "c.toml").write_text(table.format("Shop") + 'handler = "services:nobody"\n')
    (tmp_path / "d.toml").write_text(
        table.format("Shop")
        + 'handler = "services:shop"\n'
        + table.format("None")
        + table.format("F")
        + 'handler = "services:f"\n'
    )
    sys.modules.pop("services", None)
    with pytest.raises(ConfigError, match=re.escape(line)):
        served(place)
    assert [(each.name, *each[2:]) for each in served("services:both")] == [
        ("Shop", None, 1.0),
        ("Other", 2, 3),
    ]
    assert [(each.name, each.handler.in_transaction) for each in served("d.toml")] == [
        ("Shop", True),
        ("F", False),
    ]
