"""Each rule of dialogs between services, on both databases."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import ConversationError, MessageError, QueueFullError
from fairlead.store.conversation import Conversation
from fairlead.store.leasing import StoreWork
from tests.stores import made_url, scratch

Open = Callable[..., Store]
DECLARED = """
[[queue]]
name = "clients"

[[queue]]
name = "shops"

[[message_type]]
name = "Order"
validation = "json"

[[message_type]]
name = "Reply"

[[message_type]]
name = "Note"

[[contract]]
name = "Orders"
initiator = ["Order"]
target = ["Reply"]
any = ["Note"]

[[contract]]
name = "Other"
any = ["Note"]

[[service]]
name = "Client"
queue = "clients"

[[service]]
name = "Shop"
queue = "shops"
contracts = ["Orders"]

[[service]]
name = "Store"
queue = "shops"
contracts = ["Orders", "Other"]
"""
TABLES = ("endpoints", "groups", "messages", "delayed", "pending_updates")


class Clock:
    """What time it is, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def declared() -> Path:
    path = scratch() / "dialogs.toml"
    path.write_text(DECLARED)
    return path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url: str, opened: Open, clock: Clock) -> Store:
    found = opened(url, clock=clock)
    found.declare(declared())
    return found


@pytest.fixture
def pg(opened: Open) -> tuple[str, Store]:
    """A PostgreSQL, of which two transactions are open at a time."""
    url = made_url("postgresql")
    found = opened(url)
    found.declare(declared())
    return url, found


@pytest.fixture
def connect(url: str) -> Iterator[Callable[[], Any]]:
    """Connections of the user's own."""
    with ExitStack() as stack:

        def connected() -> Any:
            made: Any
            if url.startswith("sqlite"):
                made = sqlite3.connect(url.removeprefix("sqlite:///"))
            else:
                made = psycopg.connect(url)
            stack.callback(made.close)
            return made

        yield connected


def begun(store: Store, **more: Any) -> Conversation:
    return store.begin_dialog("Client", "Shop", **more)


def taken(store: Store, queue: str = "shops", **more: Any) -> StoreWork:
    work = store.take(queue, **more)
    assert work is not None
    return work


def met(store: Store, *, body: object = 0) -> tuple[Conversation, Conversation]:
    """Both ends of a dialog whose first message was read."""
    near = begun(store)
    near.send("Order", body)
    with taken(store) as work:
        far = next(work).conversation
    assert far is not None
    return near, far


def received(store: Store, queue: str) -> list[tuple[str, Any]]:
    """All that waits in a queue, read and accepted: type and body."""
    found = []
    while (work := store.take(queue)) is not None:
        with work:
            found += [(str(each.type), each.body) for each in work]
    return found


def bodies(store: Store, queue: str = "shops") -> list[Any]:
    return [body for _, body in received(store, queue)]


def both(does: Callable[..., None], *values: tuple[Any, ...]) -> None:
    """Do something in threads, and raise what it raises."""
    with ThreadPoolExecutor() as pool:
        for each in [pool.submit(does, *value) for value in values]:
            each.result()


def check_no_row(store: Store) -> None:
    """Nothing is left of any dialog, once readers have looked."""
    assert store.take("clients") is store.take("shops") is None
    with store._connection() as database:
        dot = "_" if database.dialect == "sqlite" else "."
        for table in TABLES:
            rows = database.execute(f"SELECT * FROM fairlead{dot}{table}").fetchall()  # noqa: S608
            assert rows == [], table
        database.rollback()


# -------- begin and send


def test_nobody_hears_of_a_dialog_before_something_is_sent(store: Store) -> None:
    near = begun(store)
    assert near.state == "started"
    assert store.take("shops") is None
    near.send("Order", 1)
    assert near.state == "conversing"
    assert bodies(store) == [1]


def test_both_ends_have_one_name_and_two_ids(store: Store) -> None:
    near, far = met(store)
    assert near.dialog == far.dialog
    assert near.id != far.id
    assert (near.side, far.side) == ("initiator", "target")
    assert (near.service, near.far_service) == (far.far_service, far.service) == ("Client", "Shop")
    assert near.contract == far.contract == "Orders"


