"""The service in front: it forwards in both directions, and raises what asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Conversation, Message, PriorityService, Reject, Service, Store
from fairlead.errors import MessageError
from fairlead.store.workers.priority_service import priority_in
from tests.stores import made_url

DECLARED = """
[[message_type]]
name = "Request"
[[message_type]]
name = "Other"
[[message_type]]
name = "SetPriority"
[[message_type]]
name = "Response"

[[contract]]
name = "Prioritised"
initiator = ["Request", "Other", "SetPriority"]
target = ["Response"]

[[contract]]
name = "Internal"
initiator = ["Request"]
target = ["Response"]

[[service]]
name = "Front"
queue = "front"
contracts = ["Prioritised"]

[[service]]
name = "Back"
queue = "back"
contracts = ["Internal"]

[[service]]
name = "Client"
queue = "client"
"""


@pytest.fixture
def store(dialect: str, tmp_path: Path) -> Iterator[Store]:
    """With the services."""
    (tmp_path / "shop.toml").write_text(DECLARED)
    with Store.open(made_url(dialect)) as store:
        store.declare(tmp_path / "shop.toml")
        yield store


def back_end() -> Service:
    """It answers requests, and ends or fails where it is told to."""
    found = Service("Back")

    @found.on("Request")
    def request(message: Message, tx: Any) -> None:
        here = tx.conversation(message.conversation)
        if message.body == "end":
            here.end()
        elif message.body == "fail":
            here.end(error=(7, "told to"))
        else:
            here.send("Response", message.body)

    return found


FRONT = PriorityService("Front", "Back")
BACK = back_end()


def drain(store: Store, queue: str, service: Service) -> list[int | None]:
    """Let a service handle all that waits; the priorities of the groups, as they were taken."""
    priorities = []
    while (work := store.take(queue)) is not None:
        priorities.append(work.priority)
        with work.transaction() as tx:
            for message in work:
                service.handle(message, tx)
            tx.accept()
    return priorities


def settle_down(store: Store) -> None:
    """Until nothing waits at either."""
    while drain(store, "front", FRONT) + drain(store, "back", BACK):
        pass


def begun(store: Store) -> Conversation:
    return store.begin_dialog("Client", "Front")


def replies(client: Conversation) -> list[tuple[str | None, Any]]:
    found: list[tuple[str | None, Any]] = []
    while (work := client.take()) is not None:
        found += [(message.type, message.body) for message in work]
        work.accept()
    return found


def nothing_is_left(store: Store) -> bool:
    with store._connection() as database:
        return not database.run("dialogs", before=2**62, most=10)


def test_requests_and_responses_are_forwarded_in_their_order(store: Store) -> None:
    first, second = begun(store), begun(store)
    for n in range(3):
        first.send("Request", {"n": n})
        second.send("Request", f"text {n}")
    settle_down(store)
    assert replies(first) == [("Response", {"n": n}) for n in range(3)]
    assert replies(second) == [("Response", f"text {n}") for n in range(3)]


def test_a_conversation_is_raised_and_no_other(store: Store) -> None:
    first, second = begun(store), begun(store)
    for each in (first, second):
        each.send("Request", each.dialog)
    second.send("SetPriority", 200)
    drain(store, "front", FRONT)
    work = store.take("back")
    assert work is not None
    assert ([message.body for message in work], work.priority) == ([second.dialog], 200)


def test_it_is_raised_while_a_reader_holds_it(store: Store) -> None:
    client = begun(store)
    client.send("Request", "first")
    drain(store, "front", FRONT)
    work = store.take("back")
    assert work is not None
    assert [message.body for message in work] == ["first"]
    client.send("Request", "second")
    client.send("SetPriority", 9)
    drain(store, "front", FRONT)
    work.release()
    again = store.take("back")
    assert again is not None
    assert again.priority == 9


def test_before_the_first_request_it_is_ignored_whatever_it_says(store: Store) -> None:
    client = begun(store)
    client.send("SetPriority", "no number")
    client.send("SetPriority", 7)
    client.send("Request", "x")
    drain(store, "front", FRONT)
    assert drain(store, "back", BACK) == [None]


def test_a_bad_value_ends_the_conversation_with_an_error_on_both_sides(store: Store) -> None:
    client, other = begun(store), begun(store)
    other.send("Request", "other")
    client.send("Request", "x")
    client.send("SetPriority", 256)
    settle_down(store)
    ((kind, body),) = replies(client)
    assert kind == "Error"
    assert body["description"] == "priority: found 256, allowed: an integer from 0 to 255"
    assert body["code"] > 0
    assert replies(other) == [("Response", "other")]
    client.end()
    other.end()
    settle_down(store)
    assert nothing_is_left(store)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (0, 0),
        (255, 255),
        ("80", 80),
        (b" 80\n", 80),
        ({"priority": 80}, 80),
        ("<priority>80</priority>", 80),
        (b"<?xml version='1.0'?><priority>80</priority>", 80),
        (None, None),
        ("", None),
        (b"", None),
        ({}, None),
        ("<priority/>", None),
        ("<other>80</other>", None),
    ],
)
def test_a_priority_is_a_number_in_any_of_four_forms_or_missing(
    body: object, expected: int | None
) -> None:
    assert priority_in(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        -1,
        256,
        True,
        1.5,
        "-1",
        "8e1",
        "\u0668",
        "9" * 1000,
        [80],
        {"priority": "high"},
        b"\xff\xfe",
        "<priority>80",
        "<priority>high</priority>",
        "<!DOCTYPE p [<!ENTITY e '80'>]><priority>&e;</priority>",
    ],
)
def test_anything_else_is_refused(body: object) -> None:
    with pytest.raises(MessageError, match="an integer from 0 to 255"):
        priority_in(body)


def test_ends_and_errors_are_passed_on_in_both_directions(store: Store) -> None:
    ended, failed, leaving, breaking = (begun(store) for _ in range(4))
    ended.send("Request", "end")
    failed.send("Request", "fail")
    leaving.send("Request", "x")
    breaking.send("Request", "x")
    settle_down(store)
    assert replies(ended) == [("EndDialog", b"")]
    assert replies(failed) == [("Error", {"code": 7, "description": "told to"})]
    ended.end()
    failed.end()
    drain(store, "back", BACK)
    leaving.end()
    breaking.end(error=(9, "I give up"))
    drain(store, "front", FRONT)
    types = []
    while (work := store.take("back")) is not None:
        with work.transaction() as tx:
            for message in work:
                types.append((message.type, message.body))
                BACK.handle(message, tx)
            tx.accept()
    assert types == [("EndDialog", b""), ("Error", {"code": 9, "description": "I give up"})]
    settle_down(store)
    assert nothing_is_left(store)


def test_what_the_service_behind_does_not_accept_ends_the_conversation(store: Store) -> None:
    client = begun(store)
    client.send("Request", "x")
    client.send("Other", "y")
    settle_down(store)
    ((kind, body),) = replies(client)
    assert kind == "Error"
    assert "found 'Other', allowed: Request" in body["description"]
    client.end()
    settle_down(store)
    assert nothing_is_left(store)


def test_who_leaves_before_the_answer_leaves_nothing_behind(store: Store) -> None:
    client = begun(store)
    client.send("Request", "x")
    drain(store, "front", FRONT)
    client.end()
    drain(store, "back", BACK)  # the answer comes to the front end, and finds nobody behind it
    settle_down(store)
    assert nothing_is_left(store)
    assert all(each.messages == each.dead == 0 for each in store.queues())


def test_a_plain_message_is_rejected(store: Store) -> None:
    store.send("front", "x", type="Request")
    work = store.take("front")
    assert work is not None
    with work.transaction() as tx:
        for message in work:
            with pytest.raises(Reject):
                FRONT.handle(message, tx)
        tx.accept()