def test_the_contract_is_named_where_the_service_has_several(store: Store) -> None:
    with pytest.raises(MessageError, match="contract: found none"):
        store.begin_dialog("Client", "Store")
    assert store.begin_dialog("Client", "Store", "Other").contract == "Other"


def test_each_end_has_a_group_of_its_own(store: Store) -> None:
    near, far = met(store)
    assert (near.group, far.group) == (f"{near.dialog}/i", f"{near.dialog}/t")


def test_ids_of_messages_count_what_an_end_has_sent(store: Store) -> None:
    near, far = met(store)
    assert near.send("Order", 2) == f"{near.dialog}/i/1"
    assert far.send("Reply", 3) == f"{near.dialog}/t/0"


def test_messages_come_in_the_order_in_which_they_were_sent(store: Store) -> None:
    near = begun(store)
    for place in range(5):
        near.send("Order", place)
    assert bodies(store) == [0, 1, 2, 3, 4]


def test_related_dialogs_are_of_one_group_and_locked_together(store: Store) -> None:
    first, second = met(store)[1], begun(store)
    second.send("Note", "of another")
    third = store.begin_dialog("Shop", "Store", "Orders", related=first)
    assert third.group == first.group
    third.send("Order", 1)
    with taken(store, group=f"{third.dialog}/t") as work:
        reply = next(work).conversation
        assert reply is not None
        reply.send("Reply", "for the third")
    store.conversation(first.id).timer(0)
    with taken(store, group=first.group) as work:
        assert store.take("shops", group=first.group) is None
        assert third.take() is None
        assert {each.conversation for each in work} == {first, third}


def test_a_related_dialog_is_one_of_the_same_queue(store: Store) -> None:
    with pytest.raises(MessageError, match="related: found a conversation of queue 'clients'"):
        store.begin_dialog("Shop", "Store", "Orders", related=begun(store))


def test_a_full_queue_refuses_the_first_message_and_nothing_is_begun(store: Store) -> None:
    store.set_limits("shops", max_waiting=1)
    store.send("shops", "a plain one")
    near = begun(store)
    with pytest.raises(QueueFullError):
        near.send("Order", 1)
    assert near.state == "started"
    store.set_limits("shops", max_waiting=2)
    assert near.send("Order", 1) == f"{near.dialog}/i/0"


# -------- what is refused


def test_a_body_that_is_refused_is_an_error_to_its_sender(store: Store) -> None:
    near, far = met(store)
    near.send("Order", "no JSON {")
    assert near.state == "failed"
    assert far.state == "conversing"
    ((type_, body),) = received(store, "clients")
    assert (type_, body["code"]) == ("Error", -9615)
    assert bodies(store) == []
    with pytest.raises(ConversationError, match="an error has broken it off"):
        near.send("Order", 1)
    near.end()
    assert received(store, "shops") == [("EndDialog", b"")]


def test_who_has_failed_is_told_that_the_other_side_ends(store: Store) -> None:
    near, far = met(store)
    near.send("Order", "no JSON")
    assert near.state == "failed"
    far.end()
    assert [type_ for type_, _ in received(store, "clients")] == ["Error", "EndDialog"]


def test_a_contract_that_is_not_accepted_is_an_error_at_the_first_send(store: Store) -> None:
    near = store.begin_dialog("Client", "Shop", "Other")
    near.send("Note", 1)
    ((type_, body),) = received(store, "clients")
    assert (type_, body["code"]) == ("Error", -8408)
    assert bodies(store) == []
    near.end()
    check_no_row(store)


# -------- end


def test_an_end_comes_after_all_that_was_sent(store: Store) -> None:
    near, far = met(store)
    far.send("Reply", 1)
    far.send("Reply", 2)
    far.end()
    assert near.state == "ended-by-other"
    assert received(store, "clients") == [("Reply", 1), ("Reply", 2), ("EndDialog", b"")]


def test_an_error_comes_before_the_rest_though_more_than_a_page_waits(store: Store) -> None:
    near, far = met(store)
    with store.transaction() as tx:
        for place in range(150):
            tx.conversation(far).send("Reply", place)
    far.end((17, "no such item"))
    assert near.state == "ended-by-other"
    found = received(store, "clients")
    assert found == [
        ("Error", {"code": 17, "description": "no such item"}),
        *(("Reply", place) for place in range(150)),
    ]


def test_an_error_that_comes_while_a_plain_message_is_read_is_read_first(store: Store) -> None:
    near, far = met(store)
    store.send("clients", "plain", group=near.group)
    with taken(store, "clients") as work:
        assert next(work).body == "plain"
        far.send("Reply", 1)
        far.end((17, "no"))
        assert [each.type for each in work] == ["Error", "Reply"]


def test_cleanup_tells_the_other_side_nothing(store: Store) -> None:
    near, far = met(store)
    near.end(cleanup=True)
    assert bodies(store) == []
    assert far.state == "ended-by-other"
    far.end()
    check_no_row(store)


def test_who_has_ended_can_say_nothing(store: Store) -> None:
    near, far = met(store)
    near.end()
    for verb in (lambda: near.send("Order", 1), lambda: near.timer(1), near.end):
        with pytest.raises(ConversationError):
            verb()
    with pytest.raises(ConversationError, match="the other side has ended it"):
        far.send("Reply", 1)


def test_nothing_is_given_after_the_end(store: Store) -> None:
    near, far = met(store)
    far.send("Reply", 1)
    near.timer(0)
    near.end()
    assert bodies(store, "clients") == []


def test_a_message_that_was_read_is_not_given_after_the_end(store: Store) -> None:
    near, far = met(store)
    for place in range(3):
        far.send("Reply", place)
    with taken(store, "clients") as work:
        assert next(work).body == 0
        store.conversation(near.id).end()
        assert list(work) == []
    far.end()
    check_no_row(store)


def test_an_end_in_a_transaction_holds_at_once_and_not_when_it_is_undone(store: Store) -> None:
    _, far = met(store)
    for place in range(3):
        far.send("Reply", place)
    with taken(store, "clients") as work:
        first = next(work)
        with suppress(ZeroDivisionError), work.transaction() as tx:
            tx.conversation(first.conversation).end()  # type: ignore[arg-type]
            assert next(work, None) is None
            raise ZeroDivisionError
        far.send("Reply", 3)
        assert [each.body for each in work] == [1, 2, 3]


def test_an_end_in_a_joined_transaction_holds_while_that_is_open(
    store: Store, connect: Callable[[], Any]
) -> None:
    _, far = met(store)
    for place in range(3):
        far.send("Reply", place)
    connection = connect()
    with taken(store, "clients") as work:
        first = next(work)
        with store.join(connection) as tx:
            tx.conversation(first.conversation).end()  # type: ignore[arg-type]
        assert next(work, None) is None
        connection.rollback()
        assert [each.body for each in work] == [1, 2]


def test_an_error_has_a_code_above_0_and_a_description(store: Store) -> None:
    near, _ = met(store)
    wrong: Any
    for wrong in ((0, "a"), (-1, "a"), (2**31, "a"), (True, "a"), (1, 2), (1,), "no", 1):
        with pytest.raises(MessageError, match="error: found"):
            near.end(wrong)
    with pytest.raises(MessageError, match="one of them"):
        near.end((1, "a"), cleanup=True)
    assert near.state == "conversing"


def test_a_description_may_have_any_characters(store: Store) -> None:
    near, _ = met(store)
    near.end((1, "a\0b \udc80"))
    assert received(store, "shops") == [("Error", {"code": 1, "description": "a\\x00b \\udc80"})]


def test_rows_go_when_both_have_ended(store: Store) -> None:
    near, far = met(store)
    near.timer(30)
    far.send("Reply", 1)
    near.end()
    far.end()
    check_no_row(store)
    assert near.state == far.state == "ended"


def test_a_dialog_in_which_nothing_was_sent_leaves_no_row(store: Store) -> None:
    near = begun(store, lifetime=30)
    near.timer(20)
    near.end()
    check_no_row(store)


def test_an_error_that_is_a_dead_letter_is_listed_and_sent_again(store: Store) -> None:
    _, far = met(store)
    far.end((17, "no"))
    work = taken(store, "clients")
    assert next(work).type == "Error"
    work.reject("because")
    assert [(each.type, each.number > 0) for each in store.dead("clients")] == [("Error", True)]
    assert store.requeue("clients") == 1
    assert [type_ for type_, _ in received(store, "clients")] == ["Error"]


# -------- timers and lifetimes


def test_an_end_has_one_timer(store: Store, clock: Clock) -> None:
    near = begun(store)
    near.timer(30)
    near.timer(60)
    clock.now += 30
    assert bodies(store, "clients") == []
    clock.now += 30
    assert received(store, "clients") == [("DialogTimer", b"")]
    near.timer(5)
    near.timer(None)
    clock.now += 5
    assert bodies(store, "clients") == []


def test_each_end_has_a_timer(store: Store, clock: Clock) -> None:
    near, far = met(store)
    near.timer(1)
    far.timer(1)
    clock.now += 1
    assert received(store, "clients") == received(store, "shops") == [("DialogTimer", b"")]


def test_a_lifetime_that_is_over_is_an_error_to_both(store: Store, clock: Clock) -> None:
    near = begun(store, lifetime=10)
    near.send("Order", 1)
    assert bodies(store) == [1]
    clock.now += 10
    assert near.state == "failed"
    with pytest.raises(ConversationError, match="its lifetime is over"):
        near.send("Order", 2)
    with pytest.raises(ConversationError):
        near.timer(1)
    for queue in ("clients", "shops"):
        ((type_, body),) = received(store, queue)
        assert (type_, body["code"]) == ("Error", -8489)


def test_a_lifetime_that_is_over_is_told_though_the_other_side_ends_first(
    store: Store, clock: Clock
) -> None:
    near = begun(store, lifetime=10)
    near.send("Order", 1)
    clock.now += 10
    near.end()
    found = [type_ for type_, _ in received(store, "shops")]
    assert found == ["Error", "Order", "EndDialog"]


def test_a_timer_of_ones_own_comes_though_the_other_side_ends(store: Store, clock: Clock) -> None:
    near, far = met(store)
    far.timer(5)
    near.end()
    clock.now += 5
    found = [type_ for type_, _ in received(store, "shops")]
    assert sorted(found) == ["DialogTimer", "EndDialog"]


@pytest.mark.parametrize("error", [None, (7, "no")])
def test_a_dialog_that_has_ended_has_no_lifetime(
    store: Store, clock: Clock, error: tuple[int, str] | None
) -> None:
    near = begun(store, lifetime=10)
    near.send("Order", 1)
    near.end(error)
    clock.now += 10
    found = [type_ for type_, _ in received(store, "shops")]
    assert found == (["Error", "Order"] if error else ["Order", "EndDialog"])
    assert bodies(store, "clients") == []


# -------- taking


def test_a_take_of_a_conversation_gives_its_messages_only(store: Store) -> None:
    first = begun(store, group="g")
    second = begun(store, group="g")
    for near, text in ((first, "first"), (second, "second"), (first, "first again")):
        near.send("Note", text)
    for group in (f"{first.dialog}/t", f"{second.dialog}/t"):
        with taken(store, group=group) as work:
            for message in work:
                assert message.conversation is not None
                message.conversation.send("Reply", message.body)
    store.prioritise("clients", "g", 200)
    work = second.take()
    assert work is not None
    assert store.take("clients") is None, "the whole group is locked"
    assert [each.body for each in work] == ["second"]
    work.accept()
    assert second.take() is None
    rest = taken(store, "clients")
    assert rest.priority == 200, "those who were not read keep what their group was raised to"
    assert [each.body for each in rest] == ["first", "first again"]
    rest.accept()


def test_a_take_of_a_conversation_that_is_released_changes_nothing(store: Store) -> None:
    near, far = met(store)
    far.send("Reply", 1)
    work = near.take()
    assert work is not None
    assert next(work).body == 1
    work.release()
    assert bodies(store, "clients") == [1]


def test_the_other_ends_group_is_raised_and_nobody_elses(store: Store) -> None:
    nears = [begun(store) for _ in range(3)]
    assert not nears[2].prioritise(200), "nothing was sent"
    for near in nears:
        near.send("Note", near.dialog)
    assert nears[2].prioritise(200)
    assert bodies(store) == [each.dialog for each in (nears[2], nears[0], nears[1])]
    assert not nears[2].prioritise(200), "all is done"


def test_what_was_raised_while_it_is_read_waits_for_no_reader(store: Store) -> None:
    first, second = begun(store), begun(store)
    for near in (first, second):
        near.send("Note", near.dialog)
    with taken(store) as work:
        assert next(work).body == first.dialog
        assert first.prioritise(200)
        first.send("Note", "more")
        work.release()
    assert bodies(store) == [first.dialog, "more", second.dialog]


# -------- queues that are switched off


def test_a_queue_that_is_off_gives_nothing_and_what_is_sent_waits(store: Store) -> None:
    store.switch("shops", on=False)
    near = begun(store)
    near.send("Order", 1)
    assert store.take("shops") is None
    store.switch("shops", on=True)
    assert bodies(store) == [1]


def test_failures_in_a_row_switch_a_queue_off(store: Store) -> None:
    store.set_limits("shops", poison="off", max_failures=2)
    begun(store).send("Order", 1)
    for _ in range(2):
        work = taken(store)
        next(work)
        work.release(error="no")
    assert store.take("shops") is None
    assert [each.kind for each in store.journal()].count("switched-off") == 1
    store.switch("shops", on=True)
    assert bodies(store) == [1]
    assert store.dead("shops") == []


def test_a_lapsed_lease_that_switches_a_queue_off_is_the_last_take(
    store: Store, clock: Clock
) -> None:
    store.set_limits("shops", poison="off", max_failures=1)
    begun(store).send("Order", 1)
    taken(store, lease=5)
    clock.now += 5
    assert store.take("shops") is None


# -------- the user's own transaction


def test_what_is_said_in_a_transaction_comes_at_its_end_or_not_at_all(
    store: Store, connect: Callable[[], Any]
) -> None:
    connection = connect()
    for ends, expected in ((connection.rollback, []), (connection.commit, [1, 2])):
        with store.join(connection) as tx:
            near = tx.begin_dialog("Client", "Shop")
            near.send("Order", 1)
            near.send("Order", 2)
            assert near.state == "conversing"
        ends()
        assert bodies(store) == expected


def test_a_block_that_raises_is_undone_alone(store: Store, connect: Callable[[], Any]) -> None:
    near = begun(store)
    connection = connect()
    with store.join(connection) as tx:
        tx.conversation(near).send("Order", 1)
    with suppress(ZeroDivisionError), store.join(connection) as tx:
        tx.conversation(near).send("Order", 2)
        tx.conversation(near.id).end()
        raise ZeroDivisionError
    with store.join(connection) as tx:
        assert tx.conversation(near).send("Order", 3) == f"{near.dialog}/i/1"
    connection.commit()
    assert bodies(store) == [1, 3]


def test_a_refused_verb_leaves_the_transaction_as_it_was(
    store: Store, connect: Callable[[], Any]
) -> None:
    near = begun(store)
    connection = connect()
    with store.join(connection) as tx:
        end = tx.conversation(near)
        end.send("Order", 1)
        refused: list[Callable[[], Any]] = [
            lambda: end.send("Reply", 1),
            lambda: end.timer(-1),
            lambda: end.end((0, "")),
            lambda: tx.begin_dialog("Client", "Nobody"),
            lambda: tx.begin_dialog("Client", "Shop", "Nothing"),
            lambda: tx.conversation("0" * 32),
        ]
        for verb in refused:
            with pytest.raises(MessageError):
                verb()
        assert end.send("Order", 2) == f"{near.dialog}/i/1"
        end.end()
        with pytest.raises(ConversationError):
            end.end()
    connection.commit()
    assert bodies(store) == [1, 2, b""]


def test_a_savepoint_of_the_users_own_undoes_an_end(
    store: Store, connect: Callable[[], Any]
) -> None:
    near = begun(store)
    connection = connect()
    with store.join(connection) as tx:
        tx.conversation(near).send("Order", 1)
        tx.execute("SAVEPOINT mine")
        tx.conversation(near).end()
        tx.execute("ROLLBACK TO SAVEPOINT mine")
        tx.conversation(near).send("Order", 2)
    connection.commit()
    assert near.state == "conversing"
    assert bodies(store) == [1, 2]


# -------- several transactions at once


def test_what_is_being_sent_to_an_end_that_ends_is_dropped_when_it_is_met(
    pg: tuple[str, Store],
) -> None:
    url, store = pg
    near, far = met(store)
    with psycopg.connect(url) as connection:
        with store.join(connection) as tx:
            for place in range(150):
                tx.conversation(far).send("Reply", place)
        near.end()
    assert bodies(store, "clients") == []
    far.end()
    check_no_row(store)


def test_both_ends_may_end_at_once_in_open_transactions(pg: tuple[str, Store]) -> None:
    url, store = pg
    near = begun(store, lifetime=1000)
    near.send("Order", 1)
    with taken(store) as work:
        far = next(work).conversation
        assert far is not None
    far.send("Reply", 2)
    near.send("Order", 3)
    with psycopg.connect(url) as one, psycopg.connect(url) as other:
        for connection, end in ((one, near), (other, far)):
            connection.execute("SET lock_timeout = '5s'")
            with store.join(connection) as tx:
                tx.conversation(end).end()
    assert bodies(store) == bodies(store, "clients") == []
    check_no_row(store)


def test_an_end_keeps_nobody_from_sending_to_its_group(pg: tuple[str, Store]) -> None:
    url, store = pg
    (near, far), (other, other_far) = met(store), met(store)
    far.send("Reply", 1)
    other_far.send("Reply", 1)
    with psycopg.connect(url) as one, psycopg.connect(url) as two:
        for connection in (one, two):
            connection.execute("SET lock_timeout = '5s'")
        with store.join(one) as tx, store.join(two) as ty:
            tx.conversation(near).end()
            ty.conversation(other).end()
            ty.conversation(far).send("Reply", 2)
            tx.conversation(other_far).send("Reply", 2)
    assert bodies(store, "clients") == []


def test_two_who_send_and_end_at_once_never_block_each_other(pg: tuple[str, Store]) -> None:
    url, store = pg

    def talks(end: Conversation, type_: str, ready: threading.Barrier) -> None:
        with psycopg.connect(url) as connection:
            ready.wait()
            with store.join(connection) as tx:
                mine = tx.conversation(end)
                with suppress(ConversationError):  # the other has ended it
                    mine.send(type_, 1)
                    mine.send(type_, 2)
                mine.end()

    for _ in range(15):
        near = begun(store, lifetime=1000)
        near.send("Order", 1)
        with taken(store) as work:
            far = next(work).conversation
            assert far is not None
        near.timer(500)
        far.timer(500)
        ready = threading.Barrier(2)
        both(lambda end, type_, at=ready: talks(end, type_, at), (near, "Order"), (far, "Reply"))
    bodies(store)
    bodies(store, "clients")
    check_no_row(store)


def test_two_who_send_for_one_end_go_in_the_order_of_their_commits(pg: tuple[str, Store]) -> None:
    url, store = pg
    near = begun(store)
    first_has_sent = threading.Event()

    def second() -> None:
        first_has_sent.wait()
        near.send("Note", "second")

    thread = threading.Thread(target=second)
    thread.start()
    with psycopg.connect(url) as connection, store.join(connection) as tx:
        tx.conversation(near).send("Note", "first")
        first_has_sent.set()
        thread.join(0.2)
        assert thread.is_alive(), "it waits for the first"
    thread.join()
    assert bodies(store) == ["first", "second"]


def test_two_who_set_a_timer_at_once_set_one(pg: tuple[str, Store]) -> None:
    url, store = pg
    near = begun(store)
    thread = threading.Thread(target=lambda: near.timer(0))
    with psycopg.connect(url) as connection, store.join(connection) as tx:
        tx.conversation(near).timer(0)
        thread.start()
        thread.join(0.2)
    thread.join()
    assert received(store, "clients") == [("DialogTimer", b"")]


def test_an_end_waits_for_no_reader_that_settles(pg: tuple[str, Store]) -> None:
    url, store = pg
    near, far = met(store)
    far.send("Reply", 1)
    work = taken(store, "clients")
    assert next(work).body == 1
    with psycopg.connect(url) as connection:
        with store.join(connection) as tx:
            tx.accept(work)
        near.end()
    far.end()
    check_no_row(store)


def test_two_who_bind_the_same_ends_never_block_each_other(pg: tuple[str, Store]) -> None:
    _, store = pg
    one, other = begun(store), begun(store)

    def binds(first: Conversation, second: Conversation) -> None:
        for _ in range(50):
            first.bind(second)

    both(binds, (one, other), (other, one))


def test_a_dialog_that_was_begun_in_a_transaction_goes_on_after_it(store: Store) -> None:
    with store.transaction() as tx:
        client = tx.begin_dialog("Client", "Shop")
        client.send("Order", {"n": 1})
    client.send("Order", {"n": 2})
    assert client.state == "conversing"
    undone = []
    with suppress(RuntimeError), store.transaction() as tx:
        undone.append(tx.begin_dialog("Client", "Shop"))
        raise RuntimeError
    with pytest.raises(MessageError, match="its block has ended"):
        undone[0].send("Order", {"n": 3})


def test_what_waits_is_shown_in_the_order_in_which_it_is_taken_whatever_errors_there_are(
    store: Store, clock: Clock
) -> None:
    dialogs = []
    for _ in range(3):
        dialogs.append(
            store.begin_dialog("Client", "Shop", lifetime=30 if len(dialogs) == 2 else None)
        )
        dialogs[-1].send("Order", {"n": len(dialogs)})
        clock.now += 10
    dialogs[1].end(error=(1, "not wanted"))
    clock.now += 60
    shown = [each.group for each in store.waiting("shops").ranks]
    taken = [work.group for work in store.take_many("shops", 3)]
    assert shown == taken == [f"{each.dialog}/t" for each in dialogs]


def test_a_priority_that_there_is_not_is_refused_before_anything_was_sent(store: Store) -> None:
    with pytest.raises(MessageError, match="priority: found 300"):
        store.begin_dialog("Client", "Shop").prioritise(300)


def test_a_dead_letter_of_a_dialog_that_has_ended_is_not_sent_again(store: Store) -> None:
    client = store.begin_dialog("Client", "Shop")
    key = client.send("Order", {"n": 1})
    work = store.take("shops")
    assert work is not None
    (message,) = work
    work.reject("not today")
    assert message.conversation is not None
    message.conversation.end()
    with pytest.raises(MessageError, match=f"found '{key}', whose dialog has ended"):
        store.requeue("shops", [key])
    assert [each.id for each in store.dead("shops")] == [key]
    assert store.discard("shops", [key]) == 1


def test_the_end_of_a_lifetime_is_no_delayed_message(store: Store, clock: Clock) -> None:
    near = store.begin_dialog("Client", "Shop", lifetime=60)
    near.send("Order", {"item": "lamp"})
    near.timer(30)
    assert [(each.queue, each.delayed) for each in store.queues() if each.delayed] == [
        (near.queue, 1)
    ]
    assert [each.id for each in store.later(near.queue)] == [f"{near.dialog}/i/timer"]
    assert store.later("shops") == []
    clock.now += 61
    work = store.take("shops")
    assert work is not None
    assert [message.type for message in work] == ["Error", "Order"]


def test_a_dialog_is_promoted_by_its_name(store: Store) -> None:
    near = store.begin_dialog("Client", "Shop")
    near.send("Order", {"item": "lamp"})
    store.send("shops", "plain", group="plain", priority=3)
    for name in (near.dialog, f"{near.dialog}/t"):
        found = store.promotion("shops", name)
        assert found is not None
        assert (found.group, found.place, found.new_place) == (f"{near.dialog}/t", 2, 1)
    assert store.promotion("shops", f"{near.dialog}/i") is None
    assert store.promotion("shops", "d-999") is None
